/* SPDX-License-Identifier: BSD-3-Clause */
/* Decisions of dense layers and convolutions when they are planned: the fused
 * epilogue of their product, and the place of their packed weights. */
#ifndef LS_OP_PRODUCT_PLAN_H
#define LS_OP_PRODUCT_PLAN_H

#include "graph/op.h"

/* The first member of what each of them makes. */
typedef struct ls__product_made {
    ls__activation activation; /* y goes through it; 0: through none */
    bool residual;             /* the last input is added to y */
    bool closed;               /* nothing more can follow the activation */
    bool dy_is_pre;      /* dy comes through the activation's slope already: dx
                            of the only reader does that */
    int64_t slope_of_x;  /* and this one does it for its input: where the slopes
                            lie; -1: it does not */
    int64_t packed[2];   /* offsets of the weights, and of what dx reads; -1:
                            not packed */
} ls__product_made;

static inline const ls__product_made *ls__product_of(const ls__run *r)
{
    return r->in->made;
}

/* Take an activation, then an add. */
bool ls__product_folds(const ls_node *n, void *made, const ls_node *reader);

/* Ask for the weights packed, for y and, where it is wanted, for dx.  `how`
 * fills in the pack's whole, floats, write and of, or leaves it; NULL: nothing
 * is packed.  And find the activation whose slopes dx goes through. */
typedef int ls__product_pack(const ls__bench *b, const ls_node *n,
                             bool transposed, ls__pack *q);
int ls__product_plan(ls__bench *b, ls__instr *in, ls__product_pack *how);

/* The slope of the activation, for backward and for each dx through it. */
int64_t ls__product_stash(const ls__bench *b, const ls__instr *in);
int64_t ls__product_reads_kept(const ls__instr *in);

/* Weights packed for y, or for dx; NULL: they are not. */
const float *ls__product_packed(const ls__run *r, bool transposed);

/* Move the output of a product by `by` numbers, and with it the slopes, factors
 * and addends that it reads for each number of it. */
void ls__product_move(ls__product *g, int64_t by);

/* The factor of dx; NULL: none. */
const float *ls__product_slope_of_x(const ls__run *r);

/* May a value, heads side by side, be numbers of bf16? */
bool ls__bf16_fits(const ls_node *n, int64_t heads);

#endif
