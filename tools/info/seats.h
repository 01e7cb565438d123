/* SPDX-License-Identifier: BSD-3-Clause */
/* The seats of several ranks, as lockstep-info shows them. */
#ifndef TOOLS_SEATS_H
#define TOOLS_SEATS_H

#include "run/launch.h"

#include <jansson.h>

typedef struct seats {
    launch launch;
    char cpus[4096]; /* this rank's part of the machine's cores; or "" */
    bool met;        /* there are others, which share the machines */
    bool shared;     /* ranks share their cores: there are more of them */
    const struct seat *of; /* [rank]; NULL: this process is alone */
} seats;

/* Joins the ranks that a launcher started: does each one go on after its
 * command line, or none, as launch_agree says? */
int seats_join(seats *s, int status, bool apart);

/* Meet the other ranks, if there are any, and share out the cores in `asked`
 * (NULL: all). */
int seats_meet(seats *s, int64_t devices, const char *asked);

/* The cores that this rank may use, as ls_mesh_options.cpus. */
const char *seats_cpus(const seats *s, const char *asked);

/* The most workers that this rank has use for. */
int seats_workers(const seats *s, int64_t devices);

/* Tell all ranks where this one's workers sit. */
int seats_gather(seats *s, const ls_mesh *mesh);

/* Print the seats of more than one rank, which are gathered: a line or an
 * object each. */
void seats_print(const seats *s);
json_t *seats_json(const seats *s);

#endif
