/* SPDX-License-Identifier: BSD-3-Clause */
/* The one function that writes the root of a state. */
#ifndef LS_HASH_ROOT_H
#define LS_HASH_ROOT_H

#include "hash/merkle.h"
#include <lockstep/transcript.h>

/* LS_EINVAL says what is wrong with the controls that a function was given. */
int ls__controls_check(const char *function, int n, const ls_control *control);

/* What a root is computed in. */
typedef struct ls__root_room {
    ls__digest *leaf, *row; /* [array][leaf]; row and border: over ranks */
    int64_t *border;        /* [ranks + 1] */
} ls__root_room;

/* LS_ENOMEM; closed after a failure too. */
int ls__root_room_open(ls__root_room *room, const ls_trainer *t);
void ls__root_room_close(ls__root_room *room);

/* ls_trainer_root, with arguments that were checked, and no allocation. */
int ls__root_text(ls_trainer *t, const ls__root_room *room, int64_t batches,
                  int n_controls, const ls_control *control, char root[65]);

#endif
