/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules: the learning rate of a step, and what is left of the weight decay
 * and of the rate of dropout. */
#include "step.h"
#include "verdict.h"

#include <stdio.h>
#include <stdlib.h>

/* Updates done since the warm-up ended, and how many it may take. */
typedef struct rate {
    f64 peak, end;
    int64_t done, steps, warmup;
} rate;

/* ------ options: the trainer's, or of the text of a share ------ */

/* "cosine, warmup 0, decay_steps 90, end_lr 0"; NULL: the trainer's. */
static const char *share;

static const char *text_for(const char *name)
{
    size_t n = strlen(name);
    const char *at = share;

    if (!share)
        return option(name);
    while ((at = strchr(at, ','))) {
        at += strspn(at, ", ");
        if (!strncmp(at, name, n) && at[n] == ' ')
            return text_of("%.*s", (int)strcspn(at + n + 1, ","), at + n + 1);
    }
    return NULL;
}

static f64 real(const char *name, double usual)
{
    return d_of(real_or(text_for(name), usual));
}

static int64_t whole_number(const char *name, int64_t usual)
{
    const char *text = text_for(name);

    return text ? (uint32_t)strtoll(text, NULL, 10) : usual;
}

/* ------ schedules ------ */

static f32 line(f64 from, f64 to, int64_t done, int64_t steps)
{
    f32 x = f_div(f_int(done < steps ? done : steps), f_int(steps));

    return f_add(f_mul(f_from(d_sub(from, to)), f_sub(F(1.0f), x)),
                 f_from(to));
}

static f32 constant_rate(rate m) { return f_from(m.peak); }
static f32 linear_rate(rate m) { return line(m.peak, m.end, m.done, m.steps); }

#define PI32 F(0x1.921fb6p+1f)

static f32 cosine_rate(rate m)
{
    f64 alpha = d_lt(0, m.peak) ? d_div(m.end, m.peak) : 0;
    f32 x = f_int(m.done < m.steps ? m.done : m.steps);
    f32 turn = f_div(f_mul(PI32, x), f_int(m.steps));
    f32 wave = f_mul(F(0.5f), f_add(F(1.0f), f_cos(turn)));

    return f_mul(f_from(m.peak), f_add(f_mul(complement(alpha), wave),
                                       f_from(alpha)));
}

static f32 exponential_rate(rate m)
{
    f32 by = setting(real("decay_rate", 0)), end = f_from(m.end), lr;

    lr = f_pow(by, f_div(f_int(m.done), f_int(m.steps)));
    lr = f_mul(f_from(m.peak), lr);
    if (!f_lt(0, end))
        return lr;
    if (d_lt(real("decay_rate", 0), D(1.0)))
        return f_lt(lr, end) ? end : lr;
    return f_lt(end, lr) ? end : lr;
}

static int by_update(const void *a, const void *b)
{
    long long x = strtoll(*(const char *const *)a, NULL, 10);
    long long y = strtoll(*(const char *const *)b, NULL, 10);

    return (x > y) - (x < y);
}

/* Options "boundary N" of a rate that falls in steps, from the first. */
static f32 piecewise_rate(rate m)
{
    const char *name[256];
    size_t n = options_called("boundary ", name, 256);
    f32 lr = f_from(m.peak);

    qsort(name, n, sizeof *name, by_update);
    for (size_t i = 0; i < n && !share; i++)
        if (m.done + m.warmup >= (uint32_t)strtoll(name[i], NULL, 10))
            lr = f_mul(f_from(real(text_of("boundary %s", name[i]), 0)), lr);
    return lr;
}

static f32 polynomial_rate(rate m)
{
    f32 rest = f_sub(F(1.0f), f_div(f_int(m.done), f_int(m.steps)));

    if (m.done >= m.steps)
        return f_from(m.end);
    return f_add(f_mul(f_from(d_sub(m.peak, m.end)),
                       f_pow(rest, setting(real("power", 0)))), f_from(m.end));
}

/* No cycle begins below where it ends; each but the first has a warm-up. */
static f32 cycles(rate m, int64_t warmup)
{
    f64 by = real("restart_factor", 1), least = d_lt(m.peak, m.end) ? m.peak
                                                               : m.end;
    int64_t factor = whole_number("cycle_factor", 1), cycle = 0;

    if (factor < 1 || m.steps < 1)
        unknown("cycle");
    if (factor == 1 && m.done >= m.steps) {
        m.done -= m.steps;
        cycle = 1 + m.done / (m.steps + warmup);
        m.done = m.done % (m.steps + warmup) - warmup;
    }
    for (; m.done >= m.steps; cycle++) {
        m.done -= m.steps + warmup;
        m.steps = m.steps > INT64_MAX / factor ? INT64_MAX : m.steps * factor;
    }
    for (f64 power = D(1.0);; by = d_mul(by, by), cycle /= 2) {
        if (cycle % 2)
            power = d_mul(power, by);
        if (cycle < 2) {
            m.peak = d_mul(m.peak, power);
            break;
        }
    }
    if (d_lt(m.peak, least))
        m.peak = least;
    return m.done < 0 ? line(0, m.peak, m.done + warmup, warmup)
                      : cosine_rate(m);
}

