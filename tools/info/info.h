/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings of lockstep-info, and their two forms. */
#ifndef TOOLS_INFO_H
#define TOOLS_INFO_H

#include "info/seats.h"
#include "opt/opt.h"

#include <lockstep.h>

typedef struct info_settings {
    int64_t devices; /* 0: the usable cores */
    int64_t workers; /* 0: as many as are of use */
    const char *cpus, *topology;
    bool measure;
    bool json;
    bool verify, each_core;
    double minutes;
} info_settings;

/* A measured rate, with one worker and with all. */
typedef struct roof {
    const char *name; /* an instruction level, or "copy" */
    double one, all;  /* FLOP/s or bytes/s */
} roof;

enum { ROOFS = 7 }; /* of levels, precisions and the copy */

typedef struct info {
    opt_program program;
    info_settings set;
    opt_line line;
    seats seats;
    ls_mesh *mesh;
    int workers;
    roof roof[ROOFS];
    int roofs;
} info;

/* info_text.c, info_json.c: print it.  OPT_GO, or OPT_FAILED after a
 * message. */
void info_print(const info *r);
int info_print_json(const info *r);

#endif
