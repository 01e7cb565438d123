/* SPDX-License-Identifier: BSD-3-Clause */
/* Going through the hooks of a trainer (hook.h), station by station. */
#ifndef LS_TRAIN_HOOKS_H
#define LS_TRAIN_HOOKS_H

#include "train/hook.h"

/* Chooses the hooks of a list that want to ride, and sums up their needs. */
void ls__hooks_choose(ls__riding *to, const ls__hook *const *list,
                      const ls__rig *rig, ls__needs *needs);
int ls__hooks_open(ls__riding *to, const ls__rig *rig);
void ls__hooks_close(ls__riding *to);

/* One more, already open, at the end.  LS_EINVAL: there is no room. */
int ls__hooks_add(ls__riding *to, const ls__hook *hook, void *own);

/* Takes a hook out again; nothing is closed. */
void ls__hooks_drop(ls__riding *from, const void *own);

/* The stations. */
int ls__hooks_begin(ls__step *s);
void ls__hooks_end(const ls__step *s, const ls_result *result);
void ls__hooks_enter(ls__step *s, const ls__micro_batch *mb);
void ls__hooks_leave(ls__step *s, ls__micro_batch *mb);
void ls__hooks_ready(ls__step *s, int worker, int device);
ls__fate ls__hooks_fate(const ls__step *s, ls__range block);
void ls__hooks_summed(const ls__step *s, ls__range block, bool zeros);
void ls__hooks_before(const ls__step *s, const ls__patch *patch);
bool ls__hooks_move(const ls__step *s, const ls__patch *patch,
                     ls__range *run);
void ls__hooks_changed(const ls__step *s, const ls__patch *patch);
void ls__hooks_passed(ls__step *s, int worker, int sections);

/* Does anybody look at the blocks of the sum? */
bool ls__hooks_look(const ls__step *s);

#endif
