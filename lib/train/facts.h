/* What a trainer is, as texts: what must be equal on all ranks. */
#ifndef LS_TRAIN_FACTS_H
#define LS_TRAIN_FACTS_H

#include "rank/agree.h"
#include "train/trainer.h"

/* Fill in the facts.  The parameters' values count too. */
void ls__facts_of(const ls_trainer *t, ls__facts *facts);

#endif
