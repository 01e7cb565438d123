/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared parts of the tests of agreement with other programs' numbers. */
#ifndef TEST_AGREEMENT_H
#define TEST_AGREEMENT_H

#include "base/sha.h"
#include "calls.h"
#include "models.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static inline void near(double got, double want, double tolerance,
                        const char *what, int at)
{
    ck_assert_msg(got - want <= tolerance && want - got <= tolerance,
                  "%s %d: %.9g, not %.9g (%.2g off)", what, at, got, want,
                  got - want);
}

/* SHA-256 over the values of one parameter, or of all: one < 0. */
static inline void hash_values(const ls_trainer *t, int one, char hex[65])
{
    ls__sha256 sha;

    ls__sha256_init(&sha);
    for (int i = 0; i < ls_trainer_params(t); i++) {
        int64_t shape[LS_MAX_RANK], n;
        int rank = ls_trainer_param_shape(t, i, shape);
        float *values;

        if (one >= 0 && one != i)
            continue;
        n = ls__count(rank, shape);
        values = malloc((size_t)n * sizeof *values);
        ck_assert_ptr_nonnull(values);
        OK(ls_trainer_get(t, ls_trainer_param_name(t, i), n, values));
        ls__sha256_update(&sha, values, (size_t)n * sizeof *values);
        free(values);
    }
    ls__sha256_hex(&sha, hex);
}

#endif
