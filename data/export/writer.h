/* SPDX-License-Identifier: BSD-3-Clause */
/* A model on its way to C: what the files of this room share. */
#ifndef LS_EXPORT_WRITER_H
#define LS_EXPORT_WRITER_H

#include "file/file.h"
#include "export/net.h"

#include <lockstep/columns.h>
#include <stdio.h>

/* ------ Text (c_text.c) ------ */

/* Text that grows; where a file is open it goes there piece by piece. */
typedef struct ls__text {
    ls__aside file;
    bool to_file;
    int failed; /* the first failure, a status */
    char *bytes;
    size_t size, room;
} ls__text;

void ls__text_put(ls__text *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void ls__text_add(ls__text *t, const char *bytes, size_t n);

/* A float, and a double, so that a compiler reads back the same one. */
void ls__text_float(ls__text *t, float x);
void ls__text_double(ls__text *t, double x);

/* A string of C in its quotes: whatever it holds, it ends where it ends. */
void ls__text_string(ls__text *t, const char *text);

/* Text as an identifier goes on: letters, digits and _, 40 at most. */
enum { LS__NAME = 48 };
void ls__text_name(char out[LS__NAME], const char *text);

/* Write it all to the file, or free it. */
int ls__text_open(ls__text *t, const char *path);
int ls__text_finish(ls__text *t);
void ls__text_close(ls__text *t);

/* ------ A graph (c_graph.c) ------ */

/* A node, and where its value lies. */
typedef struct ls__cnode {
    const ls__net_node *of;
    int64_t size; /* floats a row */
    bool needed;
    int number;   /* of an input: which of them */
    int as;       /* the node whose memory its value has: itself, or what it
                     is a view of */
    int last;     /* the last node that reads that memory */
    int64_t at;   /* floats a row before it */
} ls__cnode;

typedef struct ls__writer {
    const char *path; /* of the model, for messages */
    char name[LS__NAME], upper[LS__NAME];
    char *header; /* its file */
    ls_archive *archive; /* the model's arrays and graph */
    ls_archive *file;    /* its file, for the notes */
    ls__net net;
    ls_coding *coding;   /* of a table; NULL: none */
    bool int8;
    int inputs, output;
    ls__cnode *node; /* [net.nodes] */
    int64_t rows_floats;   /* memory a row */
    int64_t floats;        /* and for any number of rows */
    ls__text calls, weights;
} ls__writer;

/* Read the graph of the archive: what the first output needs. */
int ls__cgraph_read(ls__writer *w);

/* Give each value its memory. */
void ls__cgraph_place(ls__writer *w);

/* The node of input k of a node, and the one that has its value's memory. */
const ls__cnode *ls__cin(const ls__writer *w, int node, int k);
int ls__cval(const ls__writer *w, int node, int k);

/* The next input from node i on; NULL: there is none.  And its argument. */
const ls__cnode *ls__cinput(const ls__writer *w, int i);
enum { LS__ARGUMENT = 16 };
const char *ls__cargument(const ls__writer *w, const ls__cnode *input,
                          char name[LS__ARGUMENT]);

/* ------ Operators (c_ops.c, c_layers.c) ------ */

/* A row of operators, whose names are words of `op`: written by a function, or
 * where elementwise by a formula of lanes alone, in which a and b are the
 * inputs, p and q the attributes that are named. */
typedef struct ls__crow {
    const char *op;
    int (*put)(ls__writer *w, int node);
    const char *value, *by[2];
} ls__crow;

extern const ls__crow ls__crow_layers[];
const ls__crow *ls__crow_of(const char *op);

/* Write the calls of a node.  LS_ENOTSUP names an operator that has no row. */
int ls__crow_put(ls__writer *w, int node);

/* Is its value its input, under another shape perhaps? */
bool ls__crow_is_view(const char *op);

/* Ask for at least n floats of room behind the values. */
void ls__cwant(ls__writer *w, int64_t n);

/* Write a line of the calls of a node: what it names is written before them.
 * Before the format is read, what stands in braces becomes
 *
 *     y, x, x1        the value of the node, of its input 0 or 1 ("n7")
 *     y@, x@, x1@     row i of it ("n7 + i * 12")
 *     a, a1           the argument that an input of indices is
 *     size, width, vectors, shape0
 *                     of the node; xsize, xwidth .. of its input 0
 *     epsilon         of a norm, a float
 *     heads           any other word: a number among the attributes */
void ls__call(ls__writer *w, int node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ------ Weights (c_weights.c) ------ */

/* Write an array `name`: its floats as they are. */
int ls__weights_plain(ls__writer *w, int entry, char name[LS__NAME]);

/* `count` groups of (k,n), b's rows and columns so far apart, as times() of
 * source_layers.h takes them; and how many floats of room it wants.  `name` is
 * what stands in a call. */
typedef struct ls__operand {
    int64_t count, next, k, n, row, col;
} ls__operand;
int ls__weights_layer(ls__writer *w, int entry, const ls__operand *of,
                      char name[LS__NAME]);
int64_t ls__times_room(const ls__writer *w, const ls__operand *of);

/* How many rows predict() takes at a time at most: whole tiles of products. */
enum { LS__ROWS = 18 };

/* Columns of a panel of packed weights, COLUMNS of source_layers.h, the last of
 * which may be half as wide; and n up to where it ends. */
enum { LS__PANEL = 32 };

static inline int64_t ls__panels(int64_t n)
{
    return (n + 15) / 16 * 16;
}

/* Rows of `width` numbers as embed() and bag() take them. */
int ls__weights_table(ls__writer *w, int entry, int64_t width,
                      char name[LS__NAME]);

/* An array of that many floats, made here. */
int ls__weights_made(ls__writer *w, const char *kind, int64_t n,
                     const float *x, char name[LS__NAME]);
/* The floats of an entry, to be freed; denormals are zeros. */
int ls__weights_read(ls__writer *w, int entry, float **x, int64_t *n);

/* ------ The rest ------ */

/* c_parts.c: what the calls name, and what that needs. */
int ls__parts_write(ls__writer *w, ls__text *to);

/* c_table.c: columns, classes and what predicts rows of a table. */
void ls__ctable_write(ls__writer *w, ls__text *c, ls__text *h);

#endif
