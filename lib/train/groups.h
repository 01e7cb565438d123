/* Groups of parameters that are trained otherwise than the rest. */
#ifndef LS_TRAIN_GROUPS_H
#define LS_TRAIN_GROUPS_H

#include "train/trainer.h"

/* How one parameter is trained: what all groups it is in say together. */
typedef struct ls__way {
    bool frozen;
    float rate;      /* its learning rate is so many times the trainer's */
    ls_optimizer of; /* with its weight decay */
    ls__rule rule;   /* of the step at hand */
} ls__way;

/* LS_EINVAL for a group that makes no sense. */
int ls__groups_check(const ls_trainer_options *o);

/* Which parameters of a graph are frozen, to be freed; NULL with a status of 0:
 * none is. */
int ls__groups_frozen(const ls_trainer_options *o, const ls_graph *graph,
                      bool **frozen);

/* Once the parameters are laid out; copies what the options lend.
 * LS_ENOTFOUND: a group that nothing is in. */
int ls__groups_open(ls_trainer *t);

/* The rules of a step by that of all parameters. */
void ls__groups_rule(ls_trainer *t, const ls__rule *rule);

/* Does nothing move a slot? */
static inline bool ls__groups_frozen_slot(const ls_trainer *t, int slot)
{
    return t->way && t->way[slot].frozen;
}

/* The rule of a slot; NULL: it is frozen. */
static inline const ls__rule *ls__groups_rule_of(const ls__step *s, int slot)
{
    const ls__way *way = s->trainer->way;

    if (!way)
        return &s->rule;
    return way[slot].frozen ? NULL : &way[slot].rule;
}

/* Is the gradient of a slot computed although it is frozen? */
static inline bool ls__groups_clears(const ls_trainer *t, int slot)
{
    return ls__groups_frozen_slot(t, slot) &&
           !ls__trainer_leaves_out(t, t->model.params.slot[slot].declared);
}

/* Make gradients 0 that were computed for what is frozen: grads[declared]. */
void ls__groups_clear(const ls_trainer *t, float *const *grads);

#endif
