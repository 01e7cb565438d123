/* SPDX-License-Identifier: BSD-3-Clause */
/* What an operator is.  Each is one struct, with forward and backward
 * in one file lib/op/op_*.c; lib/op/op_table.c lists them.
 *
 * Operators run on a chunk of one device's shard: `rows` rows at a time.  The
 * gradient of an input may have to be added to what another consumer left:
 * that is addend, and dx = addend + contribution.  dx may be the memory of its
 * addend, of dy or of x where the operator's struct says so. */
#ifndef LS_GRAPH_OP_H
#define LS_GRAPH_OP_H

#include "graph/attribute.h"
#include "base/touched.h"
#include "graph/graph.h"
#include "graph/instr.h"
#include "kernel/kernel.h"

/* A user's operator that failed, and how. */
typedef struct ls__failure {
    int status;          /* negative; 0: nothing failed */
    const ls_node *node;
} ls__failure;

/* Where the keys of a stream come from: call c of the model uses fold_in(key,
 * c), and where hashed, that folded with hash. */
typedef struct ls__draw {
    ls_key key;
    uint32_t hash;
    bool hashed;
} ls__draw;

/* Whoever looks into an operator (plan/record.h): told of n of the `of` numbers
 * of what it is called, from `at` on. */
typedef struct ls__probe {
    void (*saw)(void *user, const char *what, int64_t at, int64_t of,
                const float *values, int64_t n);
    void *user;
} ls__probe;

/* The turns of a chunk where others of its shard are at work: what goes on from
 * chunk to chunk, a part of a parameter's gradient for one, is added to between
 * wait and pass, so that the chunk before has added its own, and the next has
 * not.  wait: false where somebody else takes this turn, which is over then. */
typedef struct ls__turns ls__turns;
struct ls__turns {
    bool (*wait)(ls__turns *turns);
    void (*pass)(ls__turns *turns);
    unsigned most; /* that one operator should take */
};

/* What all operators see that run on a chunk of rows. */
typedef struct ls__chunk {
    float *memory;          /* where places are */
    float *stays;           /* what operators asked for that stays from run to
                               run; NULL: nothing */
    const float *packed;    /* weights; NULL: none are */
    bool backward;          /* gradients follow */
    bool train;             /* dropout drops; else values pass through */
    float drop;             /* its rate is times this */
    int64_t first;          /* its first row, counted in the micro-batch; step
                               by step: its position */
    int64_t before, left;   /* rows of the shard before the chunk, and from its
                               first row on */
    int64_t skipped;        /* rows of the chunk that are before these, where
                               it is cut */
    const float *weights;   /* of the rows; NULL: all 1 */
    ls_sums *sums;          /* losses add to them */
    ls__failure *failure;   /* set by the first of the user's that fails */
    const ls__touched *touched; /* of the array that holds all gradients; NULL:
                               there are none */
    bool surveyed;          /* surveys come before what needs them */
    const ls__draw *draw;   /* [stream] */
    uint32_t call;          /* of the model, which draws are of */
    const ls__probe *probe; /* NULL in every run but a recorded one */
    ls__turns *turns;       /* NULL: the shard's chunks follow each other */
} ls__chunk;

/* What one run of an operator sees. */
typedef struct ls__run {
    const ls_node *node;
    const ls__instr *in;
    const ls__chunk *of;
    int64_t rows;
    const void *x[LS__MAX_INPUTS]; /* values of the inputs */
    float *y;                      /* value of the node; NULL for a loss */
    float *stash;                  /* what forward keeps for backward */
    float *scratch;                /* dies with the call */
    const float *param[LS__MAX_PARAMS];
    const float *dy;                     /* NULL for a loss */
    float *dx[LS__MAX_INPUTS];           /* NULL: not wanted */
    const float *addend[LS__MAX_INPUTS]; /* NULL: none */
    float *dparam[LS__MAX_PARAMS];
    bool add;                      /* dparam is added to: a later chunk */
    double *found[2];              /* what surveys of this device's rows found,
                                      forward and backward; NULL: there were
                                      none */
    const double *all[2];          /* the same of all rows that count */
    int part, parts;               /* where columns are shared out (`splits`) */
    const ls__backend *backend;
    const ls__kernel_table *kernels;
} ls__run;

/* Is the gradient of a parameter wanted? */
static inline bool ls__wants_params(const ls__run *r)
{
    for (int k = 0; k < r->node->params; k++)
        if (r->dparam[k])
            return true;
    return false;
}

