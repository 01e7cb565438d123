/* SPDX-License-Identifier: BSD-3-Clause */
/* The attributes of a node by their names, as references want them. */
#ifndef TEST_ATTRIBUTE_OF_H
#define TEST_ATTRIBUTE_OF_H

#include "graph/edit.h"
#include "graph/op.h"

#include <string.h>

/* An integer, or 1 for a yes; 0: the operator has none of that name. */
static inline int64_t integer_of(const ls_node *n, const char *name)
{
    const ls__attribute *a = n->op->file.attributes;

    while (a && a->name && strcmp(a->name, name))
        a++;
    if (!a || !a->name)
        return 0;
    return a->type == LS__YES_NO ? *(const bool *)ls__attribute_in(n, a)
                                 : *(const int64_t *)ls__attribute_in(n, a);
}

#endif
