/* SPDX-License-Identifier: BSD-3-Clause */
/* A trainer's arrays by their names, and what is known of them. */
#include "base/assert.h"
#include "base/error.h"
#include "reduce/sum.h"
#include "state/trainer_state.h"

#include <string.h>

int ls_trainer_params(const ls_trainer *t)
{
    LS__NEED_AS(t, "trainer", 0);
    return ls__state_of(t).layout->count;
}

const char *ls_trainer_param_name(const ls_trainer *t, int i)
{
    LS__NEED_AS(t, "trainer", NULL);

    const ls__params *layout = ls__state_of(t).layout;

    return i < 0 || i >= layout->count ? NULL : layout->slot[i].name;
}

int ls_trainer_param_shape(const ls_trainer *t, int i,
                           int64_t shape[LS_MAX_RANK])
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(shape);

    const ls__params *layout = ls__state_of(t).layout;
    const ls__slot *s;

    if (i < 0 || i >= layout->count)
        return ls__fail(LS_EINVAL, "there is no parameter %d of %d", i,
                        layout->count);
    s = &layout->slot[i];
    memcpy(shape, s->shape, sizeof s->shape);
    return s->rank;
}

/* Elements of a block (state/trainer_state.h); this process has those it owns.
 */
typedef struct meant {
    int block;
    ls__range at;
    ls__owned owned;
} meant;

/* The block that a name means, the name's rest being a parameter's: a moment
 * "mu.<name>" unless a parameter is called that. */
static int block_of(const ls__state *is, const char **name)
{
    for (int i = 0; i < is->layout->count; i++)
        if (!strcmp(is->layout->slot[i].name, *name))
            return 0;
    for (int i = 0; i < is->moments; i++) {
        size_t n = strlen(is->moment_name[i]);

        if (!strncmp(*name, is->moment_name[i], n) && (*name)[n] == '.') {
            *name += n + 1;
            return i + 1;
        }
    }
    return 0;
}

/* Finds the block and the elements that a name means. */
static int find(const ls_trainer *t, const char *name, int64_t n, meant *m)
{
    ls__state is = ls__state_of(t);
    const char *rest = name;
    int status;

    m->block = block_of(&is, &rest);
    m->owned = m->block ? is.owned : ls__owned_all(is.layout->floats);
    status = ls__params_place(is.layout, rest, name, n, &m->at.first);
    m->at.last = m->at.first + n;
    LS__ASSERT(status < 0 || m->at.last <= is.layout->floats);
    return status;
}

/* A rank has the moments of what it owns alone: those of a parameter where they
 * lie in one stretch of it, which they may not. */
static int place_here(const char *name, const meant *m, int64_t *place)
{
    for (ls__stretch s = {0}; ls__owned_next(&m->owned, &s);)
        if (m->at.first >= s.range.first && m->at.last <= s.range.last) {
            *place = s.at + (m->at.first - s.range.first);
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

    meant m = {0};
    int64_t place = 0;
    int status = find(t, name, n, &m);

    if (status == 0)
        status = place_here(name, &m, &place);
    if (status == 0)
        memcpy(out, ls__state_block(t, m.block) + place,
               (size_t)n * sizeof *out);
    return status;
}

int ls_trainer_set(ls_trainer *t, const char *name, int64_t n,
                   const float *values)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(name);
    LS__NEED(values);

    meant m = {0};
    int status = find(t, name, n, &m);
    float *to;

    if (status < 0)
        return status;
    to = ls__state_set(t, m.block);
    for (ls__stretch s = {0}; ls__owned_next(&m.owned, &s);) {
        ls__range here = ls__range_common(m.at, s.range); /* of a rank's
                                                    moments, its own */
        if (here.first < here.last)
            memcpy(to + s.at + (here.first - s.range.first),
                   values + (here.first - m.at.first),
                   (size_t)(here.last - here.first) * sizeof *values);
    }
    return 0;
}

/* ------ numbers ------ */

static int not_finite(const ls__state *is, const char *moment, int64_t at)
{
    const ls__slot *s = ls__params_at(is->layout, at);

    return ls__fail(LS_ENONFINITE, "after %lld update%s the %s%sparameter "
                    "\"%s\" is not finite, first in element %lld of %lld",
                    (long long)is->step, ls__s(is->step),
                    moment, *moment ? " of the " : "",
                    s->name, (long long)(at - s->offset), (long long)s->size);
}

static int check_block(const ls__state *is, const char *moment,
                       const ls__owned *has, const float *x)
{
    int status = 0;

    for (ls__stretch s = {0}; status == 0 && ls__owned_next(has, &s);) {
        int64_t n = s.range.last - s.range.first;
        int64_t at = ls__first_nonfinite(n, x + s.at);

        status = at < n ? not_finite(is, moment, s.range.first + at) : 0;
    }
    return status;
}

/* A step checks losses and gradients; an update of finite ones can overflow all
 * the same. */
int ls_trainer_check(const ls_trainer *t)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);

    ls__state is = ls__state_of(t);
    ls__owned all = ls__owned_all(is.layout->floats);
    int status = check_block(&is, "", &all, ls__state_block(t, 0));

    for (int m = 0; m < is.moments && status == 0; m++)
        status = check_block(&is, is.moment_name[m], &is.owned,
                             ls__state_block(t, m + 1));
    return status;
}
