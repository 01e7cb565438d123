/* SPDX-License-Identifier: BSD-3-Clause */
/* Rotary positions as one operator, of opset 23: the engine's where the tables
 * are those of a base, else products with them. */
#include "base/error.h"
#include "base/scalar.h"
#include "import/heads.h"

#include <lockstep/arithmetic.h>

#include <math.h>
#include <string.h>

/* ------ the tables ------ */

/* The table that input k is, of positions that are known: rows of it. */
static int rows_of_table(ls__reader *r, const ls__om_node *n, int64_t half,
                         const ls__named *all, const ls__named *at,
                         ls__named *table)
{
    int64_t t = ls__value_count(at);
    int status;

    if (all->rank != 2 || all->shape[1] != half)
        return ls__refuse("its tables do not fit");
    table->name = n->output[0];
    status = ls__fold_new(r, table, 4, (int64_t[]){1, 1, t, half}, true);
    for (int64_t i = 0; i < t && status == 0; i++) {
        int64_t row = ls__read_index_of(at->number[i], all->shape[0]);

        if (row < 0)
            return (int)row;
        memcpy(table->number + i * half, all->number + row * half,
               (size_t)half * sizeof *all->number);
    }
    return status;
}

/* Table k (1: cosines, 2: sines) as (1 or rows,1,T,half). */
static int table_in(ls__reader *r, const ls__om_node *n, int k, int64_t t,
                    int64_t half, ls__named *table)
{
    const ls__named *is = ls__read_in(r, n, k), *at = ls__read_in(r, n, 3);
    const ls__named *all = ls__numbers_of(is), *known = ls__numbers_of(at);
    int status = 0;

    if (!is || (at && (!all || !known || ls__value_count(known) != t)))
        return ls__refuse("read are tables and positions that are known, the "
                          "same in every row, or tables of (rows,T,d/2) "
                          "without positions");
    if (at)
        return rows_of_table(r, n, half, all, known, table);
    *table = all ? *all : *is;
    while (table->rank < 3 && status == 0 && all)
        ls__value_unsqueeze(table, 0);
    if (table->rank != 3 || table->shape[1] != t || table->shape[2] != half)
        return ls__refuse("its tables do not fit");
    ls__value_unsqueeze(table, 1);
    return status;
}

/* The base of which the tables are, as the engine makes them; 0: of none. */
static double base_of(ls__reader *r, const ls__named *cosines,
                      const ls__named *sines, int64_t t, int64_t half)
{
    int64_t n = t * half;
    float *table;
    double base;

    if (cosines->kind != LS__NUMBERS || sines->kind != LS__NUMBERS || t < 2 ||
        half < 2 || ls__value_count(cosines) != n ||
        ls__value_count(sines) != n)
        return 0;
    base = round(pow(atan2(sines->number[half + 1], cosines->number[half + 1]),
                     -(double)half));
    table = ls__arena_new(&r->file->arena, (size_t)(2 * n), sizeof *table);
    if (!table || !(base >= 1 && base < 0x1p60))
        return 0;
    ls__angles(table, t, 2 * half, (float)base);
    for (int64_t i = 0; i < n; i++) {
        const float *at = table + i / half * 2 * half + i % half;

        if (!(fabs((double)at[0] - cosines->number[i]) <= 1e-6 &&
              fabs((double)at[half] - sines->number[i]) <= 1e-6))
            return 0;
    }
    return base;
}

/* ------ pairs ------ */

/* y = a c - b s, or a c + b s */
static int mix(ls__reader *r, const ls__om_node *n, const ls__named *of[4],
               bool plus, ls__named *y)
{
    ls__named v[4] = {*of[0], *of[1], *of[2], *of[3]};
    int status;

    for (int i = 0; i < 4; i += 2) {
        if ((status = ls__read_alike(r, n, &v[i], &v[i + 1])) < 0)
            return status;
        v[i].node = ls_mul(v[i].node, v[i + 1].node);
        if ((status = ls__made(v[i].node)) < 0)
            return status;
    }
    if ((status = ls__read_alike(r, n, &v[0], &v[2])) < 0)
        return status;
    *y = v[0];
    return ls__value_with(y, plus ? ls_add(v[0].node, v[2].node)
                                  : ls_sub(v[0].node, v[2].node));
}

