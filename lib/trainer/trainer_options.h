/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of a trainer: what is refused, and what is copied of them. */
#ifndef LS_TRAINER_TRAINER_OPTIONS_H
#define LS_TRAINER_TRAINER_OPTIONS_H

#include "base/memory.h"
#include "graph/graph.h"
#include <lockstep/trainer.h>
#include "model/params.h"

ls_trainer_options ls__trainer_options(void);

/* LS_EINVAL for one that makes no sense. */
int ls__trainer_options_check(const ls_trainer_options *o);

/* Copy what they lend for the call only. */
int ls__trainer_options_keep(ls_trainer_options *o, ls__arena *arena);

/* The frozen parameters of a graph, to be freed; NULL with a status of 0: none
 * is.  LS_EINVAL: all are. */
int ls__frozen_of_graph(const ls_trainer_options *o, const ls_graph *graph,
                        bool **frozen);

/* The same of a layout, that of a gradient of the user's. */
int ls__frozen_of_params(const ls_trainer_options *o, const ls__params *params,
                         bool **frozen);

/* LS_ENOTFOUND: a group that nothing is in. */
int ls__groups_find(const ls_trainer_options *o, const ls__params *params);

#endif