/* Show numbers that nothing else keeps, if anybody looks. */
static inline void ls__show(const ls__run *r, const char *what, int64_t at,
                            int64_t of, const float *values, int64_t n)
{
    if (r->of->probe)
        r->of->probe->saw(r->of->probe->user, what, at, of, values, n);
}

/* The next turn, which is over later; false: it is not this run's. */
static inline bool ls__take_turn(const ls__run *r)
{
    return !r->of->turns || r->of->turns->wait(r->of->turns);
}

static inline void ls__end_turn(const ls__run *r)
{
    if (r->of->turns)
        r->of->turns->pass(r->of->turns);
}

enum { LS__VALUE = -1 }; /* in the place of an input's number */

/* What a survey has found after each block of rows, as it is shown: doubles. */
#define LS__STATISTICS "statistics"

/* What an operator that trains by all rows does on every chunk before it runs
 * on the first, forward and backward (back). */
typedef struct ls__survey {
    /* How many doubles it finds out; 0 forward: this node needs no survey. */
    int64_t (*size)(const ls_node *node, bool back);
    /* Do all devices' rows count, in the tree's order?  Else a device's own. */
    bool (*of_all)(const ls_node *node);
    /* Add what there is in a chunk to r->found[back], which was zeros. */
    void (*look)(const ls__run *r, bool back);
    /* Add what was found in other rows. */
    void (*join)(const ls_node *node, bool back, double *to,
                 const double *from);
    /* What is stored goes on with what all rows have, forward: values of the
     * stored parameters, one after the other. */
    void (*learn)(const ls_node *node, const double *all, double *stored);
} ls__survey;

struct ls__op {
    const char *name;
    int inputs;
    bool is_loss;
    bool is_own; /* the user's: it runs in their order, no file holds it */
    /* Bit k: indices below 0 in input k stand for nothing: no terms of a loss,
     * no elements of a bag. */
    unsigned ignores;
    unsigned finite; /* bit k: input k of the graph must hold finite numbers */
    bool may_transpose; /* its first parameter may be another's transpose */
    bool is_view;    /* y is x under another shape: the plan may share memory */
    /* Bit k: the gradient of input k is dy itself; the executor sees to it. */
    unsigned passes;
    /* Bit k: backward reads x[k]; it must still be there. */
    unsigned reads;
    bool reads_y; /* backward reads y, the operator's own value */
    bool dx_over_addend, dx_over_dy, dx_over_x;
    bool keeps_over_x; /* forward may keep what backward needs in the place of
                          x[0], and backward dx: ls__instr.over_x */
    bool leaves_params; /* backward leaves out the gradients of parameters
                           where they are NULL, each for itself */
    ls__activation activation; /* which one it is; 0: another operator */
    int recurrent; /* which recurrent layer it is (op/recurrent_layer.h); 0:
                      another operator */
    int term; /* elementwise: its kind in formulas; 0: another operator */
    const char *onnx; /* the type of ONNX's operator that computes the same of
                         the same inputs, without attributes; NULL: more than
                         that is asked for */
    size_t of; /* bytes of the struct that node->of points to; 0: none */
    const ls__attribute *attributes; /* of that struct, ended by one without a
                                        name; or NULL */
    /* Check inputs and attributes, and set the node's shape. */
    int (*shape)(ls_node *node);
    /* Declare parameters and streams, all from inputs, shape and attributes.
     * The node, or NULL; a NULL function: there are none. */
    ls_node *(*declare)(ls_node *node);
    size_t made; /* bytes of the struct that ls__instr.made points to, zeros at
                    first; 0: none */
    /* Take a node that reads this one's value into its own epilogue, which then
     * puts out that node's value: true, and in made is how.  NULL: it takes
     * none. */
    bool (*folds)(const ls_node *node, void *made, const ls_node *reader);
    /* Say how its input or its parameter lies under its value, or a sum under
     * its input, so that a formula may do its work; false: it may not.  NULL:
     * never. */
    bool (*runs)(const ls_node *node, ls__runs *runs);
    /* May its value (k = LS__VALUE), or its input k, be numbers of bf16?  NULL:
     * no. */
    bool (*may_bf16)(const ls__instr *in, int k);
    /* Say how many rows it wants in a chunk; NULL: any will do. */
    void (*wish)(const ls_node *node, ls__wish *wish);
    /* Floats a row to keep from forward to backward; NULL: none.  All else is
     * decided but places. */
    int64_t (*stash)(const ls__bench *b, const ls__instr *in);
    /* Decide the rest, and ask for scratch, memory that stays and packed
     * weights.  LS_ENOMEM; NULL: there is nothing to decide. */
    int (*plan)(ls__bench *b, ls__instr *in);
    const ls__survey *survey; /* NULL: it never needs one */
    /* FLOP a row of forward's matrix products, two for each multiply-add;
     * backward takes as much again for each operand's gradient.  NULL: 0. */
    double (*flops)(const ls_node *node);
    /* Floats a row that it reads of its first parameter, whose rows it picks
     * by their indices, or, without parameters, of input 0.  NULL: of all it
     * reads all. */
    int64_t (*picks)(const ls_node *node);
    /* Floats a row that backward reads of what forwards kept; NULL: what its
     * own has kept. */
    int64_t (*reads_kept)(const ls__instr *in);
    /* What computes the same position by position, as a rule the operator
     * itself: node->positions is set then.  NULL: nothing does. */
    const ls__op *step;
    void (*forward)(const ls__run *r);
    /* A loss: forward and backward in one, dx[0] being that of its sum. */
    void (*backward)(const ls__run *r);
    /* Can rows be cut among workers?  Forward, and backward for the inputs, of
     * some rows of a chunk read and write what is of these rows alone, kept
     * floats too, and backward leaves out parameters and inputs whose gradients
     * are NULL.  The elements of each part are a multiple of this; 0: no. */
    int cuts;
    /* Can forward's columns be shared out where rows cannot be cut, or are too
     * few?  Then each of r->parts members computes its part of every row. */
    bool splits;
    /* Where rows can be cut: how many turns, not more than `most`, backward
     * takes for the gradients of its parameters, by ls__take_turn and
     * ls__end_turn, one for each part that depends on no other; it takes none
     * where all of them are NULL.  NULL: one, around all of backward, and the
     * executor sees to it. */
    unsigned (*turns)(const ls__instr *in, unsigned most);
};

