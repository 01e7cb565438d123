/* SPDX-License-Identifier: BSD-3-Clause */
/* What a step costs that has next to nothing to do: starting, and, on several
 * workers, the barriers. */
#ifndef TOOLS_EMPTY_H
#define TOOLS_EMPTY_H

/* Store the seconds of such a step on one worker and, where there are so many
 * usable cores, on two; else two is 0.  cpus: as of a mesh.  OPT_FAILED after a
 * message. */
int empty_measure(const char *cpus, int cores, double *one, double *two);

#endif
