/* SPDX-License-Identifier: BSD-3-Clause */
/* --text-columns: what becomes of a table's columns of text before the first
 * layer of mlp.  Each is a 1 among zeros in the input; embedded, it becomes the
 * row of a table of its own that stands for its word. */
#ifndef TOOLS_EMBED_H
#define TOOLS_EMBED_H

#include <lockstep.h>
#include <lockstep/columns.h>

/* The value of --text-columns. */
typedef struct embedding {
    bool is;       /* "embed" and "embed:WIDTH"; else "onehot" */
    int64_t width; /* of each column; 0: by its words */
} embedding;

/* OPT_GO, or OPT_WRONG after a message. */
int embed_read(const char *text, embedding *e);

/* Has the table a column of text at all?  OPT_FAILED after a message that names
 * the path. */
int embed_check(const ls_coding *c, const char *path);

/* The inputs of a coding, x (ls_coding_width), with the columns of text
 * embedded, in the columns' order.  Text column i has the parameter
 * "embed.<i>.kernel", (words, width), which starts as that of ls_embed does; no
 * word, all zeros, is zeros. */
ls_node *embed_words(ls_graph *g, ls_node *x, const ls_coding *c,
                     const embedding *e);

#endif
