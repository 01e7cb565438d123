/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators.  Each is one struct, with forward and backward in one file
 * lib/op/op_*.c; lib/op/op_table.c lists them.
 *
 * Operators run on a chunk of one device's shard: `rows` rows at a time.  The
 * gradient of an input may have to be added to another consumer's, the addend:
 * dx = addend + contribution.  dx may be the memory of its addend, of dy or of
 * x where the operator's struct says so. */
#ifndef LS_GRAPH_OP_H
#define LS_GRAPH_OP_H

#include "base/assert.h"
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

/* The source of a stream's keys: call c of the model uses fold_in(key, c), and
 * where hashed, that folded with hash. */
typedef struct ls__draw {
    ls_key key;
    uint32_t hash;
    bool hashed;
} ls__draw;

/* Numbers that a run has made, right after they were written: n of an array of
 * `of`, from `at` on. */
typedef struct ls__seen {
    const ls_node *node; /* that wrote it */
    bool backward;
    const char *what;    /* "y", "kept", "dx", "dparam", or what the operator
                            calls what it keeps to itself */
    int index;           /* of the input or the parameter; or 0 */
    int64_t first, rows; /* of the shard: the chunk */
    const float *values;
    int64_t at, n, of;
} ls__seen;

/* An observer, which is shown what operators make (plan/record.h).  It is no
 * step hook (train/hook.h), which is called between operators and may change a
 * step: it sees inside of them, in a recorded run alone. */
typedef struct ls__observer {
    void (*saw)(void *user, const ls__seen *seen);
    void *user;
} ls__observer;

/* The turns of a chunk among others of its shard that are at work: a sum that
 * goes on from chunk to chunk, such as a part of a parameter's gradient, is
 * added to between wait and pass, after the chunk before and before the next.
 * wait: false if another member takes this turn, which is over then. */
typedef struct ls__turns ls__turns;
struct ls__turns {
    bool (*wait)(ls__turns *turns);
    void (*pass)(ls__turns *turns);
    unsigned most; /* that one operator should take */
};

/* Common arguments of all operators that run on a chunk of rows. */
typedef struct ls__chunk {
    float *memory;          /* base of places */
    float *stays;           /* memory of operators that stays from run to run;
                               NULL: none */
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
    ls__ahead *ahead;       /* of the next chunk; NULL: nothing is used soon */
    const ls__observer *observer; /* NULL in every run but a recorded one */
    ls__turns *turns;       /* NULL: the shard's chunks follow each other */
} ls__chunk;