/* Where a node has an attribute.  Whoever reads or writes one by its row does
 * so here. */
static inline void *ls__attribute_in(const ls_node *n, const ls__attribute *a)
{
    return (char *)n->of + a->offset;
}

/* Where a node has the attribute of that name; NULL: its operator has none. */
void *ls__attribute_named(const ls_node *n, const char *name);

/* Give a node that was copied attributes of its own, in an arena.  False: there
 * is no memory. */
bool ls__node_own(ls_node *n, ls__arena *arena);

/* An operator's kind of term; 0 where it is not elementwise. */
static inline int ls__term_of(const ls__op *op)
{
    return op->activation ? (int)op->activation : op->term;
}

/* The last axis of a node, and how many vectors of it a row holds; 1 and 1 for
 * a node of rank 0. */
int64_t ls__width(const ls_node *node);
int64_t ls__vectors(const ls_node *node);

/* LS_ESHAPE unless input k of the node has that dtype and a rank of at least
 * `rank`; the message shows what it has. */
int ls__want(const ls_node *node, int k, ls_dtype dtype, int rank);

/* Make *axis, an axis of input 0 that may be counted from the end (-1: the
 * last), one counted from the beginning; LS_ESHAPE when there is none. */
int ls__want_axis(const ls_node *node, int64_t *axis);

/* Indices in x must be below n: batches are checked against the least. */
static inline void ls__limit(ls_node *x, int64_t n)
{
    if (n < x->limit)
        x->limit = n;
}

/* LS_ESHAPE unless input k of the node is one length a row, of `steps` at
 * most; it is limited so. */
int ls__want_lengths(ls_node *node, int k, int64_t steps);

/* The shape of a loss, and of an operator whose value has the shape of its one
 * input. */
int ls__loss_shape(ls_node *node);
int ls__same_shape(ls_node *node);

/* That of an operator of two inputs, whose shapes must be equal. */
int ls__equal_shapes(ls_node *node);

/* Backward where inputs have no gradient, or dy, which the executor passes
 * on. */
void ls__nothing_back(const ls__run *r);

/* Wish for chunks whose vectors are as many as one product takes. */
void ls__wish_vectors(const ls_node *n, ls__wish *wish);

/* FLOP of a value of products over the width of input 0. */
double ls__flops_of_width(const ls_node *n);

/* Where each element of the value is one that is picked. */
int64_t ls__picks_value(const ls_node *n);

/* The key of the node's stream in this call of the model. */
static inline ls_key ls__draw_key(const ls__run *r)
{
    const ls__draw *d = &r->of->draw[r->node->stream];
    ls_key key = ls_key_fold_in(d->key, r->of->call);

    return d->hashed ? ls_key_fold_in(key, d->hash) : key;
}

#endif
