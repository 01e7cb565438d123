/* SPDX-License-Identifier: BSD-3-Clause */
/* The root of a state, and that of the weights in it. */
#ifndef LS_STATE_ROOT_H
#define LS_STATE_ROOT_H

#include "state/merkle.h"
#include <lockstep/transcript.h>

/* LS_EINVAL says what is wrong with the controls that a function was given. */
int ls__controls_check(const char *function, int n, const ls_control *control);

/* The memory in which a root is computed. */
typedef struct ls__root_room {
    ls__digest *leaf, *row; /* [array][leaf]; row and border: over ranks */
    int64_t *border;        /* [ranks + 1] */
} ls__root_room;

/* LS_ENOMEM; closed after a failure too. */
int ls__root_room_open(ls__root_room *room, const ls_trainer *t);
void ls__root_room_close(ls__root_room *room);

/* All ranks: the root of the weights alone as they stand, the parameters or
 * their average, a tree over one array.  No allocation. */
int ls__weights_root(ls_trainer *t, const ls__root_room *room, char root[65]);

/* ls_trainer_root, with arguments that were checked, and no allocation. */
int ls__root_text(ls_trainer *t, const ls__root_room *room, int64_t batches,
                  int n_controls, const ls_control *control, char root[65]);

#endif
