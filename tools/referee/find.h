/* SPDX-License-Identifier: BSD-3-Clause */
/* Operands of an element of a recorded step, found in both records: the graph
 * alone tells where a number stands. */
#ifndef REFEREE_FIND_H
#define REFEREE_FIND_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* ------ records ------ */

/* A word's place: its offset in the file / 4, the same in both records; 0:
 * nowhere. */
typedef int64_t place;

/* The word there.  Both records must have it, under its leaf's hash; where they
 * do not agree, or it stands in no array before the element, the verdict is
 * made, and this does not return. */
uint32_t word(place p);

/* Those of n words, `stride` apart; room for n words, zeros.  Both live until
 * the element is judged. */
uint32_t *words(place x, int64_t n, int64_t stride);
uint32_t *room_for(int64_t n);

/* Steps of work, which a hostile record could ask for without end: the referee
 * gives up at so many for one element. */
void spend(int64_t steps);

/* An array of the records, in their order. */
typedef struct array {
    const char *phase, *what, *name, *op, *shape;
    int64_t device, micro, node, index, first, rows;
    place x;
    int64_t n;    /* words */
    int kind;     /* 0 floats, 1 integers, 2 doubles, the high word first */
} array;

/* Arrays before the element's and that one, which is the last. */
extern const array *arrays, *of;
extern int64_t array_count, element;

/* A node, or a parameter. */
typedef struct said {
    const char *name, *op, *shape;
    int64_t node, passes; /* of a node; the inputs that take its gradient as it
                             is, a bit each */
    int64_t floats, at;   /* of a parameter */
    const struct json *line; /* of a node, in the graph */
} said;

extern const said *nodes, *slots;
extern int node_count, slot_count;

/* Of the head. */
int64_t devices_of_step(void), micro_of_step(void);
int64_t number_of_step(void), batches_before(void); /* updates; batches */

enum {
    ONE = 0x3f800000,
    ATTRIBUTE = 1 << 30, /* the largest number that a graph says of a node, and
                            the most words of an array of its */
    LEAF_WORDS = 4096, MOST_RANK = 8
};

/* ------ finding ------ */

/* An array of the same device, micro-batch and chunk.  NULL: there is none. */
const array *array_of(const char *phase, const char *what, int64_t node,
                      int64_t index);

/* The sum of a parameter's gradient as it was before `until`, in that
 * micro-batch of the device.  NULL: it had not begun. */
const array *before(const array *until, int64_t micro, const char *name);

/* A shard's rows: of an input, or their weights. */
const array *rows_of(const char *what);

/* The first of n that is so called; one of all devices; of one device, of phase
 * "gradient". */
const array *first_called(const array *all, int64_t n, const char *phase,
                          const char *what);
const array *whole(const char *phase, const char *what);
const array *of_device(const char *what, int64_t device);

const said *node_of(int64_t node); /* NULL: there is none */
/* Input k of a node, by its number, or -1; parameter k. */
int64_t input(const said *n, int k);
const said *param(const said *n, int k);

/* The parameter that a float of the layout is of; NULL: it lies between. */
const said *slot_of(int64_t at);

/* The value of a node: 0 where the records have none.  Rows of an input are
 * those of the chunk. */
place value(int64_t node);

/* The gradient of a node's value, as large as that, as far as the nodes above
 * it gave one; 0: none did.  above = node: all did. */
place gradient(int64_t node, int64_t above);

/* The last size in a shape "4x16", all of them multiplied (0: it is none), and
 * each of them, at most MOST_RANK; returns how many. */
int64_t width(const char *shape);
int64_t size(const char *shape);
int axes(const char *shape, int64_t size[MOST_RANK]);

/* Has an array `rows` rows of that size? */
static inline bool has_rows(const array *k, int64_t rows, int64_t each)
{
    return each > 0 && k->n % each == 0 && k->n / each == rows;
}

/* An attribute of a node as records had it (the names of lib/layers `of`
 * texts: p, q, term, transposed ..), and an option of the trainer; NULL: it has
 * none of that name. */
const char *attribute(const said *n, const char *name);
const char *option(const char *name);

/* Options whose names begin so: what follows in their names; returns how
 * many, at most `most`. */
size_t options_called(const char *begin, const char **name, size_t most);

/* The number that a text is, or `usual`: there is none, or it is no number. */
double real_or(const char *text, double usual);

/* Texts that say where an element stands, as lockstep-inspect says it: an
 * array; its element, with its coordinates (place.c). */
const char *place_text(const array *k);
const char *element_text(const array *k, int64_t at);

/* The referee has no rule for that: the verdict; it does not return. */
uint32_t unknown(const char *what);

#endif
