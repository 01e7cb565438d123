/* SPDX-License-Identifier: BSD-3-Clause */
/* Values cut into heads: what attention and rotary positions share. */
#ifndef LS_IMPORT_HEADS_H
#define LS_IMPORT_HEADS_H

#include "import/reader.h"

/* Masked scores are as low as that, or lower. */
#define LS__FAR (-1e30)

/* What an attention is made of: (rows,heads,T,d) each, keys and values of fewer
 * heads. */
typedef struct ls__attention_parts {
    ls__named q, k, v;
    double scale;
    bool causal;
} ls__attention_parts;

/* May the engine's operator do it?  Make y what that puts out. */
bool ls__attention_is_own(const ls__attention_parts *a);
int ls__attend(ls__attention_parts *a, ls__named *y);

/* (rows,heads,T,d) as the node (T,heads d); and a node of that as y. */
ls_node *ls__heads_beside(ls__named *v);
int ls__heads_apart(ls_node *x, const int64_t *shape, ls__named *y);

/* Input k of a node as (rows,heads,T,d), which may be (rows,T,heads d); and y
 * as input 0 is. */
int ls__heads_in(ls__reader *r, const ls__om_node *n, int k, int64_t heads,
                 ls__named *v);
int ls__heads_out(ls__reader *r, const ls__om_node *n, ls__named *y);

/* Numbers that are known, or that a node repeats; else NULL. */
const ls__named *ls__numbers_of(const ls__named *v);

/* Does a mask of T by T show a position itself and those before?  It is added,
 * or where it is `hidden` (1 or 0) it hides. */
bool ls__is_causal(const ls__named *mask, int64_t t, int hidden);

int ls__read_rotary(ls__reader *r, const ls__om_node *n, ls__named *v);

#endif
