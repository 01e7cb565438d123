/* SPDX-License-Identifier: BSD-3-Clause */
/* What one number of a recorded step was made of, in the form that
 * referee/referee.c reads: evidence.c has the record's arrays at hand, and
 * evidence_rules.c knows which of them a rule wants. */
#ifndef LS_RECORD_EVIDENCE_H
#define LS_RECORD_EVIDENCE_H

#include "record/record_file.h"

#include <stdio.h>

/* An array or a number of the record, as words. */
typedef struct ls__kept {
    ls__where place; /* texts are its own line's */
    json_t *line;
    uint32_t *x;
    int64_t n;
} ls__kept;

/* A node, or a parameter. */
typedef struct ls__said {
    json_t *line;
    const char *name, *op, *shape;
    int64_t node, floats, at;
    int64_t passes;
    bool tied;
} ls__said;

typedef struct ls__evidence {
    json_t *head;
    ls__kept *kept;
    int64_t count, room;
    ls__said *node, *slot;
    int nodes, slots;
    const ls__kept *of; /* the array whose element it is */
    int64_t element;
    FILE *file;
    int status;
} ls__evidence;

/* ------ what rules ask for ------ */

/* An array of the same device, micro-batch and chunk; first NULL: of a chunk
 * that begins before it, the last such.  NULL: there is none. */
const ls__kept *ls__evidence_array(const ls__evidence *e, const char *phase,
                                   const char *what, int64_t node,
                                   int64_t index);
const ls__kept *ls__evidence_before(const ls__evidence *e, const char *what,
                                    int64_t node, int64_t index);

/* What all devices share; of a device; a number. */
const ls__kept *ls__evidence_whole(const ls__evidence *e, const char *phase,
                                   const char *what);
const ls__kept *ls__evidence_device(const ls__evidence *e, int64_t device);

const ls__said *ls__evidence_node(const ls__evidence *e, int64_t node);
/* Input k of a node, by its number, or -1; parameter k. */
int64_t ls__evidence_input(const ls__said *n, int k);
const ls__said *ls__evidence_param(const ls__evidence *e, const ls__said *n,
                                   int k);

/* The value of a node: NULL where the record has none.  Rows of an input are
 * those of the chunk. */
const uint32_t *ls__evidence_value(const ls__evidence *e, int64_t node);

/* The gradient of a node's value as far as the nodes above it gave one; NULL:
 * none did.  above = node: all did. */
const uint32_t *ls__evidence_gradient(const ls__evidence *e, int64_t node,
                                      int64_t above);

/* The last size in a shape, and all of them multiplied. */
int64_t ls__evidence_width(const char *shape);
int64_t ls__evidence_size(const char *shape);

/* An option of the trainer; NULL: it has none of that name. */
const char *ls__evidence_option(const ls__evidence *e, const char *name);

/* ------ what rules write ------ */

void ls__evidence_list(ls__evidence *e, const char *name, int64_t n,
                       const uint32_t *x, int64_t stride);
void ls__evidence_word(ls__evidence *e, const char *name, uint32_t x);

/* Begin with the name of the rule. */
void ls__evidence_rule(ls__evidence *e, const char *rule, uint32_t a,
                       uint32_t b);

/* ------ the rules ------ */

/* Write what the element is made of.  LS_ENOTSUP. */
int ls__evidence_make(ls__evidence *e, uint32_t a, uint32_t b);

#endif
