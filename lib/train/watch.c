/* The checks behind LS_CHECK_DIVERGENCE.
 *
 * All gradients are filled with one NaN that no arithmetic makes.  Where it is
 * gone after a call, the call wrote; where it is left, it did not. */
#include "train/watch.h"
#include "base/error.h"
#include "base/sha.h"
#include "train/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t POISON = 0x7fd1ce5a;

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

static bool wanted(const ls_trainer *t)
{
    const char *text = getenv("LS_CHECK_DIVERGENCE");

    return t->options.check_divergence ||
           (text && *text && strcmp(text, "0") != 0);
}

int ls__watch_open(ls_trainer *t)
{
    size_t bytes = (size_t)t->model.params.floats * sizeof(float);
    struct ls__watch *w;

    if (!wanted(t))
        return 0;
    if (!(t->watch = w = ls__new(1, sizeof *w, "divergence check")))
        return LS_ENOMEM;
    w->value = ls__block_zero(bytes, "divergence check");
    w->grad = ls__block_zero(bytes, "divergence check");
    w->digest = ls__new((size_t)t->devices.count, sizeof *w->digest,
                        "divergence check");
    return w->value && w->grad && w->digest ? 0 : LS_ENOMEM;
}

void ls__watch_close(struct ls__watch *w)
{
    if (!w)
        return;
    ls__block_free(w->value);
    ls__block_free(w->grad);
    free(w->digest);
    free(w);
}

/* ------ messages ------ */

/* "step S: device D WHAT "NAME", element I" for float `at` of the layout. */
static int found(const ls_trainer *t, int device, const char *what, int64_t at)
{
    const ls__slot *s = ls__params_at(&t->model.params, at);

    return ls__fail(LS_EUSER, "step %lld: the gradient function of device %d "
                    "%s \"%s\", element %lld of %lld", (long long)t->step,
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

static int check_values(ls_trainer *t, int device)
{
    int64_t n = t->model.params.floats;
    int64_t at = first_difference(t->model.value, t->watch->value, n);

    if (at == n)
        return 0;
    memcpy(t->model.value, t->watch->value, (size_t)n * sizeof(float));
    return found(t, device, "wrote to the parameter, which all devices share:",
                 at);
}

static int check_others(const ls_trainer *t, int device)
{
    char what[64];

    for (int d = 0; d < t->devices.count; d++)
        for (int64_t i = 0; d != device && i < t->model.params.floats; i++)
            if (!poisoned(t->grad.device[d] + i)) {
                snprintf(what, sizeof what, "wrote to device %d's gradient of",
                         d);
                return found(t, device, what, i);
            }
    return 0;
}

/* The guards are nobody's: `at` floats from the start of device d's
 * gradients stands what was written. */
static int outside(const ls_trainer *t, int device, int d, int64_t at)
{
    int last = t->model.params.count - 1;
    const ls__slot *s = t->model.params.slot + (at < 0 ? 0 : last);

    return ls__fail(LS_EUSER, "step %lld: the gradient function of device %d "
                    "wrote %s all gradients of device %d: \"%s\", element %lld "
                    "of %lld", (long long)t->step, device,
                    at < 0 ? "before" : "beyond", d, s->name,
                    (long long)(at - s->offset), (long long)s->size);
}

static int check_guards(const ls_trainer *t, int device)
{
    int64_t n = t->model.params.floats;

    for (int d = 0; d < t->devices.count; d++)
        for (int64_t i = 0; i < LS__GUARD; i++) {
            if (!poisoned(t->grad.device[d] - 1 - i))
                return outside(t, device, d, -1 - i);
            if (!poisoned(t->grad.device[d] + n + i))
                return outside(t, device, d, n + i);
        }
    return 0;
}

/* Padding is nobody's.  A graph may leave gradients out: they stay zero. */
static int check_own(const ls_trainer *t, int device)
{
    const float *g = t->grad.device[device];

    for (int i = 0; i < t->model.params.count; i++) {
        const ls__slot *s = &t->model.params.slot[i];
        int64_t end = s->offset + s->size;
        int64_t next = i + 1 < t->model.params.count ? s[1].offset
                                               : t->model.params.floats;

        for (int64_t k = s->offset; k < next; k++) {
            if (k < end && poisoned(g + k) && !t->model.plan)
                return found(t, device, "did not write the gradient of", k);
            if (k >= end && !poisoned(g + k))
                return found(t, device, "wrote beyond the gradient of", k);
        }
    }
    return 0;
}

/* ------ calling ------ */

static int call(ls_trainer *t, int device, const ls_shard *shard,
                ls_sums *sums)
{
    *sums = (ls_sums){.correct = __builtin_nan("")};
    return ls__device_run(t, device, shard,
                          t->grad.param + device * t->model.params.count, sums);
}

static int check_again(const ls_trainer *t, int device, const ls_sums *first,
                       const ls_sums *again)
{
    int64_t n = t->model.params.floats;
    int64_t at = first_difference(t->grad.device[device], t->watch->grad, n);

    if (at < n)
        return found(t, device, "when called again made another gradient of",
                     at);
    if (memcmp(first, again, sizeof *first) == 0)
        return 0;
    return ls__fail(LS_EUSER, "step %lld: the gradient function of device %d, "
                    "when called again, made other sums: loss %.17g, then "
                    "%.17g", (long long)t->step, device, first->loss,
                    again->loss);
}

/* What is left of the poison are zeros in a step. */
static void clear_poison(float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (poisoned(x + i))
            x[i] = 0;
}

static void digest_of(const ls_trainer *t, int device, uint8_t digest[32])
{
    ls__sha256 sha;

    ls__sha256_init(&sha);
    ls__sha256_update(&sha, t->grad.device[device],
                      (size_t)t->model.params.floats * sizeof(float));
    ls__sha256_final(&sha, digest);
}

static int call_twice(ls_trainer *t, int device, const ls_shard *shard)
{
    int64_t n = t->model.params.floats;
    ls_sums first, again;
    int status;

    if (call(t, device, shard, &first) < 0)
        return 0;
    if ((status = check_values(t, device)) < 0 ||
        (status = check_others(t, device)) < 0 ||
        (status = check_own(t, device)) < 0 ||
        (status = check_guards(t, device)) < 0)
        return status;
    memcpy(t->watch->grad, t->grad.device[device], (size_t)n * sizeof(float));
    poison(t->grad.device[device], n);
    if (call(t, device, shard, &again) < 0)
        return ls__fail(LS_EUSER, "step %lld: the gradient function of device "
                        "%d failed when called again", (long long)t->step,
                        device);
    if ((status = check_values(t, device)) < 0)
        return status;
    return check_again(t, device, &first, &again);
}

int ls__watch_device(ls_trainer *t, int device, const ls_shard *shard)
{
    int64_t n = t->model.params.floats;
    int status;

    memcpy(t->watch->value, t->model.value, (size_t)n * sizeof(float));
    for (int d = 0; d < t->devices.count; d++)
        poison(t->grad.device[d] - LS__GUARD, n + 2 * LS__GUARD);
    status = call_twice(t, device, shard);
    clear_poison(t->grad.device[device], n);
    digest_of(t, device, t->watch->digest[device]);
    for (int d = 0; d < t->devices.count; d++)
        memset(t->grad.device[d], 0, (size_t)n * sizeof(float));
    return status;
}

bool ls__watch_confirm(const ls_trainer *t, int device)
{
    uint8_t digest[32];

    digest_of(t, device, digest);
    return memcmp(digest, t->watch->digest[device], sizeof digest) == 0;
}
