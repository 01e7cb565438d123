/* SPDX-License-Identifier: BSD-3-Clause */
/* A trainer's arrays by their names, and what is known of them. */
#include "base/error.h"
#include "train/placement.h"
#include "train/trainer.h"

#include <string.h>

int ls_trainer_params(const ls_trainer *t)
{
    LS__NEED_AS(t, "trainer", 0);
    return t->model.params.count;
}

const char *ls_trainer_param_name(const ls_trainer *t, int i)
{
    LS__NEED_AS(t, "trainer", NULL);
    return i < 0 || i >= t->model.params.count
               ? NULL
               : t->model.params.slot[i].name;
}

int ls_trainer_param_shape(const ls_trainer *t, int i,
                           int64_t shape[LS_MAX_RANK])
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(shape);

    const ls__slot *s;

    if (i < 0 || i >= t->model.params.count)
        return ls__fail(LS_EINVAL, "there is no parameter %d of %d", i,
                        t->model.params.count);
    s = &t->model.params.slot[i];
    memcpy(shape, s->shape, sizeof s->shape);
    return s->rank;
}

/* The array that a name means, the name's rest being a parameter's: a moment
 * "mu.<name>" unless a parameter is called that. */
static ls__held array_of(const ls_trainer *t, const char **name)
{
    ls__held value = {t->model.value, ls__owned_all(t->model.params.floats)};

    for (int i = 0; i < t->model.params.count; i++)
        if (!strcmp(t->model.params.slot[i].name, *name))
            return value;
    for (int i = 0; i < t->moments; i++) {
        const char *moment = t->moment_name[i];
        size_t n = strlen(moment);

        if (!strncmp(*name, moment, n) && (*name)[n] == '.') {
            *name += n + 1;
            return (ls__held){t->moment[i], t->owned};
        }
    }
    return value;
}

/* Which elements of which array a name means. */
static int find(const ls_trainer *t, const char *name, int64_t n,
                ls__held *array, ls__range *at)
{
    const char *rest = name;
    int status;

    *array = array_of(t, &rest);
    status = ls__params_place(&t->model.params, rest, name, n, &at->first);
    at->last = at->first + n;
    return status;
}

/* A rank has the moments of what it owns alone: those of a parameter where they
 * lie in one stretch of it, which they may not. */
static int place_here(const char *name, const ls__held *array, ls__range at,
                      int64_t *place)
{
    for (ls__stretch s = {0}; ls__owned_next(&array->owned, &s);)
        if (at.first >= s.range.first && at.last <= s.range.last) {
            *place = s.at + (at.first - s.range.first);
            return 0;
        }
    return ls__fail(LS_ENOTSUP, "\"%s\" is spread over the ranks; a checkpoint "
                    "has all of it", name);
}

int ls_trainer_get(const ls_trainer *t, const char *name, int64_t n,
                   float *out)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(name);
    LS__NEED(out);

    ls__held array;
    ls__range at = {0};
    int64_t place = 0;
    int status = find(t, name, n, &array, &at);

    if (status == 0)
        status = place_here(name, &array, at, &place);
    if (status == 0)
        memcpy(out, array.array + place, (size_t)n * sizeof *out);
    return status;
}

int ls_trainer_set(ls_trainer *t, const char *name, int64_t n,
                   const float *values)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(name);
    LS__NEED(values);

    ls__held array;
    ls__range at = {0};
    int status = find(t, name, n, &array, &at);

    if (status < 0)
        return status;
    t->sets++;
    ls__trainer_changed(t);
    for (ls__stretch s = {0}; ls__owned_next(&array.owned, &s);) {
        ls__range here = ls__range_common(at, s.range); /* of a rank's moments,
                                                           its own */
        if (here.first < here.last)
            memcpy(array.array + s.at + (here.first - s.range.first),
                   values + (here.first - at.first),
                   (size_t)(here.last - here.first) * sizeof *values);
    }
    return 0;
}

int64_t ls_trainer_step(const ls_trainer *t)
{
    LS__NEED_AS(t, "trainer", 0);
    return t->step;
}

int ls_trainer_devices(const ls_trainer *t)
{
    LS__NEED_AS(t, "trainer", 0);
    return t->devices.of;
}
