/* SPDX-License-Identifier: BSD-3-Clause */
/* Packed weights where workers sit on several NUMA nodes: the workers of a node
 * write a copy for themselves, since they read it for each chunk of rows. */
#ifndef LS_TRAIN_COPIES_H
#define LS_TRAIN_COPIES_H

#include "plan/exec.h"
#include <lockstep/mesh.h>

typedef struct ls__copies {
    const ls__plan *plan;
    const ls__weights *first;
    int workers;
    ls__weights *of; /* [worker] that it runs with; each member of its team, who
                        are the workers before it and then the last ones, reads
                        those of the member's own node */
    float **near;    /* [2 workers] the last one's, .. the first's, and again */
} ls__copies;

/* Workers of the first one's node read `first` itself, which in one of several
 * ranks may have been packed early, or where nothing is packed there a copy,
 * too; `single`: all do.  Borrows all of it.  LS_ENOMEM; closed after a failure
 * too. */
int ls__copies_open(ls__copies *c, const ls_mesh *mesh, const ls__plan *plan,
                    const ls__weights *first, bool single);
/* Accepts a cleared struct. */
void ls__copies_close(ls__copies *c);

/* Write a worker's share: as ls__exec_pack does, or of what is packed. */
void ls__copies_pack(const ls__copies *c, int worker, bool backward);
void ls__copies_fill(const ls__copies *c, int worker, const float *packed);

#endif
