/* A trainer's options as texts: what a run must have in common with the
 * checkpoint it goes on from.  Workers and placement are not among them. */
#ifndef LS_TRAIN_SETTINGS_H
#define LS_TRAIN_SETTINGS_H

#include "train/trainer.h"

#include <jansson.h>

/* An object of texts: the options of a trainer (NULL: of none), and other
 * settings behind them.  NULL, with a message: no memory. */
json_t *ls__settings_new(const ls_trainer *trainer, int settings,
                         const ls_setting *setting);

/* LS_EINVAL names the first setting that is not what it was, and both values.
 * One that only `now` knows is of a newer program and may stand. */
int ls__settings_check(const json_t *now, const json_t *then,
                       const char *folder);

#endif
