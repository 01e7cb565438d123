/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the library's schedule of the command line. */
#ifndef TOOLS_RATE_H
#define TOOLS_RATE_H

#include "data/data_settings.h"
#include "run/run_settings.h"

#include <lockstep.h>

enum { RATE_BOUNDARIES = 64 };

/* The schedule of a run; room holds its boundaries and must outlive it.
 * The steps and the batch of d are known by now. */
int rate_read(const run_settings *s, const data_settings *d,
              ls_boundary room[RATE_BOUNDARIES], ls_schedule *out);

/* The peak: --lr, or with --lr :scale what the rule makes of it. */
double rate_peak(const run_settings *s, const data_settings *d);

/* The schedule of a share, --optimizer :decay-schedule or
 * --dropout :schedule, over all
 * steps. */
ls_schedule rate_share(int64_t kind, const data_settings *d);

#endif
