/* SPDX-License-Identifier: BSD-3-Clause */
/* All parameters of a trainer as one array, in canonical order. */
#ifndef TOOLS_WEIGHTS_H
#define TOOLS_WEIGHTS_H

#include <lockstep/trainer.h>

/* The numbers of parameter k, and of all. */
int64_t weights_of(const ls_trainer *t, int k);
int64_t weights_count(const ls_trainer *t);

/* Copy them from the trainer, or to it.  A status of the library. */
int weights_get(const ls_trainer *t, float *to);
int weights_set(ls_trainer *t, const float *from);

#endif
