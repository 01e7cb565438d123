/* SPDX-License-Identifier: BSD-3-Clause */
/* What one number of a recorded step was made of, in the form that
 * referee/referee.c reads: evidence_read.c takes the record's arrays in,
 * evidence.c finds them, evidence_rules.c and the files that it names know
 * which of them a rule wants, and evidence_write.c writes them down with proofs
 * that they are the record's. */
#ifndef LS_RECORD_EVIDENCE_H
#define LS_RECORD_EVIDENCE_H

#include "record/record_read.h"

#include <stdio.h>

/* An array or a number of the record, as words. */
typedef struct ls__kept {
    ls__where place; /* texts are its own line's */
    json_t *line;
    uint32_t *x;
    int64_t n;
    bool is_number; /* of one word, or a double's two */
    int64_t number; /* in evidence, from 1; 0: it is not there */
} ls__kept;

/* A node, or a parameter. */
typedef struct ls__said {
    json_t *line;
    const char *name, *op, *shape;
    int64_t node, floats, at;
    int64_t passes;
} ls__said;

/* A number of the evidence that stands in the record. */
typedef struct ls__opened {
    int64_t kept; /* which array; -1: it stands in none */
    int64_t at;
} ls__opened;

typedef struct ls__evidence {
    json_t *head;
    ls__kept *kept;
    int64_t count, room;
    ls__said *node, *slot;
    int nodes, slots;
    const ls__kept *of; /* the array whose element it is */
    int64_t element;
    FILE *file;
    char list[16];           /* the one that is being written */
    ls__opened *opened;      /* all numbers so far */
    int64_t all, begun, most; /* how many; where the list begins; room */
    int64_t last;            /* the array that was read last */
    int64_t sources;         /* arrays that lists are of */
    int walks;               /* how often a gradient was looked for */
    int status;              /* of the first failure to write */
} ls__evidence;

/* ------ what rules ask for ------ */

/* An array of the same device, micro-batch and chunk.  NULL: there is none. */
const ls__kept *ls__evidence_array(const ls__evidence *e, const char *phase,
                                   const char *what, int64_t node,
                                   int64_t index);

/* The sum of a parameter's gradient as it was before `until`, in that
 * micro-batch of the device.  NULL: it had not begun. */
const ls__kept *ls__evidence_before(const ls__evidence *e,
                                    const ls__kept *until, int64_t micro,
                                    const char *name);

/* What a shard is given: an input, or the weights of its rows. */
const ls__kept *ls__evidence_rows(const ls__evidence *e, const char *what);

/* What all devices share; of a device; a number. */
const ls__kept *ls__evidence_whole(const ls__evidence *e, const char *phase,
                                   const char *what);
const ls__kept *ls__evidence_device(const ls__evidence *e, const char *what,
                                    int64_t device);

const ls__said *ls__evidence_node(const ls__evidence *e, int64_t node);
/* Input k of a node, by its number, or -1; parameter k. */
int64_t ls__evidence_input(const ls__said *n, int k);
const ls__said *ls__evidence_param(const ls__evidence *e, const ls__said *n,
                                   int k);

/* The parameter that a float of the layout is of; NULL: it lies between
 * them. */
const ls__said *ls__evidence_slot(const ls__evidence *e, int64_t at);

/* The value of a node: NULL where the record has none.  Rows of an input are
 * those of the chunk. */
const uint32_t *ls__evidence_value(const ls__evidence *e, int64_t node);

/* The gradient of a node's value, as large as that, as far as the nodes above
 * it gave one; NULL: none did.  above = node: all did. */
const uint32_t *ls__evidence_gradient(ls__evidence *e, int64_t node,
                                      int64_t above);

/* The last size in a shape, and all of them multiplied. */
int64_t ls__evidence_width(const char *shape);
int64_t ls__evidence_size(const char *shape);

/* Has an array rows of that size, and so many? */
static inline bool ls__evidence_has(const ls__kept *k, int64_t rows,
                                    int64_t size)
{
    return size > 0 && k->n % size == 0 && k->n / size == rows;
}

/* The sizes in it, and how many there are. */
int ls__evidence_axes(const char *shape, int64_t size[LS_MAX_RANK]);

/* An attribute of a node as the record has it; NULL: it has none. */
const char *ls__evidence_of(const ls__said *n, const char *name);

/* An option of the trainer; NULL: it has none of that name. */
const char *ls__evidence_option(const ls__evidence *e, const char *name);

/* ------ what rules write ------ */

enum { LS__EVIDENCE_MOST = 1 << 20 }; /* bytes that it may have */

/* Begin with the name of the rule. */
void ls__evidence_rule(ls__evidence *e, const char *rule, uint32_t a,
                       uint32_t b);

/* A list: begin it, add a number of the record or one that is none of its, and
 * end it.  A number that would stand outside of the record's arrays is not
 * read; the record is refused then (LS_EFORMAT). */
void ls__evidence_begin(ls__evidence *e, const char *name);
void ls__evidence_take(ls__evidence *e, const uint32_t *x);
void ls__evidence_say(ls__evidence *e, uint32_t x);
void ls__evidence_end(ls__evidence *e);

/* A list of n numbers of the record, `stride` apart; of one; of one that is
 * none of its. */
void ls__evidence_list(ls__evidence *e, const char *name, int64_t n,
                       const uint32_t *x, int64_t stride);
void ls__evidence_number(ls__evidence *e, const char *name, const uint32_t *x);
void ls__evidence_word(ls__evidence *e, const char *name, uint32_t x);

/* A list of the two words of a double that is none of the record's; the same
 * within a list. */
void ls__evidence_real(ls__evidence *e, const char *name, double x);
void ls__evidence_say_real(ls__evidence *e, double x);

/* Write, after all lists, which arrays they are of, and the proofs. */
int ls__evidence_open(ls__evidence *e);

/* ------ the record ------ */

/* Read what is up to a place; nothing after it can be part of it. */
int ls__evidence_read(ls__evidence *e, const char *path, const char *place);
void ls__evidence_free(ls__evidence *e);

/* ------ the rules ------ */

/* Write what the element is made of.  LS_ENOTSUP. */
int ls__evidence_make(ls__evidence *e, uint32_t a, uint32_t b);

#endif
