/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules: a learning rate from the number of updates done.
 *
 * Each rule is optax's formula with the roundings of a call outside jit: all
 * in float, Python's constants rounded to float once, nothing fused.  (Inside
 * jit XLA folds constants and contracts products, differently for each
 * formula and version, which moves the last digits.)  Linear, exponential,
 * piecewise and polynomial give optax's bits; what has a cosine is within an
 * ulp.  Computed once an update by the caller. */
#include "rules/schedule.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/fpmode.h"
#include "base/scalar.h"

/* ------ the formulas ------ */

/* All rules get the updates done since the warm-up ended; those that end also
 * get their number of updates: decay_steps, less the warm-up that it counts. */
typedef struct moment {
    const ls_schedule *s;
    double peak;
    int64_t done, steps;
} moment;

/* from at 0, to at `steps` and later. */
static float line(double from, double to, int64_t done, int64_t steps)
{
    LS__ASSERT(done >= 0 && steps > 0);

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

    for (int i = 0; i < m->s->n_boundaries; i++)
        if (m->done + m->s->warmup >= m->s->boundaries[i].update)
            lr = (float)m->s->boundaries[i].factor * lr;
    return lr;
}

/* The end stands by itself: 0 has no logarithm. */
static float polynomial(const moment *m)
{
    double end = m->s->end_lr;
    float rest = 1.0f - (float)m->done / (float)m->steps;

    if (m->done >= m->steps)
        return (float)end;
    return (float)(m->peak - end) * ls__powf(rest, (float)m->s->power) +
           (float)end;
}

/* x^n in double by squaring. */
static double whole_power(double x, int64_t n)
{
    double y = 1;

    for (; n > 0; n /= 2, x *= x)
        if (n % 2)
            y *= x;
    return y;
}

/* Find the cycle; each but the first begins with a warm-up. m->done and
 * m->steps become those of the cycle past it (below 0: within it), the peak
 * stays. */
static int64_t find_cycle(moment *m, int64_t warmup)
{
    int64_t factor = m->s->cycle_factor, cycle = 0, each;

    LS__ASSERT(factor >= 1 && m->steps > 0 && m->done >= 0);
    if (factor == 1 && m->done >= m->steps) {
        each = m->steps > INT64_MAX - warmup ? INT64_MAX : m->steps + warmup;
        m->done -= m->steps;
        cycle = 1 + m->done / each;
        m->done = m->done % each - warmup;
    }
    while (m->done >= m->steps) {
        m->done -= m->steps;
        m->done -= warmup;
        cycle++;
        if (m->steps > INT64_MAX / factor)
            m->steps = INT64_MAX;
        else
            m->steps *= factor;
    }
    return cycle;
}

/* No cycle begins below where it ends. */
static float cycles(const moment *m, int64_t warmup)
{
    double least = m->peak < m->s->end_lr ? m->peak : m->s->end_lr;
    moment of_cycle = *m;
    int64_t cycle = find_cycle(&of_cycle, warmup);

    of_cycle.peak *= whole_power(m->s->restart_factor, cycle);
    if (of_cycle.peak < least)
        of_cycle.peak = least;
    if (of_cycle.done < 0)
        return line(0, of_cycle.peak, of_cycle.done + warmup, warmup);
    return cosine(&of_cycle);
}

static float restarts(const moment *m)
{
    return cycles(m, 0);
}

static float warm_restarts(const moment *m)
{
    return cycles(m, m->s->warmup);
}

/* The way from one rate to another along half a cosine. */
static float half_wave(float from, float to, int64_t done, int64_t steps)
{
    float x = (float)done / (float)steps;
    float turn = (float)0x1.921fb54442d18p+1 * x;

    return to + (from - to) / 2.0f * (ls__cosf(turn) + 1.0f);
}

/* optax multiplies its way from rate to rate. */
static float one_cycle(const moment *m)
{
    double div = m->s->div_factor, last = m->s->final_div_factor;
    int64_t up = (int64_t)(m->s->pct_start * (double)m->steps);
    float start = (float)(m->peak / div), top = start * (float)div;
    float end = top * (float)(1.0 / (div * last));

    if (m->done < up)
        return half_wave(start, top, m->done, up);
    if (m->done < m->steps)
        return half_wave(top, end, m->done - up, m->steps - up);
    return end;
}

/* The way from one rate to another along a line. */
static float slope(float from, float to, int64_t done, int64_t steps)
{
    float x = (float)done / (float)steps;

    return (to - from) * x + from;
}

/* The ends of its rise and its fall. */
static void find_turns(const ls_schedule *s, int64_t *up, int64_t *down)
{
    *up = (int64_t)(s->pct_start * (double)s->decay_steps);
    *down = (int64_t)(s->pct_final * (double)s->decay_steps);
}

