/* What makes a node more than its operator and its inputs: sizes, choices,
 * rates.  An operator lists them as rows that say where in the node they are,
 * so that a graph is written to a file and read from one by these rows alone.
 * The functions that build graphs set the fields themselves. */
#ifndef LS_GRAPH_ATTRIBUTE_H
#define LS_GRAPH_ATTRIBUTE_H

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
    size_t offset;            /* of the field in ls_node */
    const char *const *words; /* LS__WORD: one for each value, then NULL */
    bool may_lack;  /* LS__INTEGER and LS__YES_NO, of which false is usual:
                       files have it where it is not `usual`, */
    int64_t usual;  /* so those that know no other lack it */
} ls__attribute;

/* A row for a field that needs no words. */
#define LS__FIELD(in_files, kind, field) \
    {.name = in_files, .type = kind, .offset = offsetof(ls_node, field)}

/* One for an integer that files lack where it is as usual. */
#define LS__FIELD_UNLESS(in_files, field, as_usual) \
    {.name = in_files, .type = LS__INTEGER, \
     .offset = offsetof(ls_node, field), .may_lack = true, .usual = as_usual}

/* One for a bool that files lack where it is false. */
#define LS__FIELD_IF(in_files, field) \
    {.name = in_files, .type = LS__YES_NO, \
     .offset = offsetof(ls_node, field), .may_lack = true}

#endif
