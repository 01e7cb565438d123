/* SPDX-License-Identifier: BSD-3-Clause */
/* --select: the figure of rows held back by which the best epoch, and the best
 * trial of --tune, is chosen. */
#ifndef TOOLS_SELECTION_H
#define TOOLS_SELECTION_H

#include "data/data.h"
#include "opt/opt.h"

enum {
    SELECT_AUTO, SELECT_ACCURACY, SELECT_AUC, SELECT_LOGLOSS, SELECT_F1,
    SELECT_AP, SELECT_RMSE, SELECT_MAE, SELECT_R2
};

extern const opt_word select_words[];

/* Its name in lines; and is less better? */
const char *select_name(int64_t select);
bool select_falls(int64_t select);

/* Does it judge probabilities, so that labels are not smoothed? */
bool select_of_probabilities(int64_t select);

/* Refuse one of numbers for classes, and the other way round; of two classes
 * for more. */
int select_check(int64_t select, ls_column target);

#endif
