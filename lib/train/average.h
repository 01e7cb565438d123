/* What a trainer keeps for each parameter, and the average of the weights. */
#ifndef LS_TRAIN_AVERAGE_H
#define LS_TRAIN_AVERAGE_H

#include "train/trainer.h"

/* The number and the names of what is kept: the moments of the optimizer, then
 * the average where there is one. */
int ls__trainer_moments(const ls_trainer *t);
const char *ls__trainer_moment_name(const ls_trainer *t, int i);

/* Of the owned floats; NULL: none is kept. */
float *ls__trainer_average(const ls_trainer *t);

/* LS_EINVAL while the average stands in the parameters' place. */
int ls__trainer_check_weights(const ls_trainer *t);

#endif
