/* SPDX-License-Identifier: BSD-3-Clause */
/* Positions: the subjects of a record's arrays. */
#ifndef LS_AUDIT_WHERE_H
#define LS_AUDIT_WHERE_H

#include <stdbool.h>
#include <stdint.h>

/* The place of an array; 0 or "": it does not apply. */
typedef struct ls__where {
    const char *phase;    /* one of ls__phases */
    const char *op, *name;
    const char *what;
    const char *shape;    /* "4x16"; of a row, where there are rows */
    int64_t device, micro;
    int64_t first, rows;  /* of the shard */
    int64_t node, index;
} ls__where;

/* Phases of a step, in order. */
enum { LS__PHASES_OF_RECORD = 10 };
extern const char *const ls__phases[LS__PHASES_OF_RECORD];

/* The number of a phase. */
int ls__phase_of(const char *name);

/* Is it an array of the layout of parameters, with padding between them? */
bool ls__where_is_layout(const ls__where *w);

/* Sizes as a text, "4x16"; returns it. */
enum { LS__SIZES_TEXT = 200 };
const char *ls__sizes_text(char out[LS__SIZES_TEXT], int rank,
                           const int64_t *sizes);

/* Write on behind a text[LS_RECORD_TEXT]. */
void ls__where_add(char *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A place in words, unique in a record, into text[LS_RECORD_TEXT]. */
void ls__where_text(const ls__where *w, char *text);

#endif
