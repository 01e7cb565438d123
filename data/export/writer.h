/* SPDX-License-Identifier: BSD-3-Clause */
/* A model on its way to C: what the files of this room share. */
#ifndef LS_EXPORT_WRITER_H
#define LS_EXPORT_WRITER_H

#include "export/bytes.h"
#include "export/net.h"

#include <lockstep/columns.h>
#include <stdio.h>

/* ------ Text (c_text.c) ------ */

typedef ls__bytes ls__text;

void ls__text_put(ls__text *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A number, a constant with that end, so that a compiler reads back the same
 * one. */
void ls__text_number(ls__text *t, double x, const char *end);

/* A string of C in its quotes: whatever it holds, it ends where it ends. */
void ls__text_string(ls__text *t, const char *text);

/* Text as an identifier goes on: letters, digits and _, 40 at most. */
#define LS__LETTERS "abcdefghijklmnopqrstuvwxyz" \
                    "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"
enum { LS__NAME = 48 };
void ls__text_name(char out[LS__NAME], const char *text);

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
    int arrays;            /* that have a name */
    ls__text calls, weights;
    int status; /* the first failure; later calls then do nothing */
} ls__writer;

/* Read the graph of the archive: what the first output needs. */
int ls__cgraph_read(ls__writer *w);

/* Give each value its memory. */
void ls__cgraph_place(ls__writer *w);

/* The next input from node i on; NULL: there is none. */
const ls__cnode *ls__cinput(const ls__writer *w, int i);
#define EACH_INPUT(w, in) \
    for (const ls__cnode *in = ls__cinput(w, 0); in; \
         in = ls__cinput(w, in->of->id + 1))

/* ------ Templates (c_fill.c) ------ */

/* Write a template.  What stands between << and >> is written for each input of
 * the model; words in braces become
 *
 *     name, NAME      the prefix of functions, and of macros
 *     argument, type, INPUTS, note
 *                     of a node that is an input: what it is to predict(), the
 *                     macro of its size, a comment of what the model calls it
 *     y, x, x1        the value of the node, of its input 0 or 1 ("n7")
 *     y@, x@, x1@     row i of it ("n7 + i * 12")
 *     a, a1           the argument that an input of indices is
 *     p0, t0          an array of parameter 0, or a table of it; 0: it lacks it
 *     v0              a template that comes with the text
 *     epsilon         of a norm, a float
 *     2*size+width    a number: of numbers, of i0 .., which come with the text,
 *                     ROWS (at a time), and of the node its size, width, height
 *                     (the last extents), vectors, panels, shape0 .., kh, kw,
 *                     sy, sx, dy, dx, top, left (of its window), and
 *                     attributes (groups=1: 1 if there is none); xsize, x1size
 *                     .. are its inputs' */
void ls__cfill(ls__writer *w, ls__text *to, int node, const char *text,
               const char *const *v, const int64_t *i);

/* The same as lines of the calls of a node; and a number alone. */
void ls__call(ls__writer *w, int node, const char *text, const char *const *v,
              const int64_t *i);
int64_t ls__cnumber(ls__writer *w, int node, const char *text);

/* ------ Operators (c_ops.c, c_layers.c) ------ */

/* A row of operators, whose names are words of `op`: written by a function, or
 * by a template, or where elementwise by a formula of lanes alone, in which a
 * and b are the inputs, p and q the attributes that are named. */
typedef struct ls__crow {
    const char *op;
    void (*put)(ls__writer *w, int node);
    const char *text, *room; /* floats that it wants in t */
    const char *value, *by[2];
    bool is_view; /* its value is its input, under another shape perhaps */
} ls__crow;

extern const ls__crow ls__crow_layers[];
const ls__crow *ls__crow_of(const char *op);

/* Write the calls of a node.  LS_ENOTSUP names an operator that has no row. */
void ls__crow_put(ls__writer *w, int node);

/* Ask for at least n floats of room behind the values. */
void ls__cwant(ls__writer *w, int64_t n);

/* ------ Weights (c_weights.c) ------ */

/* Write an array: floats of a parameter as they are, or n that are made here
 * (NULL: none).  Returns its name. */
const char *ls__weights_plain(ls__writer *w, const ls__net_param *p);
const char *ls__weights_made(ls__writer *w, const char *kind, int64_t n,
                             const float *x);

/* `count` groups of (k,n), b's rows and columns so far apart, as times() of
 * source_layers.h takes them; and how many floats of room it wants. */
typedef struct ls__operand {
    int64_t count, next, k, n, row, col;
} ls__operand;
const char *ls__weights_layer(ls__writer *w, const ls__net_param *p,
                              const ls__operand *of);
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
const char *ls__weights_table(ls__writer *w, const ls__net_param *p,
                              int64_t width);

/* The floats of a parameter, to be freed; denormals are zeros. */
float *ls__weights_read(ls__writer *w, const ls__net_param *p);

/* ------ The rest ------ */

/* c_parts.c: what the calls name, and what that needs. */
int ls__parts_write(ls__writer *w, ls__text *to);

/* c_table.c: columns, classes and what predicts rows of a table, declared for
 * the header and written.  Nothing of a model of none. */
void ls__ctable_declare(ls__writer *w, ls__text *h);
void ls__ctable_write(ls__writer *w, ls__text *c);

#endif
