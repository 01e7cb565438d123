/* Settings as text.  Only those that count are written: the momentum of adam is
 * nobody's contradiction. */
#include "checkpoint/run_options.h"
#include "base/error.h"
#include "train/optim.h"
#include "train/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 64 };

static const char *const keys[] = {"nnx", "linen"};
static const char *const precisions[] = {"f32", "bf16"};
static const char *const means[] = {"exact", "of shards", "sum"};

/* ------ An object that is being filled; false: no memory ------ */

static bool put(json_t *object, const char *name, const char *value)
{
    return json_object_set_new(object, name, json_string(value)) == 0;
}

static bool put_int(json_t *object, const char *name, int64_t n)
{
    char text[TEXT];

    snprintf(text, sizeof text, "%lld", (long long)n);
    return put(object, name, text);
}

/* The shortest text that reads back as the same number, with a point whatever
 * the locale. */
static void real_text(char text[TEXT], double x)
{
    char *comma;
    int digits = 1;

    do
        snprintf(text, TEXT, "%.*g", digits, x);
    while (strtod(text, NULL) != x && digits++ < 17);
    if ((comma = strchr(text, ',')))
        *comma = '.';
}

static bool put_real(json_t *object, const char *name, double x)
{
    char text[TEXT];

    real_text(text, x);
    return put(object, name, text);
}

/* ------ What counts ------ */

static bool put_optimizer(json_t *to, const ls_optimizer *o)
{
    bool trace = o->kind == LS_MOMENTUM || o->kind == LS_NESTEROV;
    bool adam = o->kind == LS_ADAM || o->kind == LS_ADAMW;

    return put(to, "optimizer", ls__optim_name(o->kind)) &&
           put_real(to, "lr", o->lr) &&
           (!trace || put_real(to, "momentum", o->momentum)) &&
           (!adam || (put_real(to, "b1", o->b1) && put_real(to, "b2", o->b2) &&
                      put_real(to, "eps", o->eps))) &&
           (o->kind != LS_ADAMW ||
            put_real(to, "weight_decay", o->weight_decay));
}

static bool put_boundaries(json_t *to, const ls_schedule *s)
{
    for (int i = 0; i < s->boundaries; i++) {
        char name[TEXT];

        snprintf(name, sizeof name, "boundary %lld",
                 (long long)s->boundary[i].update);
        if (!put_real(to, name, s->boundary[i].factor))
            return false;
    }
    return true;
}

static bool put_schedule(json_t *to, const ls_schedule *s)
{
    bool decays = s->kind != LS_CONSTANT && s->kind != LS_PIECEWISE;

    return put(to, "schedule", ls__schedule_name(s->kind)) &&
           put_int(to, "warmup", s->warmup) &&
           (!decays || (put_int(to, "decay_steps", s->decay_steps) &&
                        put_real(to, "end_lr", s->end_lr))) &&
           (s->kind != LS_EXPONENTIAL ||
            put_real(to, "decay_rate", s->decay_rate)) &&
           (s->kind != LS_PIECEWISE || put_boundaries(to, s));
}

static bool put_options(json_t *to, const ls_trainer *t)
{
    const ls_trainer_options *o = &t->options;

    return put_int(to, "devices", t->devices) &&
           put_int(to, "seed", o->seed) && put(to, "keys", keys[o->keys]) &&
           put_optimizer(to, &o->optimizer) &&
           put_schedule(to, &o->schedule) &&
           put_real(to, "clip_norm", o->clip_norm) &&
           put_int(to, "accumulate", t->micro) &&
           put(to, "mean", means[o->mean]) &&
           put(to, "precision", precisions[o->precision]);
}

json_t *ls__run_options_new(const ls_trainer *t, int settings,
                            const ls_setting *setting)
{
    json_t *object = json_object();
    bool good = object && (!t || put_options(object, t));

    for (int i = 0; i < settings && good; i++)
        good = put(object, setting[i].name, setting[i].value);
    if (good)
        return object;
    json_decref(object);
    ls__fail(LS_ENOMEM, "settings: no memory, or a text that is no UTF-8");
    return NULL;
}
