/* Made by make_initial.py with jax 0.10.2, flax 0.12.8,
 * numpy 2.4.6; not edited by hand. */
#ifndef GOLDEN_INITIAL_H
#define GOLDEN_INITIAL_H

#include "lockstep.h"

// clang-format off

/* jax.nn.initializers with key 7. */
static const struct {
    ls_init init;
    int rank;
    int64_t shape[4];
} golden_initial[] = {
    {{LS_INIT_VARIANCE, LS_UNIFORM, LS_FAN_IN, 1.7, 0, 0}, 2, {6, 5}},
    {{LS_INIT_VARIANCE, LS_UNIFORM, LS_FAN_OUT, 1.7, 0, 0}, 2, {6, 5}},
    {{LS_INIT_VARIANCE, LS_UNIFORM, LS_FAN_AVERAGE, 1.7, 0, 0}, 2, {6, 5}},
    {{LS_INIT_RANDOM, LS_UNIFORM, 0, 0.03, 0, 0}, 2, {6, 5}},
    {{LS_INIT_VARIANCE, LS_NORMAL, LS_FAN_IN, 1.7, 0, 0}, 2, {6, 5}},
    {{LS_INIT_VARIANCE, LS_NORMAL, LS_FAN_OUT, 1.7, 0, 0}, 2, {6, 5}},
    {{LS_INIT_VARIANCE, LS_NORMAL, LS_FAN_AVERAGE, 1.7, 0, 0}, 2, {6, 5}},
    {{LS_INIT_RANDOM, LS_NORMAL, 0, 0.03, 0, 0}, 2, {6, 5}},
    {{LS_INIT_VARIANCE, LS_TRUNCATED_NORMAL, LS_FAN_IN, 1.7, 0, 0}, 2, {6, 5}},
    {{LS_INIT_VARIANCE, LS_TRUNCATED_NORMAL, LS_FAN_OUT, 1.7, 0, 0}, 2, {6, 5}},
    {{LS_INIT_VARIANCE, LS_TRUNCATED_NORMAL, LS_FAN_AVERAGE, 1.7, 0, 0}, 2, {6, 5}},
    {{LS_INIT_RANDOM, LS_TRUNCATED_NORMAL, 0, 0.03, 0, 0}, 2, {6, 5}},
    {{LS_INIT_VARIANCE, LS_UNIFORM, LS_FAN_IN, 1.7, 0, 0}, 4, {3, 2, 2, 4}},
    {{LS_INIT_VARIANCE, LS_UNIFORM, LS_FAN_OUT, 1.7, 0, 0}, 4, {3, 2, 2, 4}},
    {{LS_INIT_VARIANCE, LS_UNIFORM, LS_FAN_AVERAGE, 1.7, 0, 0}, 4, {3, 2, 2, 4}},
    {{LS_INIT_RANDOM, LS_UNIFORM, 0, 0.03, 0, 0}, 4, {3, 2, 2, 4}},
    {{LS_INIT_VARIANCE, LS_NORMAL, LS_FAN_IN, 1.7, 0, 0}, 4, {3, 2, 2, 4}},
    {{LS_INIT_VARIANCE, LS_NORMAL, LS_FAN_OUT, 1.7, 0, 0}, 4, {3, 2, 2, 4}},
    {{LS_INIT_VARIANCE, LS_NORMAL, LS_FAN_AVERAGE, 1.7, 0, 0}, 4, {3, 2, 2, 4}},
    {{LS_INIT_RANDOM, LS_NORMAL, 0, 0.03, 0, 0}, 4, {3, 2, 2, 4}},
    {{LS_INIT_VARIANCE, LS_TRUNCATED_NORMAL, LS_FAN_IN, 1.7, 0, 0}, 4, {3, 2, 2, 4}},
    {{LS_INIT_VARIANCE, LS_TRUNCATED_NORMAL, LS_FAN_OUT, 1.7, 0, 0}, 4, {3, 2, 2, 4}},
    {{LS_INIT_VARIANCE, LS_TRUNCATED_NORMAL, LS_FAN_AVERAGE, 1.7, 0, 0}, 4, {3, 2, 2, 4}},
    {{LS_INIT_RANDOM, LS_TRUNCATED_NORMAL, 0, 0.03, 0, 0}, 4, {3, 2, 2, 4}},
};

/* orthogonal(0.7) with key 7, by LAPACK. */
static const struct {
    int rank;
    int64_t shape[4];
} golden_orthogonal[] = {
    {2, {6, 5}},
    {2, {5, 6}},
    {2, {7, 7}},
    {4, {3, 2, 2, 4}},
    {4, {1, 2, 3, 16}},
};

/* Two dense layers, 5 to 4 to 3, by Flax with these kernels. */
static const struct {
    const char *name;
    ls_keys keys;
} golden_layers[] = {
    {"glorot-uniform", LS_KEYS_NNX},
    {"glorot-uniform", LS_KEYS_LINEN},
    {"he-truncated", LS_KEYS_NNX},
    {"he-truncated", LS_KEYS_LINEN},
    {"lecun-uniform", LS_KEYS_NNX},
    {"lecun-uniform", LS_KEYS_LINEN},
};

// clang-format on

#endif
