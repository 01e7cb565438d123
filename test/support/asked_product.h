/* SPDX-License-Identifier: BSD-3-Clause */
/* An element of a matrix product, by the referee. */
#ifndef TEST_ASKED_PRODUCT_H
#define TEST_ASKED_PRODUCT_H

#include "asked_record.h"
#include "kernel/product.h"
#include "referee/numbers.h"

#include <stdlib.h>

/* Element (i,j) in a precision; before: what it is added to, or NULL. */
static inline float asked_product(product *of, const ls__product *g, int64_t i,
                                  int64_t j, const float *before)
{
    f32 *a = malloc(2 * (size_t)g->k * sizeof *a), *b = a + g->k;
    f32 c = before ? f_of(*before) : 0, is;

    for (int64_t p = 0; a && p < g->k; p++) {
        a[p] = f_of(g->a[i * g->a_row + p * g->a_col]);
        b[p] = f_of(g->b[p * g->b_row + j * g->b_col]);
    }
    is = a ? of(before ? &c : NULL, a, b, g->k) : NAN32;
    free(a);
    return asked_word(is);
}

#endif
