/* Schedules: a learning rate from the number of updates done.
 *
 * Each rule is optax's formula with the roundings of a call outside jit: all
 * in float, Python's constants rounded to float once, nothing fused.  (Inside
 * jit XLA folds constants and contracts products, differently for each
 * formula and version, which moves the last digits.)  Linear, exponential and
 * piecewise give optax's bits; the cosine is within an ulp.  Computed once an
 * update by the caller. */
#include "train/schedule.h"
#include "base/error.h"
#include "base/fpmode.h"
#include "random/scalar.h"

/* All rules get the updates done since the warm-up ended, and how many they
 * may take: decay_steps counts the warm-up for those that end with it. */
typedef struct moment {
    const ls_schedule *s;
    double peak;
    int64_t done, steps;
} moment;

/* from at 0, to at `steps` and later. */
static float line(double from, double to, int64_t done, int64_t steps)
{
    float x = (float)(done < steps ? done : steps);
    float rest = 1.0f - x / (float)steps;

    return (float)(from - to) * rest + (float)to;
}

static float constant(const moment *m)
{
    return (float)m->peak;
}

static float linear(const moment *m)
{
    return line(m->peak, m->s->end_lr, m->done, m->steps);
}

/* alpha is end / peak, in double as in Python. */
static float cosine(const moment *m)
{
    double alpha = m->peak > 0 ? m->s->end_lr / m->peak : 0;
    float x = (float)(m->done < m->steps ? m->done : m->steps);
    float turn = (float)0x1.921fb54442d18p+1 * x / (float)m->steps;
    float wave = 0.5f * (1.0f + ls__cosf(turn));

    return (float)m->peak * ((float)(1 - alpha) * wave + (float)alpha);
}

static float exponential(const moment *m)
{
    float rate = (float)m->s->decay_rate, end = (float)m->s->end_lr;
    float power = (float)m->done / (float)m->s->decay_steps;
    float lr = (float)m->peak * ls__powf(rate, power);

    if (end > 0 && (m->s->decay_rate < 1 ? lr < end : lr > end))
        return end;
    return lr;
}

/* Boundaries count from the first update, warm-up or not. */
static float piecewise(const moment *m)
{
    float lr = (float)m->peak;

    for (int i = 0; i < m->s->boundaries; i++)
        if (m->done + m->s->warmup >= m->s->boundary[i].update)
            lr = (float)m->s->boundary[i].factor * lr;
    return lr;
}

static const struct {
    const char *name;
    float (*lr)(const moment *m);
    bool decays; /* decay_steps must be given */
    bool ends;   /* and counts the warm-up */
} rules[] = {
    [LS_CONSTANT] = {"constant", constant, false, false},
    [LS_LINEAR] = {"linear", linear, true, true},
    [LS_COSINE] = {"cosine", cosine, true, true},
    [LS_EXPONENTIAL] = {"exponential", exponential, true, false},
    [LS_PIECEWISE] = {"piecewise", piecewise, false, false},
};

const char *ls__schedule_name(ls_schedule_kind kind)
{
    return rules[kind].name;
}

/* ------ checks ------ */

static int check_steps(const ls_schedule *s)
{
    const char *name = rules[s->kind].name;
    long long warmup = s->warmup, steps = s->decay_steps;

    if (warmup < 0)
        return ls__fail(LS_EINVAL, "schedule %s: a warm-up of %lld updates "
                        "is negative", name, warmup);
    if (rules[s->kind].decays && steps < 1)
        return ls__fail(LS_EINVAL, "schedule %s: %lld decay steps; it needs "
                        "one or more", name, steps);
    if (rules[s->kind].ends && steps <= warmup)
        return ls__fail(LS_EINVAL, "schedule %s: %lld decay steps end within "
                        "the warm-up of %lld, which they count", name, steps,
                        warmup);
    return 0;
}

static int check_values(const ls_schedule *s)
{
    const char *name = rules[s->kind].name;

    if (!(s->end_lr >= 0 && s->end_lr < __builtin_inf()))
        return ls__fail(LS_EINVAL, "schedule %s: an end of %g; it must be "
                        "finite and not negative", name, s->end_lr);
    if (s->kind == LS_EXPONENTIAL &&
        !(s->decay_rate > 0 && s->decay_rate < __builtin_inf()))
        return ls__fail(LS_EINVAL, "schedule %s: a decay rate of %g; it must "
                        "be finite and above 0", name, s->decay_rate);
    return 0;
}

/* Rising, at or past the warm-up, so that the warm-up's end is no jump. */
static int check_boundaries(const ls_schedule *s)
{
    int64_t least = s->warmup;

    if (s->boundaries < 1 || !s->boundary)
        return ls__fail(LS_EINVAL, "schedule piecewise: no boundaries");
    for (int i = 0; i < s->boundaries; i++) {
        const ls_boundary *b = &s->boundary[i];

        if (b->update < least || b->update == INT64_MAX)
            return ls__fail(LS_EINVAL, "schedule piecewise: boundary %d at "
                            "update %lld; it must be at least %lld, after "
                            "the warm-up and the boundary before", i,
                            (long long)b->update, (long long)least);
        if (!(b->factor >= 0 && b->factor < __builtin_inf()))
            return ls__fail(LS_EINVAL, "schedule piecewise: boundary %d has "
                            "factor %g; it must be finite and not negative",
                            i, b->factor);
        least = b->update + 1;
    }
    return 0;
}

int ls__schedule_check(const ls_schedule *s)
{
    int status;

    if ((int)s->kind < LS_CONSTANT || s->kind > LS_PIECEWISE)
        return ls__fail(LS_EINVAL, "schedule kind %d is unknown",
                        (int)s->kind);
    if ((status = check_steps(s)) < 0 || (status = check_values(s)) < 0)
        return status;
    return s->kind == LS_PIECEWISE ? check_boundaries(s) : 0;
}

/* ------ a learning rate ------ */

float ls__schedule_lr(const ls_schedule *s, double peak, int64_t done)
{
    moment m = {s, peak, done - s->warmup, s->decay_steps - s->warmup};

    if (done < s->warmup)
        return line(0, peak, done, s->warmup);
    return rules[s->kind].lr(&m);
}

int ls_schedule_lr(const ls_schedule *s, double peak, int64_t done, float *lr)
{
    int status = ls__schedule_check(s);
    ls__fpmode mode;

    if (status < 0)
        return status;
    if (!(peak >= 0 && peak < __builtin_inf()) || done < 0)
        return ls__fail(LS_EINVAL, "schedule %s: peak %g after %lld updates; "
                        "neither may be negative", rules[s->kind].name, peak,
                        (long long)done);
    mode = ls__fpmode_set();
    *lr = ls__schedule_lr(s, peak, done);
    ls__fpmode_restore(mode);
    return 0;
}

double ls_scale_lr(double lr, int64_t rows)
{
    return lr * ((double)rows / 32);
}
