/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes make a node more than its operator and its inputs: sizes,
 * choices, rates.  They are a struct of the operator's own, which node->of
 * points to.  The operator lists them as rows that say where in the struct they
 * are, so that graphs are written to files, read from them and compared by
 * these rows alone.  Builders of graphs set the members themselves. */
#ifndef LS_GRAPH_ATTRIBUTE_H
#define LS_GRAPH_ATTRIBUTE_H

#include <lockstep/graph.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ls__attribute_type {
    LS__INTEGER, /* int64_t */
    LS__NUMBER,  /* double */
    LS__YES_NO,  /* bool */
    LS__SIZES,   /* ls__extents */
    LS__WORD     /* an enum that counts from 0 */
} ls__attribute_type;

typedef struct ls__attribute {
    const char *name; /* in files, for ever */
    ls__attribute_type type;
    size_t offset;            /* of the member in the operator's struct */
    const char *const *words; /* LS__WORD: one for each value, then NULL */
    bool may_lack;  /* no LS__SIZES; of LS__YES_NO false is usual:
                       files have it where it is not `usual`, */
    double usual;   /* so those that know no other lack it */
} ls__attribute;

/* A row for a member of struct `of` that needs no words. */
#define LS__FIELD(in_files, kind, of, member) \
    {.name = in_files, .type = kind, .offset = offsetof(of, member)}

/* One for an integer that files lack where it is as usual. */
#define LS__FIELD_UNLESS(in_files, of, member, as_usual) \
    {.name = in_files, .type = LS__INTEGER, .offset = offsetof(of, member), \
     .may_lack = true, .usual = as_usual}

/* The same of a number. */
#define LS__NUMBER_UNLESS(in_files, of, member, as_usual) \
    {.name = in_files, .type = LS__NUMBER, .offset = offsetof(of, member), \
     .may_lack = true, .usual = as_usual}

/* One for a bool that files lack where it is false. */
#define LS__FIELD_IF(in_files, of, member) \
    {.name = in_files, .type = LS__YES_NO, .offset = offsetof(of, member), \
     .may_lack = true}

#endif
