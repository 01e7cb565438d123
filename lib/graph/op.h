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
#include "base/marks.h"
#include "graph/graph.h"
#include "kernel/kernel.h"

/* A user's operator that failed, and how. */
typedef struct ls__failure {
    int status;          /* negative; 0: nothing failed */
    const ls_node *node;
} ls__failure;

/* Everything one run of an operator sees. */
typedef struct ls__run {
    const ls_node *node;
    int64_t rows;
    const void *x[LS__MAX_INPUTS]; /* values of the inputs */
    float *y;                      /* value of the node; NULL for a loss */
    float *stash;                  /* what forward keeps for backward */
    float *scratch;                /* dies with the call */
    float *cache;                  /* lives as long as the context */
    const float *param[LS__MAX_PARAMS];
    const float *packed[2];        /* products: the weights, and transposed */

    const float *dy;                     /* NULL for a loss */
    float *dx[LS__MAX_INPUTS];           /* NULL: not wanted */
    const float *addend[LS__MAX_INPUTS]; /* NULL: none */
    const float *slope_of_x;       /* products: dx[0] times these; or NULL */
    bool dy_is_pre;                /* products: dy went through ours already */
    bool x_words, y_words;         /* x[0], y is numbers of bf16, as c_words
                                      leaves them (kernel/product.h) */
    float *dparam[LS__MAX_PARAMS];
    bool add;                      /* dparam is added to: a later chunk */
    const ls__marks *marks;        /* bags: of the array that dparam[0] lies in;
                                      NULL: there are none */

    const float *weights;          /* losses: of the rows; NULL: all 1 */
    ls_sums *sums;                 /* losses: added to */
    ls__failure *failure;          /* own operators: set by the first */
    bool train;                    /* dropout: else values pass through */
    ls_key key;                    /* dropout: of this call of the model */
    int64_t first;                 /* the chunk's first row, counted in the
                                      micro-batch; step by step: its position */
    const struct ls__lot *lot;     /* bags: chunks are worked on in lots
                                      (op/lot.h); NULL: each by itself */
    float *lot_memory;             /* the lot's */
    int64_t before, left;          /* rows of the shard before the chunk, and
                                      from its first row on */
    const ls__backend *backend;
    const ls__kernel_table *kernels;
} ls__run;

struct ls__op {
    const char *name;
    int inputs;
    bool is_loss;
    bool is_own; /* the user's: it runs in their order, no file holds it */
    /* Bit k: indices below 0 in input k stand for nothing: no terms of a loss,
     * no elements of a bag. */
    unsigned ignores;
    unsigned finite; /* bit k: input k of the graph must hold finite numbers */
    bool is_product; /* a matrix product with its epilogue: the plan folds */
    bool may_transpose; /* its first parameter may be another's transpose */
    bool is_view;    /* y is x under another shape: the plan may share memory */
    /* Bit k: the gradient of input k is dy itself; the executor sees to it. */
    unsigned passes;
    /* Bit k: backward reads x[k]; it must still be there. */
    unsigned reads;
    bool reads_y; /* backward reads y, the operator's own value */
    bool dx_over_addend, dx_over_dy, dx_over_x;
    bool keeps_over_x; /* forward may keep what backward needs in the place of
                          x[0], and backward dx: node->over_x */
    bool leaves_params; /* backward leaves out the gradients of parameters
                           where they are NULL, which all are then */
    ls__activation activation; /* which one it is; 0: another operator */
    int recurrent; /* which recurrent layer it is, see op_recurrent.c; 0:
                      another operator */
    int term; /* elementwise: its kind in formulas; 0: another operator */
    size_t of; /* bytes of the struct that node->of points to; 0: none */
    const ls__attribute *attributes; /* of that struct, ended by one without a
                                        name; or NULL */
    /* Check inputs and attributes, and set the node's shape. */
    int (*shape)(ls_node *node);
    /* Declare parameters and streams, all from inputs, shape and attributes.
     * The node, or NULL; a NULL function: there are none. */
    ls_node *(*declare)(ls_node *node);
    /* Constants that it needs, in the arena; NULL: no memory.  A NULL function:
     * it needs none. */
    const float *(*table)(const ls_node *node, ls__arena *arena);
    /* Floats a row kept from forward to backward; NULL: none. */
    int64_t (*stash)(const ls_node *node);
    /* Floats of scratch a call on `rows` rows needs; NULL: none. */
    int64_t (*scratch)(const ls_node *node, int64_t rows,
                       const ls__backend *backend);
    /* FLOP a row of forward's matrix products, two for each multiply-add;
     * backward takes as much again for each operand's gradient.  NULL: 0. */
    double (*flops)(const ls_node *node);
    /* Floats a row that it reads of its first parameter, whose rows it picks
     * by their indices, or, without parameters, of input 0.  NULL: of all it
     * reads all. */
    int64_t (*picks)(const ls_node *node);
    /* Floats that stay in the context from run to run; NULL: none. */
    int64_t (*cache)(const ls_node *node);
    /* What computes the same position by position, as a rule the operator
     * itself: node->positions is set then.  NULL: nothing does. */
    const ls__op *step;
    void (*forward)(const ls__run *r);
    /* A loss: forward and backward in one, dx[0] being that of its sum. */
    void (*backward)(const ls__run *r);
};

/* Where a node has an attribute.  Whoever reads or writes one by its row does
 * so here. */
static inline void *ls__attribute_in(const ls_node *n, const ls__attribute *a)
{
    return (char *)n->of + a->offset;
}

/* Where a node has the attribute of that name; NULL: its operator has none. */
void *ls__attribute_named(const ls_node *n, const char *name);

/* The value of one, for those who know operators by their names: an integer (1
 * for a yes), a number, a list of sizes.  0 or NULL: the operator has none. */
int64_t ls__attribute_integer(const ls_node *n, const char *name);
double ls__attribute_number(const ls_node *n, const char *name);
const ls__extents *ls__attribute_sizes(const ls_node *n, const char *name);

/* Give a node that was copied attributes of its own, in an arena.  False: there
 * is no memory. */
bool ls__node_own(ls_node *n, ls__arena *arena);

/* An operator's kind of term; 0 where it is not elementwise. */
static inline int ls__term_of(const ls__op *op)
{
    return op->activation ? (int)op->activation : op->term;
}

/* Is a node a value of the operator that is called so? */
bool ls__is_op(const ls_node *node, const char *name);

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

/* The shape of an operator whose value has the shape of its one input. */
int ls__same_shape(ls_node *node);

/* That of an operator of two inputs, whose shapes must be equal. */
int ls__equal_shapes(ls_node *node);

#endif
