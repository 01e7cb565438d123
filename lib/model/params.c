/* SPDX-License-Identifier: BSD-3-Clause */
/* The layout of parameters, and finding them by name. */
#include "model/params.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/pattern.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

/* Paths compare part by part: '.' ends a part before any byte does. */
static int compare_paths(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    if (*a == *b)
        return 0;
    if (!*a || !*b)
        return *a ? 1 : -1;
    if (*a == '.' || *b == '.')
        return *a == '.' ? -1 : 1;
    return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
}

static int by_path(const void *a, const void *b)
{
    return compare_paths(((const ls__slot *)a)->name,
                         ((const ls__slot *)b)->name);
}

/* Refuse what a safetensors file cannot hold before the training, not when it
 * is to be saved. */
static int check_name(const char *name)
{
    if (!strcmp(name, "__metadata__"))
        return ls__fail(LS_EINVAL, "parameter \"%s\": a safetensors file has "
                        "that name for its own texts", name);
    if (!ls__utf8_is(name))
        return ls__fail(LS_EINVAL, "parameter \"%s\": the name is no UTF-8",
                        name);
    return 0;
}

static int fill_slot(ls__params *p, ls__slot *slot, const ls_array_spec *spec)
{
    char text[LS__SHAPE_TEXT];

    slot->name = ls__arena_text(&p->arena, spec->name ? spec->name : "");
    if (!slot->name)
        return LS_ENOMEM;
    if (check_name(slot->name) < 0)
        return LS_EINVAL;
    slot->rank = spec->rank;
    if (spec->rank < 0 || spec->rank > LS_MAX_RANK)
        return ls__fail(LS_EINVAL, "parameter \"%s\": rank %d is not 0..%d",
                        slot->name, spec->rank, LS_MAX_RANK);
    memcpy(slot->shape, spec->shape, sizeof slot->shape);
    slot->size = ls__count(spec->rank, spec->shape);
    if (slot->size <= 0 || slot->size > INT64_C(1) << 40)
        return ls__fail(LS_ESHAPE, "parameter \"%s\": %s is no shape",
                        slot->name,
                        ls__shape_text(text, spec->rank, spec->shape));
    return 0;
}

static int lay_out(ls__params *p)
{
    qsort(p->slot, (size_t)p->count, sizeof *p->slot, by_path);
    for (int i = 0; i < p->count; i++) {
        ls__slot *s = &p->slot[i];

        if (i && !strcmp(s[-1].name, s->name))
            return ls__fail(LS_EINVAL, "parameter \"%s\" stands there twice",
                            s->name);
        LS__ASSERT(i == 0 || compare_paths(s[-1].name, s->name) < 0);
        LS__ASSERT(p->floats % 16 == 0);
        s->offset = p->floats;
        p->floats += (s->size + 15) / 16 * 16;
        p->of_declared[s->declared] = i;
    }
    return 0;
}

int ls__params_new(ls__params *p, int count, const ls_array_spec *spec)
{
    int status = 0;

    *p = (ls__params){.count = count};
    p->slot = ls__arena_new(&p->arena, (size_t)count, sizeof *p->slot);
    p->of_declared = ls__arena_new(&p->arena, (size_t)count,
                                   sizeof *p->of_declared);
    if (!p->slot || !p->of_declared)
        status = LS_ENOMEM;
    for (int i = 0; i < count && status == 0; i++) {
        p->slot[i].declared = i;
        status = fill_slot(p, &p->slot[i], &spec[i]);
    }
    if (status == 0)
        status = lay_out(p);
    if (status < 0)
        ls__params_free(p);
    return status;
}

void ls__params_free(ls__params *p)
{
    ls__arena_free(&p->arena);
    *p = (ls__params){0};
}

const char *ls__params_nearest(const ls__params *p, const char *name)
{
    const char *near = p->count ? p->slot[0].name : "";

    for (int i = 1; i < p->count; i++)
        if (ls__name_nearness(name, p->slot[i].name) >
            ls__name_nearness(name, near))
            near = p->slot[i].name;
    return near;
}

const ls__slot *ls__params_find(const ls__params *p, const char *name)
{
    const ls__slot *s = p->count ? bsearch(&(ls__slot){.name = name}, p->slot,
                                           (size_t)p->count, sizeof *p->slot,
                                           by_path)
                                 : NULL;

    if (s)
        return s;
    ls__fail(LS_ENOTFOUND, "no parameter is named \"%s\"; the nearest is "
             "\"%s\"", name, ls__params_nearest(p, name));
    return NULL;
}

int ls__params_place(const ls__params *p, const char *name,
                     const char *called, int64_t n, int64_t *offset)
{
    const ls__slot *s = ls__params_find(p, name);

    if (!s)
        return LS_ENOTFOUND;
    if (s->size != n)
        return ls__fail(LS_ESHAPE, "parameter \"%s\" has %lld element%s, not "
                        "%lld", called, (long long)s->size, ls__s(s->size),
                        (long long)n);
    *offset = s->offset;
    return 0;
}

const ls__slot *ls__params_at(const ls__params *p, int64_t offset)
{
    const ls__slot *s = p->slot;

    LS__ASSERT(offset >= 0 && offset < p->floats);
    for (int i = 1; i < p->count && p->slot[i].offset <= offset; i++)
        s = &p->slot[i];
    return s;
}
