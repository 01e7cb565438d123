/* SPDX-License-Identifier: BSD-3-Clause */
/* The one function that writes the root of a state. */
#ifndef LS_TRANSCRIPT_ROOT_H
#define LS_TRANSCRIPT_ROOT_H

#include <lockstep/transcript.h>

/* LS_EINVAL says what is wrong with the controls that a function was given. */
int ls__controls_check(const char *function, int n, const ls_control *control);

/* ls_trainer_root on a pool that is taken, with arguments that were checked. */
int ls__root_text(ls_trainer *t, int64_t batches, int n_controls,
                  const ls_control *control, char root[65]);

#endif
