/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of a measurement: the first few train, in turn, and the others wait
 * for them. */
#ifndef TOOLS_SCALING_RANKS_H
#define TOOLS_SCALING_RANKS_H

#include "scale/scaling.h"

enum { PARTY_CPUS = 4096 }; /* bytes of a list of processors */

enum { DOUBLINGS = 32 };

/* Counts of workers, or of ranks: 1 and those asked for or, where none are, the
 * powers of 2 below `most` and `most`, which is at least 1 and at most 65536:
 * in rising order, once each.  Returns how many; `out` has room for asked +
 * DOUBLINGS. */
int count_all(int *out, int asked, const int *count, int most);

/* Ranks that train together: the first ones of all. */
typedef struct rank_party {
    int ranks;
    int cores;           /* of the rank that has the fewest; 0: they have to
                           share them */
    ls_transport link;   /* among them, where there are several */
    char cpus[PARTY_CPUS]; /* this rank's part of the machine; "": all of it */
} rank_party;

/* Counts of ranks in rising order, once each, the first 1.  LS_EINVAL: a count
 * is more than there are ranks. */
int parties_make(rank_party **party, int *parties,
                     const scaling_options *o);

/* Is this rank one of them? */
bool party_has(const rank_party *p, const ls_transport *all);

/* The ranks' transport; NULL: there are no others. */
const ls_transport *party_link(const rank_party *p);

/* All ranks meet, those too that have had nothing to do, and wait for each
 * other without end: where one failed all do.  *number becomes the least of
 * any.  Without a transport: the status itself. */
int parties_meet(const ls_transport *all, int status, int *number);

/* Bytes of the first rank to all others. */
int parties_tell(const ls_transport *all, void *data, size_t bytes);

#endif
