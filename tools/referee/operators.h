/* SPDX-License-Identifier: BSD-3-Clause */
/* An element of an operator, made once more from the numbers that it was made
 * of: one function for each operator, by its name in the table of
 * operators.c. */
#ifndef REFEREE_OPERATORS_H
#define REFEREE_OPERATORS_H

#include "step.h"

typedef struct asked {
    const said *n, *from; /* the node; the one it reads first */
    place x, y, dy;       /* input's value, its own, its gradient */
    int64_t at, rows;     /* the element; rows of the chunk */
    int64_t size, width;  /* of its value: a row, a vector */
    int64_t in_size, in;  /* and of that of `from` */
    int64_t vectors;      /* of its value, in all rows */
} asked;

typedef f32 answer(const asked *q);

/* Is the element of the value; of the gradient by input k; by parameter k; of
 * another array of the node? */
bool is_y(void);
bool is_dx(const asked *q, int k);
bool is_dparam(const asked *q, int k);
bool is_what(const char *what);

/* The value of the node that input k is; 0: there is none. */
place input_of(const asked *q, int k);

/* Words that it kept for backward, or shows of itself, n of them. */
place shown(const asked *q, const char *phase, const char *what, int64_t n);

/* Parameter k before the step, of that many floats. */
place param_of(const asked *q, int k, int64_t floats);

/* An attribute as a number, or `usual` where the node has none, or one that is
 * too large; as a float. */
int64_t integer(const asked *q, const char *name, int64_t usual);
f32 real_number(const asked *q, const char *name);

/* The weight of a row of the chunk: without weights 1. */
f32 row_weight(int64_t row);

/* A product of layers' precision; a value as such layers leave it. */
f32 multiplied(const f32 *c, const f32 *a, const f32 *b, int64_t n);
bool is_bf16(void);
f32 after_layer(f32 x);

/* The sum of the parameter's gradient before, where it had begun; NULL: it had
 * not. */
const f32 *sum_before(const asked *q);

/* x and the gradient that other readers of the same value gave before. */
f32 plus_others(const asked *q, f32 x);

/* A column of d over all vectors, as the sum of a parameter's gradient. */
f32 column_of(const asked *q, place d);

/* Dropout of a node: what decides which numbers are dropped. */
typedef struct drops {
    f32 key[2], keep;
    uint64_t row; /* of the micro-batch, that the chunk begins with */
    bool some;
} drops;

/* The text of a rate; false: the records do not have what decides. */
bool find_drops(const asked *q, const char *rate, drops *d);

/* Number `at` of a stream where rows have `size`: x, kept or dropped; word w of
 * bits that say so of each 32 of n. */
f32 dropped(const drops *d, f32 x, int64_t size, int64_t at);
uint32_t kept_bits(const drops *d, int64_t size, int64_t at, int64_t w,
                   int64_t n);

/* Element `at` of the softmax of a row, and of what it gives (op_along.c). */
f32 softmax_of(const f32 *x, int64_t n, int64_t at);
f32 softmax_back(const f32 *p, const f32 *dp, int64_t n, int64_t at);

/* 1 / the deviation of a variance; (x - mean) r (op_norms.c). */
f32 by_deviation(f32 var, f32 eps);
f32 norm_xh(f32 x, f32 mean, f32 r);

/* Terms of one element (terms.c): operands, its value, that one's gradient,
 * constants. */
typedef struct given {
    f32 a, b, y, d, p, q;
} given;

typedef struct term {
    const char *name;
    f32 (*y)(given g), (*a)(given g), (*b)(given g);
} term;

const term *term_of(const char *op); /* NULL: it is none */
const char *term_name(int i);        /* NULL behind the last */

answer dense_makes, matmul_makes;                       /* op_dense.c */
answer conv_makes, pool_makes;                           /* op_windows.c */
answer norm_makes;                                       /* op_norms.c */
answer batch_norm_makes;                                 /* op_statistics.c */
answer term_makes, dropout_makes, softmax_makes, reduced_makes, loss_makes,
    mean_loss_makes;                                     /* op_along.c */
answer embed_makes, position_makes, one_hot_makes, view_makes,
    bag_makes;                                           /* op_tables.c */
answer attention_makes, rotary_makes;                    /* op_heads.c */
answer steps_makes;                                      /* op_steps.c */

#endif
