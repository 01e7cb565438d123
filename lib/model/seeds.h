/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources of a model's random numbers: the first values of its parameters, and
 * the keys of layers that draw anew in each call. */
#ifndef LS_MODEL_SEEDS_H
#define LS_MODEL_SEEDS_H

#include "model/ls_model.h"

/* The seeds and keys, as ls_trainer_options has them. */
typedef struct ls__seeds {
    ls_keys keys;
    int64_t seed;
    bool own_dropout_key; /* dropout_key counts; false: seed does */
    ls_key dropout_key;
} ls__seeds;

/* The source of a parameter's first values: its initialiser, and with that a
 * key and a fan. */
typedef struct ls__start {
    const ls_init *init;
    ls_key key;
    double fan;
} ls__start;

/* The source of parameter i of those declared. */
ls__start ls__seeds_start(const ls__model *m, const ls__seeds *seeds, int i);

/* Write the first values of all parameters of a model that was opened from a
 * graph (the padding between them must be zero already), and set its plan's
 * keys.  Fails where an initialiser that the program chose does. */
int ls__seeds_sow(ls__model *m, const ls__seeds *seeds);

#endif
