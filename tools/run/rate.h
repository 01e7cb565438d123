/* From the command line to the library's schedule. */
#ifndef TOOLS_RATE_H
#define TOOLS_RATE_H

#include "model/model.h"

enum { RATE_BOUNDARIES = 64 };

/* The schedule of a run; room holds its boundaries and must outlive it.
 * The steps and the batch of s are known by now. */
int rate_read(const settings *s, ls_boundary room[RATE_BOUNDARIES],
              ls_schedule *out);

/* The peak: --lr, or with --scale-lr what the rule makes of it. */
double rate_peak(const settings *s);

#endif