/* Part `second` of the pairs among the first elements of each head. */
static int part_in(const ls__named *x, int64_t half, bool between, bool second,
                   ls__named *part)
{
    int64_t shape[5];
    int status;

    *part = *x;
    if (!between)
        return ls__read_part(part, 3, second ? half : 0, half);
    if ((status = ls__read_part(part, 3, 0, 2 * half)) < 0)
        return status;
    memcpy(shape, part->shape, 3 * sizeof *shape);
    shape[3] = half;
    shape[4] = 2;
    if ((status = ls__value_reshape(part, 5, shape, 0)) < 0 ||
        (status = ls__read_part(part, 4, second, 1)) < 0)
        return status;
    ls__value_drop(part, 4);
    return 0;
}

/* Join both parts again, and what was not turned. */
static int join(ls__reader *r, ls__named part[3], int64_t half, bool between,
                int64_t d, ls__named *y)
{
    int status, rest = 2 * half < d;

    if (between) {
        ls__value_unsqueeze(&part[0], 4);
        ls__value_unsqueeze(&part[1], 4);
        if ((status = ls__read_join(r, 2, part, 0, 4)) < 0 ||
            (status = ls__value_merge(&part[0], 3)) < 0)
            return status;
        part[1] = part[2];
    }
    status = between && !rest ? 0
             : ls__read_join(r, 2 - between + rest, part, 0, 3);
    *y = part[0];
    return status;
}

/* Turn the pairs of each head. */
static int turn(ls__reader *r, const ls__om_node *n, const ls__named *x,
                ls__named table[2], int64_t half, ls__named *y)
{
    bool between = ls__om_integer(n, "interleaved", 0);
    ls__named a, b, part[3];
    int status;

    for (int k = 0; k < 2; k++)
        if ((status = ls__read_as_node(r, n->input[k + 1], &table[k])) < 0)
            return status;
    if ((status = part_in(x, half, between, false, &a)) < 0 ||
        (status = part_in(x, half, between, true, &b)) < 0 ||
        (status = mix(r, n, (const ls__named *[]){&a, &table[0], &b,
                                                  &table[1]}, false,
                      &part[0])) < 0 ||
        (status = mix(r, n, (const ls__named *[]){&b, &table[0], &a,
                                                  &table[1]}, true,
                      &part[1])) < 0)
        return status;
    part[2] = *x;
    if (2 * half < x->shape[3] &&
        (status = ls__read_part(&part[2], 3, 2 * half,
                                x->shape[3] - 2 * half)) < 0)
        return status;
    return join(r, part, half, between, x->shape[3], y);
}

int ls__read_rotary(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    ls__named x, table[2];
    int64_t t, size = ls__om_integer(n, "rotary_embedding_dim", 0);
    double base;
    int status = ls__heads_in(r, n, 0, ls__om_integer(n, "num_heads", 0), &x);

    if (status < 0)
        return status;
    t = x.shape[2];
    size = size ? size : x.shape[3];
    if (size < 2 || size % 2 || size > x.shape[3])
        return ls__refuse("it turns %lld of %lld elements", (long long)size,
                          (long long)x.shape[3]);
    for (int k = 0; k < 2; k++)
        if ((status = table_in(r, n, k + 1, t, size / 2, &table[k])) < 0)
            return status;
    base = ls__om_integer(n, "interleaved", 0) || size < x.shape[3]
               ? 0 : base_of(r, &table[0], &table[1], t, size / 2);
    status = base && ls__value_rows(&x) == 0
                 ? ls__heads_apart(ls_rotary(ls__heads_beside(&x),
                                             (int)x.shape[1], base),
                                   x.shape, v)
                 : turn(r, n, &x, table, size / 2, v);
    return status < 0 ? status : ls__heads_out(r, n, v);
}
