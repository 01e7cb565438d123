/* SPDX-License-Identifier: BSD-3-Clause */
/* An element of an operator at hand, and who knows what it was made of: one
 * function for each operator, by its name in the table of evidence_rules.c. */
#ifndef LS_RECORD_EVIDENCE_RULES_H
#define LS_RECORD_EVIDENCE_RULES_H

#include "record/evidence.h"

enum {
    LS__ONE = 0x3f800000,
    LS__ATTRIBUTE = 1 << 30 /* the largest number that a record says of a node,
                               and the most numbers of an array of its */
};

typedef struct ls__asked {
    ls__evidence *e;
    const ls__said *n, *from;   /* the node; the one it reads first */
    const uint32_t *x, *y, *dy; /* that one's value, its own, its gradient */
    int64_t at, rows;           /* the element; rows of the chunk */
    int64_t size, width;        /* of its value: a row, a vector */
    int64_t in_size, in;        /* and of that of `from` */
    int64_t vectors;            /* of its value, in all rows */
    uint32_t a, b;              /* claims */
} ls__asked;

typedef int ls__answer(const ls__asked *q);

/* LS_ENOTSUP: the referee has no rule for that, or there is none here. */
int ls__asked_unknown(const char *what);

/* Is the element of the value; of the gradient by input k; by parameter k? */
bool ls__asked_y(const ls__asked *q);
bool ls__asked_dx(const ls__asked *q, int k);
bool ls__asked_dparam(const ls__asked *q, int k);
bool ls__asked_what(const ls__asked *q, const char *what);

/* The value of the node that input k is; NULL: the record has none. */
const uint32_t *ls__asked_x(const ls__asked *q, int k);

/* What it kept for backward, or shows of itself, of that many numbers. */
const uint32_t *ls__asked_shown(const ls__asked *q, const char *phase,
                                const char *what, int64_t n);

/* Parameter k before the step, of that many floats. */
const uint32_t *ls__asked_param(const ls__asked *q, int k, int64_t floats);

/* An attribute as a number, or `usual` where the node has none, or one that is
 * too large. */
int64_t ls__asked_of(const ls__asked *q, const char *name, int64_t usual);
uint32_t ls__asked_real(const ls__asked *q, const char *name);
uint32_t ls__asked_bits(float x);

/* Begin with "product" of the trainer's precision; "round" follows where values
 * of layers are rounded. */
void ls__asked_product(const ls__asked *q);
bool ls__asked_is_bf16(const ls__asked *q);
void ls__asked_round(const ls__asked *q);

void ls__asked_rule(const ls__asked *q, const char *rule);

/* What decides which numbers of a node are dropped. */
typedef struct ls__drops {
    const uint32_t *key;   /* and behind it the first row of the micro-batch;
                              NULL: none are */
    const ls__kept *share; /* what a schedule leaves of the rate, or NULL */
    double rate;
} ls__drops;

/* False: the record does not have it. */
bool ls__asked_find_drops(const ls__asked *q, const char *rate, ls__drops *d);

/* Write the key, the place in its stream of element `at` of a chunk whose rows
 * have `size`, and how many are kept. */
void ls__asked_drops(const ls__asked *q, const ls__drops *d, int64_t size,
                     int64_t at);

/* The sum of the parameter's gradient before, as "c", if it had begun. */
void ls__asked_before(const ls__asked *q);

/* What another reader of the same value gave before, as "add". */
void ls__asked_addend(const ls__asked *q);

/* A column of d over all vectors, as the sum of a parameter's gradient. */
int ls__asked_column(const ls__asked *q, const uint32_t *d);

/* That the element is this number of the record: a move. */
int ls__asked_move(const ls__asked *q, const uint32_t *x);

ls__answer ls__evidence_dense, ls__evidence_matmul;     /* evidence_dense.c */
ls__answer ls__evidence_conv, ls__evidence_pool;       /* evidence_windows.c */
ls__answer ls__evidence_layer_norm, ls__evidence_rms_norm,
    ls__evidence_group_norm, ls__evidence_batch_norm;    /* evidence_norms.c */
ls__answer ls__evidence_term, ls__evidence_round, ls__evidence_dropout,
    ls__evidence_softmax, ls__evidence_reduced,
    ls__evidence_loss, ls__evidence_mean_loss;            /* evidence_along.c */
ls__answer ls__evidence_parameter, ls__evidence_embed, ls__evidence_position,
    ls__evidence_gather, ls__evidence_one_hot, ls__evidence_flat,
    ls__evidence_view, ls__evidence_reverse, ls__evidence_concat,
    ls__evidence_bag;                                    /* evidence_tables.c */
ls__answer ls__evidence_attention, ls__evidence_rotary; /* evidence_heads.c */
ls__answer ls__evidence_steps;                          /* evidence_steps.c */

/* Write the evidence of a batch norm that goes by the rows of a batch; false:
 * it goes by what is stored. */
bool ls__evidence_by_rows(const ls__asked *q, int *status);

/* Write the evidence of a mean or a variance that a batch norm stores, after
 * the step; false: the parameter is another one. */
bool ls__evidence_stored(ls__evidence *e, const ls__said *slot, uint32_t a,
                         uint32_t b);

/* The evidence of what all devices share, or of a device's sum. */
int ls__evidence_shared(ls__evidence *e, uint32_t a, uint32_t b);

/* Does the referee make first values of that many numbers that follow from what
 * a record says of them (lib/record/record_start.h)? */
bool ls__evidence_starts(const uint32_t *word, int64_t floats);

/* The evidence of what is there before the first update; of a device's rows,
 * which are rows of the batch. */
int ls__evidence_start(ls__evidence *e, uint32_t a, uint32_t b);
int ls__evidence_row(ls__evidence *e, uint32_t a, uint32_t b);

/* The evidence of a device's loss, or of what its terms weigh: words of a
 * double. */
int ls__evidence_sums(ls__evidence *e, uint32_t a, uint32_t b);

/* The evidence of a learning rate, or of what a schedule leaves. */
int ls__evidence_rate(ls__evidence *e, uint32_t a, uint32_t b);

#endif
