/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings of lockstep-scale, and the four forms they are shown in.  All that
 * is shown is computed before (scale_findings.c); a form only lays it out. */
#ifndef TOOLS_SCALE_FINDINGS_H
#define TOOLS_SCALE_FINDINGS_H

#include "scale/scaling.h"

#include <jansson.h>

enum { FINDINGS_OPS = 80 };

/* All operators of a kind together: FLOP and bytes, of a row and of a chunk. */
typedef struct finding_op {
    const char *name;
    double forward, backward;
    double row_bytes, chunk_bytes;
    double bytes;   /* a row, with its part of the chunk's */
    double cores, memory; /* seconds a row at the roofs of one worker, of its
                             FLOP and of its bytes; NaN: not measured */
} finding_op;

/* Rates that follow from a point alone. */
typedef struct finding_rate {
    double steps, rows, tokens; /* a second; tokens NaN: there are none */
    double spread; /* between the runs, per cent of their median */
} finding_rate;

typedef struct findings {
    const scaling *scaling;
    scaling_info info;
    int points;
    const scaling_point *point; /* the scaling's */
    finding_rate *rate;      /* of each point */
    const char *model, *command, *cpu, *mesh, *isa;
    const char *products; /* as run.h has it: "" where they are f32's own, which
                             the roof of the cores is the roof of */
    struct {
        const char *name; /* "ms" */
        double scale;     /* of seconds */
    } unit;               /* of times that are shown */
    double others; /* processors that other programs used */
    int cores;     /* usable */
    bool weak;
    bool ranks;    /* points of more than one rank are among them */
    int64_t tokens; /* of a row; 0: rows are no sequences */
    int ops;
    finding_op op[FINDINGS_OPS];
    double row_bytes; /* of all of them */
    double bound;     /* seconds a step of one worker in which each operator
                         takes the longer of its two times; NaN: not
                         measured */
    double ridge;     /* FLOP a byte where both roofs take as long; NaN: not
                         measured */
    double serial; /* share; NaN: too few counts */
    int most;      /* workers of a point, of all its ranks */
} findings;

/* Take the operators from one of the trainers that are measured. */
void findings_count(findings *r, const ls_trainer *t);

/* Compute what follows from the measurement, which must live as long; texts,
 * cores, weak and tokens are set already.  OPT_FAILED after a message. */
int findings_make(findings *r, const scaling *s);

void findings_free(findings *r);

/* The copy roof bounds it, and not that of the cores. */
static inline bool finding_of_memory(const finding_op *o)
{
    return o->memory > o->cores;
}

/* Print on stdout. */
void scale_table(const findings *r);

/* Write a file: all of it, a line for each point, or an SVG; OPT_GO, or
 * OPT_FAILED after a message. */
int scale_json(const findings *r, const char *path);
int scale_csv(const findings *r, const char *path);
int scale_plot(const findings *r, const char *path);

/* "mlp, 64 rows a step, 8 devices: strong scaling". */
enum { FINDINGS_TITLE = 256 };
void findings_title(const findings *r, char title[FINDINGS_TITLE]);

/* The same as scale_json writes; NULL: no memory. */
json_t *findings_json(const findings *r);

/* Write a report of speed, which is one JSON with all that a reader elsewhere
 * needs, to be pasted into an issue: of this machine, its processors `cpus`
 * (NULL: all), and of the findings of models. */
int scale_report(json_t *models, const char *command, const char *cpus,
                 const char *path);

#endif
