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

/* ------ the formulas ------ */

/* All rules get the updates done since the warm-up ended; those that end get
 * how many they may take, of which decay_steps counts the warm-up too. */
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

/* ------ the table ------ */

#define AT(member) offsetof(ls_schedule, member)
#define INFINITE __builtin_inf()
#define NO_FLOAT 0x1.ffffffp127 /* the first that rounds to infinity */

#define NONE __builtin_nan("") /* no default */

/* clang-format off */
static const ls__option
    warmup = {"warmup", AT(warmup), LS__WHOLE, 0, INFINITE,
              "a whole number from 0 up", "first updates, from rate 0 up to lr"},
    decay_steps = {"decay_steps", AT(decay_steps), LS__WHOLE, 1, INFINITE,
                   "a whole number from 1 up",
                   "updates until the end, or of one factor"},
    decay_rate = {"decay_rate", AT(decay_rate), LS__REAL, 0x1p-1022, NO_FLOAT,
                  "a finite number above 0",
                  "the factor of every decay-steps updates"},
    end_lr = {"end_lr", AT(end_lr), LS__REAL, 0, NO_FLOAT,
              "a finite number from 0 up", "where the learning rate ends"};

static const struct row {
    ls__choice is;
    float (*lr)(const moment *m);
    bool ends;       /* at decay_steps, which count the warm-up */
    bool boundaries; /* has them */
} table[] = {
    [LS_CONSTANT] = {{"schedule", "constant", {{&warmup, 0}}},
                     constant, false, false},
    [LS_LINEAR] = {{"schedule", "linear",
                    {{&warmup, 0}, {&decay_steps, NONE}, {&end_lr, 0}}},
                   linear, true, false},
    [LS_COSINE] = {{"schedule", "cosine",
                    {{&warmup, 0}, {&decay_steps, NONE}, {&end_lr, 0}}},
                   cosine, true, false},
    [LS_EXPONENTIAL] = {{"schedule", "exponential",
                         {{&warmup, 0}, {&decay_steps, NONE}, {&end_lr, 0},
                          {&decay_rate, NONE}}},
                        exponential, false, false},
    [LS_PIECEWISE] = {{"schedule", "piecewise", {{&warmup, 0}}},
                      piecewise, false, true},
};
/* clang-format on */

enum { ROWS = sizeof table / sizeof *table };

const ls__choice *ls__schedule_choice(ls_schedule_kind kind)
{
    int i = (int)kind;

    return i >= 0 && i < ROWS ? &table[i].is : NULL;
}

bool ls__schedule_has_boundaries(ls_schedule_kind kind)
{
    return table[kind].boundaries;
}

const char *ls_schedule_name(ls_schedule_kind kind)
{
    const ls__choice *c = ls__schedule_choice(kind);

    return c ? c->name : NULL;
}

bool ls_schedule_option_sized(ls_schedule_kind kind, int i, ls_option *option,
                              size_t size)
{
    LS__NEED_OR(option, false);

    const ls__choice *c = ls__schedule_choice(kind);

    return c && ls__choice_tell(c, i, option, size);
}

/* ------ checks ------ */

static int unknown(int kind)
{
    return ls__fail(LS_EINVAL, "schedule kind %d is unknown", kind);
}

int ls_schedule_set(ls_schedule *s, const char *option, double value)
{
    LS__NEED_AS(s, "schedule", LS_EINVAL);
    LS__NEED(option);

    const ls__choice *c = ls__schedule_choice(s->kind);

    return c ? ls__choice_set(c, s, option, value) : unknown((int)s->kind);
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
        if (!(b->factor >= 0 && b->factor < NO_FLOAT))
            return ls__fail(LS_EINVAL, "schedule piecewise: boundary %d has "
                            "factor %g; it must be a finite number from 0 "
                            "up", i, b->factor);
        least = b->update + 1;
    }
    return 0;
}

int ls__schedule_check(const ls_schedule *s)
{
    const ls__choice *c = ls__schedule_choice(s->kind);
    int status = c ? ls__choice_check(c, s, s->room) : unknown((int)s->kind);

    if (status < 0)
        return status;
    if (table[s->kind].ends && s->decay_steps <= s->warmup)
        return ls__fail(LS_EINVAL, "schedule %s: %lld decay steps end within "
                        "the warm-up of %lld, which they count", c->name,
                        (long long)s->decay_steps, (long long)s->warmup);
    return table[s->kind].boundaries ? check_boundaries(s) : 0;
}

/* ------ a learning rate ------ */

float ls__schedule_lr(const ls_schedule *s, double peak, int64_t done)
{
    moment m = {s, peak, done - s->warmup, 0};

    if (table[s->kind].ends)
        m.steps = s->decay_steps - s->warmup;
    if (done < s->warmup)
        return line(0, peak, done, s->warmup);
    return table[s->kind].lr(&m);
}

int ls_schedule_lr(const ls_schedule *s, double peak, int64_t done, float *lr)
{
    LS__NEED_AS(s, "schedule", LS_EINVAL);
    LS__NEED(lr);

    int status = ls__schedule_check(s);
    ls__fpmode mode;
    float rate;

    if (status < 0)
        return status;
    if (!(peak >= 0 && peak < __builtin_inf()) || done < 0)
        return ls__fail(LS_EINVAL, "schedule %s: peak %g after %lld updates; "
                        "neither may be negative", table[s->kind].is.name, peak,
                        (long long)done);
    mode = ls__fpmode_set();
    rate = ls__schedule_lr(s, peak, done);
    ls__fpmode_restore(mode);
    if (!((double)rate < INFINITE))
        return ls__fail(LS_ENONFINITE, "schedule %s: the learning rate after "
                        "%lld updates is not finite", table[s->kind].is.name,
                        (long long)done);
    *lr = rate;
    return 0;
}

double ls_scale_lr(double lr, int64_t rows)
{
    return lr * ((double)rows / 32);
}