static float linear_one_cycle(const moment *m)
{
    double div = m->s->div_factor, last = m->s->final_div_factor;
    float start = (float)(m->peak / div), top = start * (float)div;
    float again = top * (float)(1 / div), end = again * (float)(1 / last);
    int64_t up, down;

    find_turns(m->s, &up, &down);
    if (m->done < up)
        return slope(start, top, m->done, up);
    if (m->done < down)
        return slope(top, again, m->done - up, down - up);
    if (m->done < m->steps)
        return slope(again, end, m->done - down, m->steps - down);
    return end;
}

/* The place within a wave is a double: the longest one loses no digits. */
static float coslog(const moment *m)
{
    double x = (double)(m->done < m->steps ? m->done : m->steps);
    double at = 1 + (double)((INT64_C(1) << m->s->cycles) - 1) *
                        (x / (double)m->steps);
    double waves = ls__log(at) / 0x1.62e42fefa39efp-1;
    float turn = (float)(0x1.921fb54442d18p+2 *
                         (waves - (double)(int64_t)waves));

    return (float)m->peak * (0.5f * (1.0f - ls__cosf(turn)));
}

static float flat_cosine(const moment *m)
{
    int64_t flat = (int64_t)(m->s->pct_start * (double)m->steps);
    moment of_fall = *m;

    of_fall.done = m->done < flat ? 0 : m->done - flat;
    of_fall.steps = m->steps - flat;
    return cosine(&of_fall);
}

/* ------ the table ------ */

#define AT(member) offsetof(ls_schedule, member)
#define INFINITE __builtin_inf()
#define NO_FLOAT 0x1.ffffffp127 /* the first that rounds to infinity */

#define OVER_ONE 0x1.0000000000001p0 /* the first above 1 */

#define NONE __builtin_nan("") /* no default */

/* clang-format off */
static const ls__option
    warmup = {"warmup", AT(warmup), LS__WHOLE, 0, INFINITE,
              "a whole number from 0 up",
              "first updates, from rate 0 up to lr"},
    decay_steps = {"decay_steps", AT(decay_steps), LS__WHOLE, 1, INFINITE,
                   "a whole number from 1 up",
                   "updates until the end, or of one factor"},
    decay_rate = {"decay_rate", AT(decay_rate), LS__REAL, 0x1p-1022, NO_FLOAT,
                  "a finite number above 0",
                  "the factor of every decay-steps updates"},
    end_lr = {"end_lr", AT(end_lr), LS__REAL, 0, NO_FLOAT,
              "a finite number from 0 up", "where the learning rate ends"},
    power = {"power", AT(power), LS__REAL, 0x1p-126, NO_FLOAT,
             "a finite number above 0", "of what is left of the time"},
    cycle_factor = {"cycle_factor", AT(cycle_factor), LS__WHOLE, 1, INFINITE,
                    "a whole number from 1 up",
                    "each cycle is so many times as long as the one before"},
    restart_factor = {"restart_factor", AT(restart_factor), LS__REAL, 0x1p-126,
                      OVER_ONE, "a number above 0, at most 1",
                      "each cycle begins with so much of the rate before"},
    pct_start = {"pct_start", AT(pct_start), LS__REAL, 0, 1,
                 "a number from 0 to below 1",
                 "share of the steps that rise, or stay"},
    waves = {"cycles", AT(cycles), LS__WHOLE, 1, 31,
             "a whole number from 1 to 30", "waves of coslog"},
    div_factor = {"div_factor", AT(div_factor), LS__REAL, 1, NO_FLOAT,
                  "a finite number from 1 up", "it begins at lr over this"},
    pct_final = {"pct_final", AT(pct_final), LS__REAL, 0, 1,
                 "a number from 0 to below 1",
                 "where it is back at what it began with"},
    final_div_factor = {"final_div_factor", AT(final_div_factor), LS__REAL, 1,
                        NO_FLOAT, "a finite number from 1 up",
                        "and ends at so much less than it began"};

