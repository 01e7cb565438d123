/* SPDX-License-Identifier: BSD-3-Clause */
/* Going through the riders of a trainer (rider.h), station by station. */
#ifndef LS_TRAIN_RIDERS_H
#define LS_TRAIN_RIDERS_H

#include "train/rider.h"

/* Those of a list that want to ride, and what they need. */
void ls__riders_choose(ls__riding *to, const ls__rider *const *list,
                       const ls__rig *rig, ls__needs *needs);
int ls__riders_open(ls__riding *to, const ls__rig *rig);
void ls__riders_close(ls__riding *to);

/* One more, already open, at the end.  LS_EINVAL: there is no room. */
int ls__riders_add(ls__riding *to, const ls__rider *rider, void *own);

/* It leaves again; nothing is closed. */
void ls__riders_drop(ls__riding *from, const void *own);

/* The stations. */
int ls__riders_begin(ls__step *s);
void ls__riders_end(const ls__step *s, const ls_result *result);
void ls__riders_enter(ls__step *s, const ls__turn *turn);
void ls__riders_leave(ls__step *s, ls__turn *turn);
void ls__riders_ready(ls__step *s, int worker, int device);
ls__fate ls__riders_fate(const ls__step *s, ls__range block);
void ls__riders_summed(const ls__step *s, ls__range block, bool zeros);
void ls__riders_before(const ls__step *s, const ls__patch *patch);
bool ls__riders_move(const ls__step *s, const ls__patch *patch,
                     ls__range *run);
void ls__riders_changed(const ls__step *s, const ls__patch *patch);
void ls__riders_passed(ls__step *s, int worker, int sections);

/* Does anybody look at the blocks of the sum? */
bool ls__riders_look(const ls__step *s);

#endif
