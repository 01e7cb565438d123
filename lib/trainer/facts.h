/* SPDX-License-Identifier: BSD-3-Clause */
/* A trainer as facts: what must be equal, on all ranks and when a run goes on.
 */
#ifndef LS_TRAINER_FACTS_H
#define LS_TRAINER_FACTS_H

#include "base/fact_list.h"
#include <lockstep/trainer.h>

#include <jansson.h>

/* What must be the same when a run goes on, devices and options: a new object
 * of texts; NULL: no memory. */
json_t *ls__facts_of_run(const ls_trainer *t);

/* Add what is computed, node by node; only what the loss needs: `trained`.  A
 * gradient function of the user's says nothing. */
void ls__facts_of_graph(const ls_trainer *t, bool trained, ls__facts *facts);

/* LS_EINVAL names what is not the same on all ranks of a trainer that has some.
 * The parameters' values count too. */
int ls__facts_compare(const ls_trainer *t);

#endif
