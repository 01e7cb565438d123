/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading an ONNX graph: nodes in their order, each by the row of its operator.
 * The files of this room share it. */
#ifndef LS_IMPORT_READER_H
#define LS_IMPORT_READER_H

#include "base/names.h"
#include "import/value.h"

#include <lockstep/onnx.h>

enum { LS__LAYER_NAME = 200 };

/* How a parameter lies in its tensor where its axes are not the tensor's, or
 * turned round: element i, cut into digits of these sizes, the last one first,
 * is at the sum of start and of each digit by its step; that of digit `table`
 * is first[digit]. */
typedef struct ls__lay {
    int digits, table; /* -1: none */
    int64_t size[5], step[5], first[4], start;
} ls__lay;

/* Numbers of the file that a parameter of the graph has. */
struct ls__weight {
    const char *name; /* the initializer's, or that of an Identity of it */
    const ls__om_tensor *tensor; /* NULL: they are constants: */
    const double *number;        /* of the tensor's shape */
    const char *param; /* its name in the graph; NULL: it has none yet */
    int rank;
    int64_t shape[LS_MAX_RANK]; /* of the parameter */
    int order[LS_MAX_RANK];     /* its axis k is the tensor's order[k]; -1: of
                                   one element, which the tensor lacks */
    ls_node *node;              /* where it is a node by itself */
    const ls__weight *of;       /* it lies in that one by `lay` */
    ls__lay lay;
    bool in_parts;              /* another one is `of` it */
};

/* A name of the graph that a program may build on. */
typedef struct ls__end {
    const char *name;
    ls_node *node;
} ls__end;

struct ls_onnx {
    ls__om om;
    ls__arena arena;
    ls__weight **weight;
    int weights, capacity;
    ls__end *end; /* inputs, then outputs */
    int ends;
    char **problem; /* what was refused, a line each */
    int problems;
    char *axes; /* by ls_onnx_axes */
};

typedef struct ls__reader {
    ls_onnx *file;
    const ls_onnx_options *options;
    ls_graph *graph;
    ls__names names; /* of values: index + 1 */
    ls__named *value;
    int values;
    ls__names layers; /* names that layers have */
    int *uses;        /* [value] how many nodes read it */
    bool *matters;    /* [value] a gradient may go through it */
    bool *layers_own; /* [value] a layer may have it as a parameter */
    bool *of_cell;    /* [value] a cell's gates are made of it */
    bool *done;       /* [node] another node's operator made it, too */
    int64_t rows;     /* of the file, where it has as many; or 0 */
    int64_t numbers;  /* that were computed so far */
    bool blind;       /* a mask has rows of -infinity alone */
    int node;         /* that is read now */
} ls__reader;

/* The value of a name, which is new or is there; NULL: no memory. */
ls__named *ls__read_value(ls__reader *r, const char *name);

/* Read an initializer, an input, an output; and numbers of a tensor. */
int ls__read_tensor(ls__reader *r, const ls__om_tensor *t);
int ls__read_input(ls__reader *r, const ls__om_value *in);
int ls__read_output(ls__reader *r, const ls__om_value *out);
int ls__read_numbers(ls__reader *r, const ls__om_tensor *t, ls__named *v);

/* Name all values, count who reads them, and mark what a gradient may reach. */
int ls__read_survey(ls__reader *r);

/* Forget what an earlier graph left. */
void ls__onnx_forget(ls_onnx *file);

/* The value of input or output k of a node.  An input: NULL where none is
 * given. */
ls__named *ls__read_in(ls__reader *r, const ls__om_node *n, int k);
ls__named *ls__read_out(ls__reader *r, const ls__om_node *n, int k);

/* Copy a value under the name of output 0; returns 1, as an operator does. */
int ls__read_put(ls__reader *r, const ls__om_node *n, const ls__named *v);

/* A copy of input k as a node's value. */
int ls__read_node_in(ls__reader *r, const ls__om_node *n, int k,
                     ls__named *v);

/* Make a value a node's: a parameter of an initializer, a constant of numbers,
 * which is called `name`. */
int ls__read_as_node(ls__reader *r, const char *name, ls__named *v);

/* Input k as integers: how many there are (`most` at most), a status where they
 * are not known. */
int ls__read_sizes(ls__reader *r, const ls__om_node *n, int k, int most,
                   int64_t *out);

/* The only number of input k, or `usual` where there is none. */
int ls__read_number(ls__reader *r, const ls__om_node *n, int k, double usual,
                    double *out);

/* An axis, which may be counted from the end, of a rank; a status.  The same of
 * a node's attribute. */
int ls__read_axis(int64_t axis, int rank);
int ls__read_axis_of(const ls__om_node *n, int64_t usual, int rank);

/* The refusal of what goes over them. */
int ls__over_rows(void);

/* An index, which may be counted from the end, of so many; a status. */
int64_t ls__read_index_of(double index, int64_t size);

/* ------ layers (initializers.c) ------ */

/* A name of its own for the layer with that weight ("fc.weight": "fc"), or of a
 * node. */
int ls__read_layer(ls__reader *r, const ls__om_node *n,
                   const ls__named *weight, char name[LS__LAYER_NAME]);

/* Say what the parameter "<layer>.<own>" of the layer that is built next has:
 * its axes, of that shape, are those of the value v in that order; NULL: the
 * constant `usual` everywhere. */
