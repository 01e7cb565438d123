/* SPDX-License-Identifier: BSD-3-Clause */
/* The checks behind LS_CHECK_DIVERGENCE.
 *
 * All gradients are filled with one NaN that no arithmetic makes.  Where it is
 * gone after a call, the call wrote; where it is left, it did not. */
#include "hooks/step_hooks.h"
#include "base/error.h"
#include "base/sha.h"
#include "train/batch.h"
#include "train/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAN_MADE = 0x7fc00000, POISON_WORD = 0x7fd1ce5a };
static const uint32_t POISON = POISON_WORD;

_Static_assert((POISON_WORD & NAN_MADE) == NAN_MADE && POISON_WORD != NAN_MADE,
               "a quiet NaN, and not the one that arithmetic makes");

static void poison(float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(x + i, &POISON, sizeof POISON);
}

static bool poisoned(const float *x)
{
    return memcmp(x, &POISON, sizeof POISON) == 0;
}

/* ------ opening ------ */

/* Floats before and after each device's gradient that nobody may write: no
 * other memory stands there when a function goes past the ends. */
enum { GUARD = 64 };

typedef struct watch {
    ls_pool *pool;
    ls__model *model;
    const ls__gradients *grad;
    int devices;
    int64_t step;          /* step of these gradients */
    float *value;          /* the parameters before the call */
    float *first;          /* the device's first gradient */
    uint8_t (*digest)[32]; /* [device] of the gradient when called alone */
} watch;

static bool wants(const ls__rig *rig, ls__needs *needs)
{
    const char *text = getenv("LS_CHECK_DIVERGENCE");
    bool rides = rig->options->check_divergence ||
                 (text && *text && strcmp(text, "0") != 0);

    if (rides) {
        needs->guard = GUARD;
        needs->whole = true;
        needs->single = true;
    }
    return rides;
}

static int open_watch(void **own, const ls__rig *rig)
{
    size_t bytes = (size_t)rig->model->params.floats * sizeof(float);
    watch *w = *own = ls__new(1, sizeof *w, "divergence check");

    if (!w)
        return LS_ENOMEM;
    w->pool = rig->pool;
    w->model = rig->model;
    w->grad = rig->grad;
    w->devices = rig->devices.count;
    w->value = ls__block_zero(bytes, "divergence check");
    w->first = ls__block_zero(bytes, "divergence check");
    w->digest = ls__new((size_t)w->devices, sizeof *w->digest,
                        "divergence check");
    return w->value && w->first && w->digest ? 0 : LS_ENOMEM;
}

static void close_watch(void *own)
{
    watch *w = own;

    ls__block_free(w->value);
    ls__block_free(w->first);
    free(w->digest);
    free(w);
}

/* ------ messages ------ */

/* "step S: device D WHAT "NAME", element I" for float `at` of the layout. */
static int found(const watch *w, int device, const char *what, int64_t at)
{
    const ls__slot *s = ls__params_at(&w->model->params, at);

    return ls__fail(LS_EUSER, "step %lld: the gradient function of device %d "
                    "%s \"%s\", element %lld of %lld", (long long)w->step,
                    device, what, s->name, (long long)(at - s->offset),
                    (long long)s->size);
}

/* ------ looking at memory after a call ------ */

/* The first float that differs, or n. */
static int64_t first_difference(const float *a, const float *b, int64_t n)
{
    int64_t i = 0;

    while (i < n && memcmp(a + i, b + i, sizeof *a) == 0)
        i++;
    return i;
}

static int check_values(const watch *w, int device)
{
    int64_t n = w->model->params.floats;
    int64_t at = first_difference(w->model->value, w->value, n);

    if (at == n)
        return 0;
    memcpy(w->model->value, w->value, (size_t)n * sizeof(float));
    return found(w, device, "wrote to the parameter, which all devices share:",
                 at);
}

static int check_others(const watch *w, int device)
{
    char what[64];

    for (int d = 0; d < w->devices; d++)
        for (int64_t i = 0; d != device && i < w->model->params.floats; i++)
            if (!poisoned(w->grad->device[d] + i)) {
                snprintf(what, sizeof what, "wrote to device %d's gradient of",
                         d);
                return found(w, device, what, i);
            }
    return 0;
}

/* The guards are nobody's: `at` floats from the start of device d's
 * gradients stands what was written. */
static int outside(const watch *w, int device, int d, int64_t at)
{
    int last = w->model->params.count - 1;
    const ls__slot *s = w->model->params.slot + (at < 0 ? 0 : last);

    return ls__fail(LS_EUSER, "step %lld: the gradient function of device %d "
                    "wrote %s all gradients of device %d: \"%s\", element %lld "
                    "of %lld", (long long)w->step, device,
                    at < 0 ? "before" : "beyond", d, s->name,
                    (long long)(at - s->offset), (long long)s->size);
}

static int check_guards(const watch *w, int device)
{
    int64_t n = w->model->params.floats;

    for (int d = 0; d < w->devices; d++)
        for (int64_t i = 0; i < GUARD; i++) {
            if (!poisoned(w->grad->device[d] - 1 - i))
                return outside(w, device, d, -1 - i);
            if (!poisoned(w->grad->device[d] + n + i))
                return outside(w, device, d, n + i);
        }
    return 0;
}

