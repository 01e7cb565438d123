/* SPDX-License-Identifier: BSD-3-Clause */
/* The flat layout of parameters: one array of floats, in canonical order (by
 * path, bytewise at each level, as JAX sorts a tree), each parameter padded to
 * 16 floats with zeros.  Gradients and moments have the same layout, so that
 * reduction and update run over one range without knowing names. */
#ifndef LS_MODEL_PARAMS_H
#define LS_MODEL_PARAMS_H

#include "base/assert.h"
#include "base/memory.h"
#include <lockstep/base.h>

typedef struct ls__slot {
    const char *name;
    int rank;
    int64_t shape[LS_MAX_RANK];
    int64_t size;   /* elements */
    int64_t offset; /* floats from the start */
    int declared;   /* its number in the order of declaration */
} ls__slot;

typedef struct ls__params {
    ls__arena arena;
    int count;
    ls__slot *slot;     /* in canonical order */
    int *of_declared;   /* slot of a declared number */
    int64_t floats;     /* of the whole layout */
} ls__params;

/* The most arrays of this layout that a trainer has besides the parameters:
 * those of an optimizer, and one that a hook asks for. */
enum { LS__MOMENTS = 4 };

/* The slot of a parameter by its number in the order of declaration. */
static inline const ls__slot *ls__params_declared(const ls__params *params,
                                                  int i)
{
    LS__ASSERT(i >= 0 && i < params->count &&
               params->slot[params->of_declared[i]].declared == i);
    return &params->slot[params->of_declared[i]];
}

/* Lay out arrays given in the order of declaration. */
int ls__params_new(ls__params *params, int count, const ls_array_spec *spec);
void ls__params_free(ls__params *params);

/* The slot of a name; NULL with LS_ENOTFOUND's message, which names the
 * nearest. */
const ls__slot *ls__params_find(const ls__params *params, const char *name);

/* The offset of a name's n elements.  LS_ESHAPE: it has another number of them;
 * the message calls it `called`. */
int ls__params_place(const ls__params *params, const char *name,
                     const char *called, int64_t n, int64_t *offset);

/* The name of a parameter that is nearest to another name. */
const char *ls__params_nearest(const ls__params *params, const char *name);

/* The slot that holds float `offset` of the layout. */
const ls__slot *ls__params_at(const ls__params *params, int64_t offset);

#endif
