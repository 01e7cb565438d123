/* SPDX-License-Identifier: BSD-3-Clause */
/* Formulas: elementwise operators, each a term, and chains of them that the
 * plan has fused.  A row of terms.h is the computation of a kind. */
#ifndef LS_KERNEL_FORMULA_H
#define LS_KERNEL_FORMULA_H

#include "kernel/product.h"
#include "kernel/terms.h"

/* Kinds of terms; activations are terms too, by their own numbers. */
#define LS__KIND(kind, ...) kind,
enum { LS__ADD = LS__ACTIVATIONS, LS__TERMS_BY_KIND(LS__KIND) LS__TERM_KINDS };
#undef LS__KIND

_Static_assert((int)LS__ACTIVATIONS == (int)LS__SIGMOID + 1,
               "each activation has a row in k_formula.h");

enum { LS__TERMS = 32, LS__TERM_INPUTS = 8 };

_Static_assert(LS__TERM_INPUTS >= 2, "a term has two operands");

/* One operator on places: place k is input k, place inputs + t the value of
 * term t.  With one operand b is a. */
typedef struct ls__term {
    int kind;
    int a, b;
    float by[2]; /* its constants */
} ls__term;

/* Broadcasting of an array under a row of elements: runs of n elements, each
 * `times` times one after the other.  n of 0: it has an element for each. */
typedef struct ls__runs {
    int64_t n, times;
} ls__runs;

enum { LS__LEAST_RUN = 16 }; /* shorter ones are not worth a call */

/* Terms in the order they are computed; the last makes the value, or what is
 * summed to it.  The last inputs are the parameters of the formula's node,
 * which are the same in every row. */
typedef struct ls__formula {
    int inputs, params, terms;
    int64_t size;              /* elements of a row */
    ls__runs of[LS__TERM_INPUTS], sum;
    bool whole;                /* no input is of runs, nothing is summed */
    ls__term term[LS__TERMS];
} ls__formula;

/* A term on runs of n elements, one after the other.  Its value reads a and b
 * and writes y; its gradient reads all three and dy, and writes da and db where
 * they are not NULL. */
typedef struct ls__term_run {
    int64_t n;
    const float *a, *b;
    float *y;
    const float *dy;
    float *da, *db;
    const float *onto_a, *onto_b; /* addends of da and db; or NULL */
    int64_t runs;                 /* 0: one */
    bool same_a, same_b; /* a and da, or b and db, are one run for all */
    bool sums;           /* y, to which values are added, is; or dy */
} ls__term_run;

#endif