/* Padding is nobody's.  A graph may leave gradients out: they stay zero. */
static int check_own(const watch *w, int device)
{
    const float *g = w->grad->device[device];

    for (int i = 0; i < w->model->params.count; i++) {
        const ls__slot *s = &w->model->params.slot[i];
        int64_t end = s->offset + s->size;
        int64_t next = i + 1 < w->model->params.count ? s[1].offset
                                               : w->model->params.floats;

        for (int64_t k = s->offset; k < next; k++) {
            if (k < end && poisoned(g + k) && !w->model->plan)
                return found(w, device, "did not write the gradient of", k);
            if (k >= end && !poisoned(g + k))
                return found(w, device, "wrote beyond the gradient of", k);
        }
    }
    return 0;
}

/* ------ calling ------ */

static int call(const watch *w, const ls_trainer *t, int device,
                const ls_shard *shard, ls_sums *sums)
{
    *sums = (ls_sums){.correct = __builtin_nan("")};
    return ls__device_run(t, ls__device_context(t, device), device, shard,
                          w->grad->param + device * w->model->params.count,
                          sums);
}

static int check_again(const watch *w, int device, const ls_sums *first,
                       const ls_sums *again)
{
    int64_t n = w->model->params.floats;
    int64_t at = first_difference(w->grad->device[device], w->first, n);

    if (at < n)
        return found(w, device, "when called again made another gradient of",
                     at);
    if (memcmp(first, again, sizeof *first) == 0)
        return 0;
    return ls__fail(LS_EUSER, "step %lld: the gradient function of device %d, "
                    "when called again, made other sums: loss %.17g, then "
                    "%.17g", (long long)w->step, device, first->loss,
                    again->loss);
}

/* Turns the poison that is left into a step's zeros. */
static void clear_poison(float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (poisoned(x + i))
            x[i] = 0;
}

static void digest_of(const watch *w, int device, uint8_t digest[32])
{
    ls__sha256 sha;

    ls__sha256_init(&sha);
    ls__sha256_update(&sha, w->grad->device[device],
                      (size_t)w->model->params.floats * sizeof(float));
    ls__sha256_final(&sha, digest);
}

static int call_twice(const watch *w, const ls_trainer *t, int device,
                      const ls_shard *shard)
{
    int64_t n = w->model->params.floats;
    ls_sums first, again;
    int status;

    if (call(w, t, device, shard, &first) < 0)
        return 0;
    if ((status = check_values(w, device)) < 0 ||
        (status = check_others(w, device)) < 0 ||
        (status = check_own(w, device)) < 0 ||
        (status = check_guards(w, device)) < 0)
        return status;
    memcpy(w->first, w->grad->device[device], (size_t)n * sizeof(float));
    poison(w->grad->device[device], n);
    if (call(w, t, device, shard, &again) < 0)
        return ls__fail(LS_EUSER, "step %lld: the gradient function of device "
                        "%d failed when called again", (long long)w->step,
                        device);
    if ((status = check_values(w, device)) < 0)
        return status;
    return check_again(w, device, &first, &again);
}

/* One device alone, before any runs at the same time. */
static int watch_device(const watch *w, ls__step *s, int device)
{
    int64_t n = w->model->params.floats;
    ls_shard shard = ls__step_shard(s, device, 0);
    int status;

    memcpy(w->value, w->model->value, (size_t)n * sizeof(float));
    for (int d = 0; d < w->devices; d++)
        poison(w->grad->device[d] - GUARD, n + 2 * GUARD);
    status = call_twice(w, s->trainer, device, &shard);
    clear_poison(w->grad->device[device], n);
    digest_of(w, device, w->digest[device]);
    for (int d = 0; d < w->devices; d++)
        memset(w->grad->device[d], 0, (size_t)n * sizeof(float));
    return status;
}

/* ------ a step ------ */

static int begin(void *own, ls__step *s)
{
    watch *w = own;
    ls__track *track = ls__pool_track(w->pool, 0);
    int status = 0;

    if (!s->pass->train || !s->batch || s->before > 0 || s->refused < 0)
        return 0;
    w->step = s->number;
    if (w->model->plan)
        ls__exec_pack(w->model->plan, &w->model->weights, 0, 1, true);
    for (int d = 0; d < w->devices && status == 0; d++) {
        ls__track_phase(track, "divergence check", d);
        status = watch_device(w, s, d);
    }
    ls__track_phase(track, NULL, -1);
    return status;
}

static void leave(void *own, ls__step *s, ls__micro_batch *mb)
{
    const watch *w = own;
    uint8_t digest[32];

    if (mb->later || !s->pass->train || mb->status < 0)
        return;
    digest_of(w, mb->device, digest);
    ls__step_report_of(s, mb->device)->diverged =
        memcmp(digest, w->digest[mb->device], sizeof digest) != 0;
}

const ls__hook ls__watch = {.name = "watch", .wants = wants,
                            .open = open_watch, .close = close_watch,
                            .begin = begin, .leave = leave};