/* Arguments of one run of an operator. */
typedef struct ls__run {
    const ls_node *node;
    const ls__instr *in;
    const ls__chunk *of;
    int64_t rows;
    const void *x[LS__MAX_INPUTS]; /* values of the inputs */
    float *y;                      /* value of the node; NULL for a loss */
    float *stash;                  /* kept by forward for backward */
    float *scratch;                /* dies with the call */
    ls__batch_norm lent;           /* x[0] is to go through it, rows and x are
                                      the reader's to set; n is 0: through
                                      none */
    const float *param[LS__MAX_PARAMS];
    const float *dy;                     /* NULL for a loss */
    float *dx[LS__MAX_INPUTS];           /* NULL: not wanted */
    const float *addend[LS__MAX_INPUTS]; /* NULL: none */
    float *dparam[LS__MAX_PARAMS];
    bool add;                      /* dparam is added to: a later chunk */
    double *found[2];              /* findings of surveys of this device's rows,
                                      forward and backward; NULL: no surveys */
    const double *all[2];          /* the same of all rows that count */
    int part, parts;               /* of columns shared out (`splits`) */
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
    const ls__observer *to = r->of->observer;

    if (to)
        to->saw(to->user, &(ls__seen){.node = r->node, .what = what,
                                      .values = values, .at = at, .n = n,
                                      .of = of});
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

/* Findings of a survey after each block of rows, as they are shown: doubles. */
#define LS__STATISTICS "statistics"

/* A survey: an operator that trains by all rows (batch norm) looks at every
 * chunk before it runs on the first, forward and backward (back). */
typedef struct ls__survey {
    /* The number of doubles it finds; 0 forward: this node needs no survey. */
    int64_t (*size)(const ls_node *node, bool back);
    /* Do all devices' rows count, in the tree's order?  Else a device's own. */
    bool (*of_all)(const ls_node *node);
    /* Add what there is in a chunk to r->found[back], which was zeros. */
    void (*look)(const ls__run *r, bool back);
    /* Add what was found in other rows. */
    void (*join)(const ls_node *node, bool back, double *to,
                 const double *from);
    /* Update the stored parameters (running statistics) by what all rows have,
     * forward: their values, one after the other. */
    void (*learn)(const ls_node *node, const double *all, double *stored);
} ls__survey;

/* The value is the input, copied where the plan shares no memory. */
void ls__view_forward(const ls__run *r);

/* Memory that dx may overwrite: its numbers are no longer needed. */
enum {
    LS__OVER_ADDEND = 1,
    LS__OVER_DY = 2,
    LS__OVER_X = 4,     /* x[0], that of its input */
    LS__KEPT_OVER_X = 8 /* as well as what forward keeps for backward:
                           ls__instr.over_x */
};

/* Members for planning. */
typedef struct ls__op_plan {
    unsigned reads; /* bit k: backward reads x[k]; it must still be there */
    bool reads_y;   /* backward reads y, the operator's own value */
    /* Bit k: the gradient of input k is dy itself; the executor sees to it. */
    unsigned passes;
    unsigned over;  /* LS__OVER_ADDEND .. */
    size_t made;    /* bytes of the struct that ls__instr.made points to, zeros
                       at first; 0: none */
    /* Fuse a node that reads this one's value into this one's epilogue, which
     * then puts out that node's value: true, and made says how.  NULL: none. */
    bool (*folds)(const ls_node *node, void *made, const ls_node *reader);
    /* Say how its input or its parameter is broadcast to its value, or its sum
     * to its input, so that a formula may do its work; false: it may not.
     * NULL: never. */
    bool (*runs)(const ls_node *node, ls__runs *runs);
    /* May its value (k = LS__VALUE), or its input k, be numbers of bf16?  NULL:
     * no. */
    bool (*may_bf16)(const ls__instr *in, int k);
    /* Say the rows that it wants in a chunk; NULL: any will do. */
    void (*wish)(const ls_node *node, ls__wish *wish);
    /* Floats a row to keep from forward to backward; NULL: none.  All else is
     * decided but places. */
    int64_t (*stash)(const ls__bench *b, const ls__instr *in);
    /* Decide the rest, and ask for scratch, memory that stays and packed
     * weights.  LS_ENOMEM; NULL: there is nothing to decide. */
    int (*decide)(ls__bench *b, ls__instr *in);
} ls__op_plan;

/* Members for running, and the cost of it. */
typedef struct ls__op_run {
    /* ls__view_forward: y is x under another shape, and the plan may share
     * memory. */
    void (*forward)(const ls__run *r);
    /* A loss: forward and backward in one, dx[0] being that of its sum. */
    void (*backward)(const ls__run *r);
    /* Can rows be cut among workers?  Then forward, and backward for the
     * inputs, of some rows read and write these rows alone, kept floats too;
     * and backward leaves out parameters and inputs whose gradients are NULL.
     * The elements of each part are a multiple of this; 0: no. */
    int cuts;
    bool leaves_params; /* backward leaves out the gradients of parameters
                           where they are NULL, each for itself */
    /* FLOP a row of forward's matrix products, two for each multiply-add;
     * backward takes as much again for each operand's gradient.  NULL: 0. */
    double (*flops)(const ls_node *node);
    /* Floats a row that it reads (gathers) of its first parameter, by indices
     * of rows, or, without parameters, of input 0.  NULL: it reads all of
     * all. */
    int64_t (*picks)(const ls_node *node);
} ls__op_run;

/* Members for files, beside its name. */
typedef struct ls__op_file {
    const ls__attribute *attributes; /* of ls__op.of, ended by one without a
                                        name; or NULL */
} ls__op_file;

/* Members of one or two operators, and of no others. */
typedef struct ls__op_rare {
    /* Of one input: its value need not be written where all its readers can
     * make it of that, and where its input is theirs, by what this says.  room:
     * ls__lent_room floats, which a reader asks for.  And can it be such a
     * reader, of input 0? */
    ls__batch_norm (*lends)(const ls__run *r, float *room);
    bool borrows;
    bool is_own; /* the user's: it runs in their order, no file holds it */
    unsigned finite; /* bit k: input k of the graph must hold finite numbers */
    bool may_transpose; /* its first parameter may be another's transpose */
    /* Can forward's columns be shared out where rows cannot be cut, or are too
     * few?  Then each of r->parts members computes its part of every row. */
    bool splits;
    /* The turns, at most `most`, that backward takes for the gradients of its
     * parameters where rows can be cut, by ls__take_turn and ls__end_turn: one
     * for each part that depends on no other; none where all of them are NULL.
     * NULL: one, around all of backward, and the executor sees to it. */
    unsigned (*turns)(const ls__instr *in, unsigned most);
    /* Floats a row that backward reads of what forwards kept; NULL: what its
     * own has kept. */
    int64_t (*reads_kept)(const ls__instr *in);
    const ls__survey *survey; /* NULL: it never needs one */
} ls__op_rare;

#define LS__RARE(...) &(const ls__op_rare){__VA_ARGS__}

/* An operator.  A function that is NULL has nothing to do, or to say. */
struct ls__op {
    const char *name;
    int inputs;
    bool is_loss;
    /* Bit k: indices below 0 in input k stand for nothing: no terms of a loss,
     * no elements of a bag. */
    unsigned ignores;
    int term; /* elementwise: its kind in formulas, which is an activation or
                 one of kernel/terms.h; 0: another operator */
    size_t of; /* bytes of the struct that node->of points to, its attributes;
                  0: none */
    /* Check inputs and attributes, and set the node's shape. */
    int (*shape)(ls_node *node);
    /* Declare parameters and streams, all from inputs, shape and attributes.
     * The node, or NULL; a NULL function: there are none. */
    ls_node *(*declare)(ls_node *node);
    /* The operator that computes the same position by position, as a rule
     * itself: node->positions is set then.  NULL: none does. */
    const ls__op *step;
    ls__op_plan plan;
    ls__op_run run;
    ls__op_file file;
    const ls__op_rare *rare; /* NULL: it has nothing of that */
};

/* The place of an attribute in a node, for all who read or write one by its
 * row. */
static inline void *ls__attribute_in(const ls_node *n, const ls__attribute *a)
{
    LS__ASSERT(n->of && a->offset < n->op->of);
    return (char *)n->of + a->offset;
}

/* The place of the attribute of that name; NULL: its operator has none. */
void *ls__attribute_named(const ls_node *n, const char *name);

/* Give a node that was copied attributes of its own, in an arena.  False: there
 * is no memory. */
bool ls__node_own(ls_node *n, ls__arena *arena);

/* The activation that an operator is; 0: none. */
static inline ls__activation ls__activation_of(const ls__op *op)
{
    return op->term < LS__ACTIVATIONS ? (ls__activation)op->term
                                      : LS__NO_ACTIVATION;
}

static inline bool ls__is_own(const ls__op *op)
{
    return op->rare && op->rare->is_own;
}

static inline bool ls__splits(const ls__op *op)
{
    return op->rare && op->rare->splits;
}

static inline bool ls__takes_turns(const ls__op *op)
{
    return op->rare && op->rare->turns;
}

static inline const ls__survey *ls__survey_of(const ls__op *op)
{
    return op->rare ? op->rare->survey : NULL;
}

/* Is y the same numbers as x, under another shape? */
static inline bool ls__is_view(const ls__op *op)
{
    return op->run.forward == ls__view_forward;
}

/* The last axis of a node, and how many vectors of it a row holds; 1 and 1 for
 * a node of rank 0. */
int64_t ls__width(const ls_node *node);
int64_t ls__vectors(const ls_node *node);

/* Floats by which a reader goes of what a node lends. */
static inline int64_t ls__lent_room(const ls_node *n)
{
    return 3 * ((ls__width(n) + 15) / 16 * 16);
}

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

/* LS_ESHAPE unless input k of the node is one length a row; it is limited to
 * `steps`. */
int ls__want_lengths(ls_node *node, int k, int64_t steps);

/* The shape of a loss, and of an operator whose value has the shape of its one
 * input. */
int ls__loss_shape(ls_node *node);
int ls__same_shape(ls_node *node);

/* The shape of an operator of two inputs, whose shapes must be equal. */
int ls__equal_shapes(ls_node *node);

/* Backward where inputs have no gradient, or dy, which the executor passes
 * on. */
void ls__nothing_back(const ls__run *r);

/* Wish for chunks whose vectors are as many as one product takes. */
void ls__wish_vectors(const ls_node *n, ls__wish *wish);

/* FLOP of a value of products over the width of input 0. */
double ls__flops_of_width(const ls_node *n);

/* The size of a value made of picked (gathered) elements alone. */
int64_t ls__picks_value(const ls_node *n);

/* The key of the node's stream in this call of the model. */
static inline ls_key ls__draw_key(const ls__run *r)
{
    LS__ASSERT(r->node->stream >= 0);

    const ls__draw *d = &r->of->draw[r->node->stream];
    ls_key key = ls_key_fold_in(d->key, r->of->call);

    return d->hashed ? ls_key_fold_in(key, d->hash) : key;
}

#endif