int ls__read_param(ls__reader *r, const char *layer, const char *own,
                   const ls__named *v, double usual, int rank,
                   const int64_t *shape, const int *order);

/* The same of numbers of an initializer, of that shape, which lie so there,
 * called like it, with `ending` if they are not all of it. */
int ls__read_laid(ls__reader *r, const char *layer, const char *own,
                  ls__weight *of, const char *ending, int rank,
                  const int64_t *shape, const ls__lay *lay);

/* A weight of the file's list; NULL: no memory. */
ls__weight *ls__weight_new(ls__reader *r);

/* Stores the values of a parameter. */
void ls__weight_fill(const ls__weight *w, float *out);

/* The place in the tensor of element i of the parameter. */
int64_t ls__weight_place(const ls__weight *w, int64_t i);

/* ------ numbers (fold.c) ------ */

/* Numbers of that shape, to be filled in. */
int ls__fold_new(ls__reader *r, ls__named *v, int rank, const int64_t *shape,
                 bool is_real);

/* Put numbers that strides made another value in order. */
int ls__fold_ordered(ls__reader *r, ls__named *v);

/* Compute a node whose inputs are all known: 1 where it was, 0 where it can't
 * be. */
int ls__fold(ls__reader *r, const ls__om_node *n);

/* ------ operators ------ */

/* How an operator is given input 0, of which it makes output 0. */
typedef enum ls__read_as {
    LS__AS_NODE, /* whatever it was */
    LS__MOVED,   /* the same, but numbers stay numbers, by their strides */
    LS__AS_IT_IS
} ls__read_as;

typedef struct ls__read_row {
    const char *op; /* or several, "Softmax LogSoftmax"; NULL: the last row */
    /* Makes v output 0; 1: it was put there, or elsewhere. */
    int (*read)(ls__reader *r, const ls__om_node *n, ls__named *v);
    ls__read_as as;
} ls__read_row;

/* The row that has the node's operator; NULL: none does. */
const ls__read_row *ls__read_row_in(const ls__read_row *rows,
                                    const ls__om_node *n);

/* That of an operator of kernel/terms.h. */
const ls__read_row *ls__read_term(const char *op);

/* Make both nodes of one shape, as operators of two elements want them: then
 * they differ by their nodes alone.  Numbers are called like the node's
 * inputs. */
int ls__read_alike(ls__reader *r, const ls__om_node *n, ls__named *a,
                   ls__named *b);

/* Make a the sum of both. */
int ls__read_add(ls__reader *r, const ls__om_node *n, ls__named *a,
                 ls__named *b);

/* A bound of a slice, which may be counted from the end; behind it, in steps
 * back, lies -1. */
int64_t ls__read_bound(int64_t at, int64_t size, bool back);

/* x[.., first:first+count, ..] along an axis of a node's value. */
int ls__read_part(ls__named *v, int axis, int64_t first, int64_t count);

/* Join values along an axis, laid as v[main] is, which they become. */
int ls__read_join(ls__reader *r, int count, ls__named *v, int main, int axis);

/* Is it a constant, or an initializer of one number, which is none to train: so
 * exporters write factors?  Stores it. */
bool ls__only_number(const ls__named *v, double *x);

/* The node behind node `from` that alone reads a value, and has one output; the
 * node that makes it; -1: there is none. */
int ls__read_reader(ls__reader *r, const ls__named *y, int from);
int ls__read_maker(ls__reader *r, const ls__named *y);

/* The Where behind node `from` that is 0 where `is`, IsNaN(x), and else x; -1:
 * there is none. */
int ls__read_no_nan(ls__reader *r, const ls__named *x, const ls__named *is,
                    int from);

/* The number by which x is multiplied, or divided, to be y; 1 and y itself:
 * there is none. */
double ls__read_factor(ls__reader *r, const ls__named *y, const ls__named **x);

/* Make an attention that is written out, of which this node is the mask or the
 * softmax, one operator: 1 where it was, 0 where it is none. */
int ls__read_written_attention(ls__reader *r, const ls__om_node *n);

/* A comparison of data, and IsNaN. */
int ls__read_compare(ls__reader *r, const ls__om_node *n, ls__named *v);

/* Make a value whether it is not 0. */
int ls__read_truth_of(ls__reader *r, const ls__om_node *n, ls__named *v);

/* Are they known, and all 0? */
bool ls__is_zero(const ls__named *v);

/* Remember that a node repeats these numbers. */
int ls__read_known(ls__reader *r, ls__named *v, const ls__named *numbers);

/* Compute what an operator of single elements makes of numbers, of which some
 * are repeated in every row: 1 where it was, 0 where they are none. */
int ls__fold_repeated(ls__reader *r, const ls__om_node *n);

/* What a cell's gates are made of, a part of initializers or several together,
 * is those rows and no node: 1 where output 0 is that, else 0. */
int ls__read_pieces(ls__reader *r, const ls__om_node *n);

extern const ls__read_row ls__read_plain[], ls__read_shapes[],
    ls__read_parts[], ls__read_layers[], ls__read_windows[],
    ls__read_cells[], ls__read_more[], ls__read_index[], ls__read_patterns[],
    ls__read_heads[], ls__read_truths[];

#endif
