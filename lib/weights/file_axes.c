/* SPDX-License-Identifier: BSD-3-Clause */
/* See file_axes.h. */
#include "weights/file_axes.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"

#include <string.h>

int ls__axes_read(json_t **all, const char *text, const char *path)
{
    json_error_t error;

    *all = NULL;
    if (!text)
        return 0;
    if (!(*all = json_loads(text, JSON_REJECT_DUPLICATES, &error)))
        return ls__json_fail(path, "\"" LS__AXES_KEY "\" is no JSON", 0,
                             &error);
    if (json_is_object(*all))
        return 0;
    json_decref(*all);
    *all = NULL;
    return ls__fail(LS_EFORMAT, "%s: \"" LS__AXES_KEY "\" is no object", path);
}

static int wrong(const char *path, const char *name)
{
    return ls__fail(LS_EFORMAT, "%s: \"" LS__AXES_KEY "\" of \"%s\" is not the "
                    "parameter's axes in an order", path, name);
}

int ls__axes_find(const json_t *all, const char *path, const char *name,
                  int rank, const int64_t *shape, ls__turn *turn)
{
    const json_t *list = json_object_get(all, name);
    bool seen[LS_MAX_RANK] = {false};
    int64_t step[LS_MAX_RANK], size = 1;

    *turn = (ls__turn){.is = list != NULL};
    if (!list)
        return 0;
    if (!json_is_array(list) || json_array_size(list) > (size_t)rank)
        return wrong(path, name);
    for (int k = rank; k-- > 0; size *= shape[k])
        step[k] = size;
    turn->rank = (int)json_array_size(list);
    for (int i = 0; i < turn->rank; i++) {
        const json_t *one = json_array_get(list, (size_t)i);
        json_int_t k = json_is_integer(one) ? json_integer_value(one) : -1;

        if (k < 0 || k >= rank || seen[k])
            return wrong(path, name);
        seen[k] = true;
        turn->shape[i] = shape[k];
        turn->step[i] = step[k];
    }
    for (int k = 0; k < rank; k++)
        if (!seen[k] && shape[k] != 1)
            return wrong(path, name);
    return 0;
}

/* The element of the parameter that follows in the array's order. */
static int64_t next(const ls__turn *t, int64_t index[LS_MAX_RANK], int64_t at)
{
    for (int i = t->rank; i-- > 0;) {
        at += t->step[i];
        if (++index[i] < t->shape[i])
            return at;
        at -= index[i] * t->step[i];
        index[i] = 0;
    }
    return 0;
}

void ls__axes_copy(const ls__turn *t, const float *from, float *to, bool back)
{
    int64_t index[LS_MAX_RANK] = {0}, n = ls__count(t->rank, t->shape), at = 0;

    for (int64_t i = 0; i < n; i++, at = next(t, index, at))
        to[back ? i : at] = from[back ? at : i];
    LS__ASSERT(at == 0); /* it came to the end of both */
}

int ls__axes_turn(const json_t *all, const char *path, int n,
                  ls__safetensor *list, float **own)
{
    int64_t size = 0;
    ls__turn t;
    float *to;
    int status;

    for (int i = 0; i < n; i++) {
        status = ls__axes_find(all, path, list[i].name, list[i].rank,
                               list[i].shape, &t);
        if (status < 0)
            return status;
        size += t.is ? ls__count(t.rank, t.shape) : 0;
    }
    if (!(*own = to = ls__new((size_t)size, sizeof *to, "weights")))
        return LS_ENOMEM;
    for (int i = 0; i < n; i++) {
        ls__axes_find(all, path, list[i].name, list[i].rank, list[i].shape, &t);
        if (!t.is)
            continue;
        ls__axes_copy(&t, list[i].data, to, true);
        list[i].rank = t.rank;
        memcpy(list[i].shape, t.shape, sizeof t.shape);
        list[i].data = to;
        to += ls__count(t.rank, t.shape);
    }
    return 0;
}
