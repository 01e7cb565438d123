/* SPDX-License-Identifier: BSD-3-Clause */
/* Names that --record takes in lockstep-train and lockstep-verify, and what two
 * records are found to differ in. */
#ifndef TOOLS_RECORD_OPTION_H
#define TOOLS_RECORD_OPTION_H

#include <lockstep/record.h>

#include <stdint.h>

/* Read STEP or STEP:DEVICE, both counted from 0; *device -1: all.  OPT_WRONG
 * after a message. */
int record_option_read(const char *text, int64_t *step, int *device);

/* Print where two records differ, and below it the values. */
void record_option_show(const ls_record_difference *d);

#endif
