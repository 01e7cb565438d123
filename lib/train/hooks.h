/* SPDX-License-Identifier: BSD-3-Clause */
/* Going through the hooks of a trainer (hook.h), station by station. */
#ifndef LS_TRAIN_HOOKS_H
#define LS_TRAIN_HOOKS_H

#include "train/trainer.h"

/* Chooses the hooks of a list that want to ride, and sums up their needs. */
void ls__hooks_choose(ls__riding *to, const ls__hook *const *list,
                      const ls__rig *rig, ls__needs *needs);
int ls__hooks_open(ls__riding *to, const ls__rig *rig);
void ls__hooks_close(ls__riding *to);

/* One more, already open, at the end.  LS_EINVAL: there is no room. */
int ls__hooks_add(ls__riding *to, const ls__hook *hook, void *own);

/* Takes a hook out again; nothing is closed. */
void ls__hooks_drop(ls__riding *from, const void *own);

/* A station that gives nothing back: each hook that has it does there what it
 * does, with the step and these arguments. */
#define LS__TELL_HOOKS(step, station, ...) \
    do { \
        for (const ls__riding *r_ = (step)->trainer->hook; r_->is; r_++) \
            if (r_->is->station) \
                r_->is->station(r_->own, step, __VA_ARGS__); \
    } while (0)

/* Those whose answer counts. */
int ls__hooks_begin(ls__step *s);
ls__fate ls__hooks_fate(const ls__step *s, ls__range block);
bool ls__hooks_move(const ls__step *s, const ls__patch *patch,
                     ls__range *run);

/* Does anybody look at the blocks of the sum? */
bool ls__hooks_look(const ls__step *s);

#endif