static const struct row {
    ls__choice is;
    float (*lr)(const moment *m);
    bool ends;       /* at decay_steps, which count the warm-up */
    bool boundaries; /* has them */
    bool rises;      /* without a warm-up */
} table[] = {
    [LS_CONSTANT] = {{"schedule", "constant", {{&warmup, 0}}},
                     constant, false, false, false},
    [LS_LINEAR] = {{"schedule", "linear",
                    {{&warmup, 0}, {&decay_steps, NONE}, {&end_lr, 0}}},
                   linear, true, false, false},
    [LS_COSINE] = {{"schedule", "cosine",
                    {{&warmup, 0}, {&decay_steps, NONE}, {&end_lr, 0}}},
                   cosine, true, false, false},
    [LS_EXPONENTIAL] = {{"schedule", "exponential",
                         {{&warmup, 0}, {&decay_steps, NONE}, {&end_lr, 0},
                          {&decay_rate, NONE}}},
                        exponential, false, false, false},
    [LS_PIECEWISE] = {{"schedule", "piecewise", {{&warmup, 0}}},
                      piecewise, false, true, false},
    [LS_POLYNOMIAL] = {{"schedule", "polynomial",
                        {{&warmup, 0}, {&decay_steps, NONE}, {&end_lr, 0},
                         {&power, NONE}}},
                       polynomial, true, false, false},
    [LS_RESTARTS] = {{"schedule", "cosine-restarts",
                      {{&warmup, 0}, {&decay_steps, NONE}, {&end_lr, 0},
                       {&cycle_factor, 1}, {&restart_factor, 1}}},
                     restarts, true, false, false},
    [LS_ONE_CYCLE] = {{"schedule", "one-cycle",
                       {{&decay_steps, NONE}, {&pct_start, 0.3},
                        {&div_factor, 25}, {&final_div_factor, 1e4}}},
                      one_cycle, true, false, true},
    [LS_LINEAR_ONE_CYCLE] = {{"schedule", "linear-one-cycle",
                              {{&decay_steps, NONE}, {&pct_start, 0.3},
                               {&pct_final, 0.85}, {&div_factor, 25},
                               {&final_div_factor, 1e4}}},
                             linear_one_cycle, true, false, true},
    [LS_WARM_RESTARTS] = {{"schedule", "warm-restarts",
                           {{&warmup, 0}, {&decay_steps, NONE}, {&end_lr, 0},
                            {&cycle_factor, 1}, {&restart_factor, 1}}},
                          warm_restarts, true, false, false},
    [LS_COSLOG] = {{"schedule", "coslog",
                    {{&warmup, 0}, {&decay_steps, NONE}, {&waves, 4}}},
                   coslog, true, false, false},
    [LS_FLAT_COSINE] = {{"schedule", "flat-cosine",
                         {{&warmup, 0}, {&decay_steps, NONE}, {&end_lr, 0},
                          {&pct_start, 0.5}}},
                        flat_cosine, true, false, false},
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

bool ls_schedule_option_bytes(ls_schedule_kind kind, int i, ls_option *option,
                              size_t size)
{
    LS__NEED_OR(option, false);
    return ls__choice_tell(ls__schedule_choice(kind), i, option, size);
}

/* ------ making one ------ */

ls_schedule ls_schedule_defaults(ls_schedule_kind kind)
{
    ls_schedule s = {.kind = kind};
    const ls__choice *c = ls__schedule_choice(kind);

    if (c)
        ls__choice_start(c, &s);
    return s;
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

    if (s->n_boundaries < 1 || !s->boundaries)
        return ls__fail(LS_EINVAL, "schedule piecewise: no boundaries");
    for (int i = 0; i < s->n_boundaries; i++) {
        const ls_boundary *b = &s->boundaries[i];

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

/* optax divides by nothing where two of its turns meet. */
static int check_turns(const ls_schedule *s)
{
    int64_t up, down;

    find_turns(s, &up, &down);
    if (up < down && down < s->decay_steps)
        return 0;
    return ls__fail(LS_EINVAL, "schedule linear-one-cycle: it turns at %lld "
                    "and %lld of %lld decay steps (pct_start, pct_final), "
                    "which must follow each other", (long long)up,
                    (long long)down, (long long)s->decay_steps);
}

int ls__schedule_check(const ls_schedule *s)
{
    const ls__choice *c = ls__schedule_choice(s->kind);
    int status = c ? ls__choice_check(c, s) : unknown((int)s->kind);

    if (status < 0)
        return status;
    if (table[s->kind].rises && s->warmup != 0)
        return ls__fail(LS_EINVAL, "schedule %s: a warm-up of %lld updates; "
                        "it rises by itself, by pct_start", c->name,
                        (long long)s->warmup);
    if (table[s->kind].ends && s->decay_steps <= s->warmup)
        return ls__fail(LS_EINVAL, "schedule %s: %lld decay steps end within "
                        "the warm-up of %lld, which they count", c->name,
                        (long long)s->decay_steps, (long long)s->warmup);
    if (s->kind == LS_LINEAR_ONE_CYCLE)
        return check_turns(s);
    return table[s->kind].boundaries ? check_boundaries(s) : 0;
}

int ls__share_check(const ls_schedule *s, const char *name)
{
    int status = ls__schedule_check(s);

    if (status < 0)
        return ls__fail(status, "%s: %s", name, ls_errmsg());
    return table[s->kind].boundaries
               ? ls__fail(LS_EINVAL, "%s: a piecewise schedule is for learning "
                          "rates", name)
               : 0;
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
