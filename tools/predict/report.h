/* SPDX-License-Identifier: BSD-3-Clause */
/* --score by class and by threshold, and the residuals of numbers. */
#ifndef TOOLS_REPORT_H
#define TOOLS_REPORT_H

#include "predict/judge.h"

/* Print precision, recall and F1 of each class, and of two classes what they
 * are by threshold; nothing of numbers. */
int report_print(const judged *j, FILE *file);

/* Draw what is, less what is predicted, by what is predicted. */
int report_draw(const judged *j, const char *path);

#endif
