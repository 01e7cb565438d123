/* What a trainer is, as facts: what must be equal, on all ranks and when a run
 * goes on. */
#ifndef LS_TRAIN_FACTS_H
#define LS_TRAIN_FACTS_H

#include "train/trainer.h"
#include "train/trainer_rows.h"

/* Add what must be the same when a run goes on: devices and options. */
void ls__facts_of_run(const ls_trainer *t, ls__facts *facts);

/* Add what is computed, node by node; only what the loss needs: `trained`.  A
 * gradient function of the user's says nothing. */
void ls__facts_of_graph(const ls_trainer *t, bool trained, ls__facts *facts);

/* Add what must be equal on all ranks.  The parameters' values count too. */
void ls__facts_of_rank(const ls_trainer *t, ls__facts *facts);

#endif
