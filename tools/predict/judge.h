/* SPDX-License-Identifier: BSD-3-Clause */
/* --score: how good the predictions of a table are that has its target. */
#ifndef TOOLS_JUDGE_H
#define TOOLS_JUDGE_H

#include "predict/ask.h"

#include <stdio.h>

/* Predict all rows of the table that was opened, and print a line of figures,
 * those that lockstep-train prints of rows held out. */
int judge(ask *a, const char *path, FILE *file);

#endif
