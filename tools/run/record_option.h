/* SPDX-License-Identifier: BSD-3-Clause */
/* What --record of lockstep-train and of lockstep-verify names. */
#ifndef TOOLS_RECORD_OPTION_H
#define TOOLS_RECORD_OPTION_H

#include <stdint.h>

/* Read STEP or STEP:DEVICE, both counted from 0; *device -1: all.  OPT_WRONG
 * after a message. */
int record_option_read(const char *text, int64_t *step, int *device);

#endif
