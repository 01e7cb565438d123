/* SPDX-License-Identifier: BSD-3-Clause */
/* The state hash, the one number for everything a run arrived at, as
 * ls_trainer_hash documents it: SHA-256 over the arrays in order and the
 * step. */
#ifndef LS_STATE_STATE_HASH_H
#define LS_STATE_STATE_HASH_H

#include "base/sha.h"
#include <stdint.h>

/* An array under "PREFIX.NAME", or "NAME" where the prefix is empty. */
void ls__state_array(ls__sha256 *sha, const char *prefix, const char *name,
                     int rank, const int64_t *shape, const void *data,
                     size_t bytes);

void ls__state_end(ls__sha256 *sha, int64_t step, char hex[65]);

#endif