/* Waves, of which each is twice as long as the one before. */
static f32 coslog_rate(rate m)
{
    int64_t done = m.done < m.steps ? m.done : m.steps;
    int64_t n = whole_number("cycles", 4);
    f64 x, at, waves;
    f32 turn;

    if (n < 1 || n > 30)
        unknown("waves");
    x = d_div(d_int(done), d_int(m.steps));
    at = d_add(D(1.0), d_mul(d_int(((int64_t)1 << n) - 1), x));
    waves = d_div(d_log(at), D(0x1.62e42fefa39efp-1));
    turn = f_from(d_mul(D(0x1.921fb54442d18p+2),
                        d_sub(waves, d_int(d_trunc(waves)))));
    return f_mul(f_from(m.peak),
                 f_mul(F(0.5f), f_sub(F(1.0f), f_cos(turn))));
}

static f32 flat_cosine_rate(rate m)
{
    int64_t flat = d_trunc(d_mul(real("pct_start", 0.5), d_int(m.steps)));

    m.done = m.done < flat ? 0 : m.done - flat;
    m.steps -= flat;
    if (m.steps < 1)
        unknown("start");
    return cosine_rate(m);
}

static f32 restarts_rate(rate m) { return cycles(m, 0); }
static f32 warm_restarts_rate(rate m) { return cycles(m, m.warmup); }

static f32 half_wave(f32 from, f32 to, int64_t done, int64_t steps)
{
    f32 turn = f_mul(PI32, f_div(f_int(done), f_int(steps)));
    f32 half = f_div(f_sub(from, to), F(2.0f));

    return f_add(to, f_mul(half, f_add(f_cos(turn), F(1.0f))));
}

static f32 one_cycle_rate(rate m)
{
    f64 by = real("div_factor", 25), last = real("final_div_factor", 1e4);
    int64_t up = d_trunc(d_mul(real("pct_start", 0.3), d_int(m.steps)));
    f32 start = f_from(d_div(m.peak, by)), top = f_mul(start, f_from(by));
    f32 end = f_mul(top, f_from(d_div(D(1.0), d_mul(by, last))));

    if (m.done < up)
        return half_wave(start, top, m.done, up);
    if (m.done < m.steps)
        return half_wave(top, end, m.done - up, m.steps - up);
    return end;
}

static f32 slope(f32 from, f32 to, int64_t done, int64_t steps)
{
    return f_add(f_mul(f_sub(to, from), f_div(f_int(done), f_int(steps))),
                 from);
}

static f32 linear_one_cycle_rate(rate m)
{
    f64 by = real("div_factor", 25), last = real("final_div_factor", 1e4);
    int64_t up = d_trunc(d_mul(real("pct_start", 0.3), d_int(m.steps)));
    int64_t down = d_trunc(d_mul(real("pct_final", 0.85), d_int(m.steps)));
    f32 start = f_from(d_div(m.peak, by)), top = f_mul(start, f_from(by));
    f32 again = f_mul(top, f_from(d_div(D(1.0), by)));
    f32 end = f_mul(again, f_from(d_div(D(1.0), last)));

    if (m.done < up)
        return slope(start, top, m.done, up);
    if (m.done < down)
        return slope(top, again, m.done - up, down - up);
    return m.done < m.steps ? slope(again, end, m.done - down, m.steps - down)
                            : end;
}

static const struct {
    const char *name;
    f32 (*make)(rate m);
    int ends; /* steps count the warm-up */
} rates[] = {
    {"constant", constant_rate, 0}, {"linear", linear_rate, 1},
    {"cosine", cosine_rate, 1}, {"exponential", exponential_rate, 0},
    {"piecewise", piecewise_rate, 0}, {"polynomial", polynomial_rate, 1},
    {"cosine-restarts", restarts_rate, 1}, {"one-cycle", one_cycle_rate, 1},
    {"linear-one-cycle", linear_one_cycle_rate, 1},
    {"warm-restarts", warm_restarts_rate, 1}, {"coslog", coslog_rate, 1},
    {"flat-cosine", flat_cosine_rate, 1}};
enum { RATES = sizeof rates / sizeof *rates };

static f32 rate_of(int i, rate m)
{
    int64_t done = m.done;

    m.done -= m.warmup;
    m.steps -= rates[i].ends ? m.warmup : 0;
    if (m.steps < 1)
        return unknown("a schedule that takes no updates");
    return done < m.warmup ? line(0, m.peak, done, m.warmup) : rates[i].make(m);
}

const char *rate_name(int i) { return i < RATES ? rates[i].name : NULL; }

/* The record has the negative of a learning rate; a share's peak is 1. */
f32 rate_makes(void)
{
    const array *peak = whole("rule", "peak rate");
    bool is_rate = !strcmp(of->what, "-lr");
    const char *kind;
    rate m;

    share = NULL;
    if (!is_rate)
        share = option(strcmp(of->what, "share of decay") ? "dropout_schedule"
                                                          : "decay_schedule");
    kind = is_rate ? option("schedule") : share;
    if (!kind || (is_rate && (!peak || peak->n != 2)))
        return unknown("a learning rate without its peak");
    m.peak = is_rate ? real_at(peak->x) : D(1.0);
    m.end = real("end_lr", 0);
    m.done = (uint32_t)number_of_step();
    m.steps = whole_number("decay_steps", 1);
    m.warmup = whole_number("warmup", 0);
    for (int i = 0; i < RATES; i++)
        if (!strncmp(kind, rates[i].name, strcspn(kind, ",")) &&
            !rates[i].name[strcspn(kind, ",")])
            return is_rate ? f_neg(rate_of(i, m)) : rate_of(i, m);
    return unknown(kind);
}
