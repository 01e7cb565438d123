/* SPDX-License-Identifier: BSD-3-Clause */
/* The cut of devices over ranks, and what follows from it. */
#ifndef LS_RANKS_CUT_H
#define LS_RANKS_CUT_H

#include "base/tree.h"

/* The devices of an experiment cut over ranks in order.  No rank has more than
 * devices / ranks, rounded up; of those cuts this one sends the fewest partial
 * sums. */
typedef struct ls__cut {
    int ranks, devices;
    int *border;       /* [ranks+1] rank r has border[r] .. border[r+1]-1 */
    int parts;         /* partial sums of all ranks, in order */
    int *first;        /* [ranks+1] rank r's are first[r] .. first[r+1]-1 */
    ls__subtree *part; /* [parts] */
} ls__cut;

/* LS_EINVAL: more ranks than devices.  LS_ENOMEM.  Closed after a failure
 * too. */
int ls__cut_open(ls__cut *cut, int ranks, int devices);
void ls__cut_close(ls__cut *cut);

/* The devices of a rank. */
ls__span ls__cut_span(const ls__cut *cut, int rank);

#endif
