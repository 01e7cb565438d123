/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts of workers, and of ranks, to measure. */
#ifndef TOOLS_COUNTS_H
#define TOOLS_COUNTS_H

enum { DOUBLINGS = 32 };

/* 1 and the counts asked for or, where none are, the powers of 2 below `most`
 * and `most`, which is at least 1 and at most 65536: in rising order, once
 * each.  Returns how many; `out` has room for asked + DOUBLINGS. */
int count_all(int *out, int asked, const int *count, int most);

#endif
