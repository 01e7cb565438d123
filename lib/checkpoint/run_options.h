/* SPDX-License-Identifier: BSD-3-Clause */
/* A trainer's options as texts: what a run must have in common with the
 * checkpoint it goes on from.  Workers and placement are not among them. */
#ifndef LS_CHECKPOINT_RUN_OPTIONS_H
#define LS_CHECKPOINT_RUN_OPTIONS_H

#include <lockstep/trainer.h>

#include <jansson.h>

/* An object of texts, to be given up by its owner: the options of a trainer
 * (NULL: of none), and other settings behind them.  LS_EINVAL: a text that is
 * NULL or no UTF-8, or a name that stands there already. */
int ls__run_options_new(json_t **out, const ls_trainer *trainer, int settings,
                        const ls_setting *setting);

/* A description of a trainer's computation, to be given up by its owner:
 * {"hash": .., "nodes": {..}}, an object of texts (model/graph_facts.h). */
int ls__run_graph_new(json_t **out, const ls_trainer *trainer);

#endif
