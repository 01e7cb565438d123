/* SPDX-License-Identifier: BSD-3-Clause */
/* A machine that is described, and what so many workers would stand on there:
 * which caches, memory and packages they share.  What a description does not
 * tell is as this machine was measured, or as the command line assumes. */
#ifndef TOOLS_GROUND_H
#define TOOLS_GROUND_H

#include "scale/scaling.h"

/* What the command line assumes of a machine; 0: nothing. */
typedef struct assumed {
    double core; /* FLOP/s of a core */
    double node; /* bytes/s of the memory of a NUMA node, */
    double link; /* and between two packages */
} assumed;

/* What one or two cores of this machine were measured to do. */
typedef struct measured {
    double core;  /* FLOP/s of one; 0: not measured */
    double copy;  /* bytes/s that one copies, */
    double node;  /* and all cores of a node */
    double cache; /* bytes of last caches, a core's part */
    double line;  /* seconds for a cache line to go to another core */
    bool line_is_assumed; /* there is no other core */
} measured;

typedef struct described {
    const char *text; /* as it was given; NULL: this machine, */
    const char *cpus; /* of which these; NULL: all */
    ls_mesh *mesh;
    int cores, caches, nodes, packages; /* caches: L3; 0: not told */
    double cache;  /* bytes of one L3; 0: not told */
    ls_place *place; /* [cores] of a worker each */
    measured here;
    assumed assumed;
    double core, node, link; /* as assumed, or as here; 0: not known */
} described;

/* Read "core=118,node=115,link=60", in GFLOP/s and GB/s.  OPT_WRONG after a
 * message. */
int assumed_read(assumed *a, const char *text);

/* Describe a machine, by hwloc's synthetic text or a file of lstopo's, or,
 * NULL, this one, whose processors are `cpus` (NULL: all).  OPT_WRONG or
 * OPT_FAILED after a message. */
int described_open(described *d, const char *text, const char *cpus);
void described_close(described *d);

/* Say what was measured here, and what is assumed of it. */
void described_settle(described *d, const measured *here, const assumed *a);

/* How many L3, NUMA nodes and packages the first workers sit on. */
typedef struct used_parts {
    int caches, nodes, packages;
} used_parts;

used_parts described_spread(const described *d, int workers);

/* Cache lines that go from core to core, one after the other, each counted as
 * many times as it is slower than one between cores that share their L3: in one
 * barrier, and in all that a step has in any case. */
double described_crossing(const described *d, int workers);
double described_lines(const described *d, int workers);

/* The ground of so many devices on so many workers, the first of the machine;
 * from is the caller's. */
scaling_ground described_ground(const described *d, int devices, int workers);

#endif
