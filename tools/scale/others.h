/* SPDX-License-Identifier: BSD-3-Clause */
/* The load of other programs while one measures: a number in a table is worth
 * little when they share its cores. */
#ifndef TOOLS_OTHERS_H
#define TOOLS_OTHERS_H

typedef struct others {
    double began; /* seconds of the steady clock */
    double theirs; /* processor seconds so far */
} others;

void others_start(others *o);

/* Processors that others have used since, on average; 0 where /proc/stat does
 * not tell. */
double others_used(const others *o);

#endif
