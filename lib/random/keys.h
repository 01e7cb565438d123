/* SPDX-License-Identifier: BSD-3-Clause */
/* Random keys of parameters: Flax's two rules. */
#ifndef LS_RANDOM_KEYS_H
#define LS_RANDOM_KEYS_H

#include <lockstep/random.h>

/* nnx: request number count (from 0) to the stream of a root key. */
ls_key ls__key_nnx(ls_key root, uint64_t count);

/* linen: parameter number count (from 1) of a scope, named by the path from the
 * root with dots, "blocks_0.SelfAttention_0.query"; "" is the root. */
ls_key ls__key_linen(ls_key root, const char *scope, uint64_t count);

/* The hash that linen folds into the root key for that. */
uint32_t ls__linen_hash(const char *scope, uint64_t count);

#endif
