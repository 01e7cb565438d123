/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules: optax's learning rates, and what is refused. */
#include "calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "golden/schedules.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static ls_schedule schedule_of(size_t i)
{
    return (ls_schedule){
        .kind = golden_schedule[i].kind,
        .warmup = golden_schedule[i].warmup,
        .decay_steps = golden_schedule[i].decay_steps,
        .decay_rate = golden_schedule[i].decay_rate,
        .end_lr = golden_schedule[i].end_lr,
        .n_boundaries = (int)COUNT(golden_boundary),
        .boundaries = golden_boundary,
        .power = golden_schedule[i].power,
        .cycle_factor = golden_schedule[i].cycle_factor,
        .restart_factor = golden_schedule[i].restart_factor,
        .pct_start = golden_schedule[i].pct_start,
        .div_factor = golden_schedule[i].div_factor,
        .final_div_factor = golden_schedule[i].final_div_factor,
        .pct_final = golden_schedule[i].pct_final,
    };
}

static bool waves(ls_schedule_kind kind)
{
    return kind == LS_COSINE || kind == LS_RESTARTS || kind == LS_ONE_CYCLE ||
           kind == LS_WARM_RESTARTS;
}

/* How many floats apart two are, neither negative. */
static int apart(float a, float b)
{
    int32_t x, y;

    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    return abs(x - y);
}

/* ------ learning rates ------ */

/* Every schedule gives optax's learning rates: to the bit, but for those of a
 * cosine, which may be an ulp off. */
TEST(test_optax)
{
    for (size_t i = 0; i < COUNT(golden_schedule); i++) {
        ls_schedule s = schedule_of(i);
        const float *want = golden("schedules", 120, "lr/%zu", i);
        int most = waves(s.kind);

        for (int c = 0; c < 120; c++) {
            float lr;

            OK(ls_schedule_lr(&s, golden_schedule[i].peak, c, &lr));
            ck_assert_msg(apart(lr, want[c]) <= most,
                          "schedule %zu after %d updates: %a is not %a", i, c,
                          (double)lr, (double)want[c]);
        }
    }
}

/* Past the end of the run the rate stays where it is, also for counts that no
 * float holds. */
TEST(test_far)
{
    static const double want[] = {0.1, 0.001, 0.001, 0.001, 0.1 * 0.1, 0.001,
                                  0.001, 0.1 / 25 / 1e4, 0.1 / 25 / 1e4,
                                  0.001, 0, 0.001};
    static const ls_boundary boundary[] = {{7, 0.1}};

    for (int kind = LS_CONSTANT; kind <= LS_FLAT_COSINE; kind++) {
        ls_schedule s = ls_schedule_defaults((ls_schedule_kind)kind);
        float lr = 0;

        s.warmup = 3;
        if (kind == LS_ONE_CYCLE || kind == LS_LINEAR_ONE_CYCLE)
            s.warmup = 0;
        s.decay_steps = 10;
        s.decay_rate = s.restart_factor = 0.5;
        s.end_lr = 0.001;
        s.power = 2;
        s.n_boundaries = 1;
        s.boundaries = boundary;

        OK(ls_schedule_lr(&s, 0.1, INT64_MAX / 2, &lr));
        ck_assert_double_eq_tol((double)lr, want[kind], 1e-8);
    }
}

/* Cycles that grow stop growing where no count could pass them; the start of
 * each is that of the one before times restart_factor. */
TEST(test_restarts_far)
{
    ls_schedule s = ls_schedule_defaults(LS_RESTARTS);
    int64_t at = 0, length = 10;
    float lr;

    s.decay_steps = 10;
    s.cycle_factor = 4;
    s.restart_factor = 0.5;
    for (int cycle = 0; cycle < 28; cycle++) {
        OK(ls_schedule_lr(&s, 1, at, &lr));
        ck_assert(lr == ldexpf(1, -cycle));
        at += length;
        length *= 4;
    }
    s.cycle_factor = INT64_MAX;
    OK(ls_schedule_lr(&s, 1, INT64_MAX, &lr));
    ck_assert(lr <= 0.5f);
}

/* RealMLP's two schedules are their formulas in double, to a few roundings. */
TEST(test_realmlp)
{
    ls_schedule wave = ls_schedule_defaults(LS_COSLOG);
    ls_schedule fall = ls_schedule_defaults(LS_FLAT_COSINE);
    const double pi = 0x1.921fb54442d18p+1;
    float lr;

    wave.decay_steps = fall.decay_steps = 1000;
    for (int c = 0; c <= 1000; c++) {
        double t = c / 1000.0, want = (1 - cos(2 * pi * log2(1 + 15 * t))) / 2;

        OK(ls_schedule_lr(&wave, 0.04, c, &lr));
        ck_assert_double_eq_tol((double)lr, 0.04 * want, 1e-8);
        want = t < 0.5 ? 1 : (1 + cos(pi * (2 * t - 1))) / 2;
        OK(ls_schedule_lr(&fall, 0.02, c, &lr));
        ck_assert_double_eq_tol((double)lr, 0.02 * want, 1e-8);
    }
    wave.cycles = 1;
    wave.warmup = 10;
    OK(ls_schedule_lr(&wave, 1, 5, &lr));
    ck_assert(lr == 0.5f);
    OK(ls_schedule_lr(&wave, 1, 10, &lr));
    ck_assert(lr == 0);
}

/* The linear scaling rule is exact for powers of two. */
TEST(test_scale)
{
    ck_assert(ls_scale_lr(1e-3, 32) == 1e-3);
    ck_assert(ls_scale_lr(1e-3, 128) == 4e-3);
    ck_assert(ls_scale_lr(1e-3, 8) == 0.25e-3);
}

/* Values that make no sense are refused by name, and *lr is left alone. */
TEST(test_refused_schedules)
{
    static const ls_boundary twice[] = {{5, 0.1}, {5, 0.1}};
    static const ls_boundary negative[] = {{5, -0.1}};
    static const struct {
        ls_schedule s;
        const char *words;
    } row[] = {
        {{.kind = (ls_schedule_kind)12}, "kind 12 is unknown"},
        {{.kind = LS_COSLOG, .decay_steps = 9, .cycles = 31},
         "coslog: cycles is 31; it must be a whole number from 1 to 30"},
        {{.kind = LS_FLAT_COSINE, .decay_steps = 9, .warmup = 9},
         "flat-cosine: 9 decay steps end within the warm-up of 9"},
        {{.kind = LS_LINEAR_ONE_CYCLE, .decay_steps = 9, .div_factor = 1,
          .final_div_factor = 1, .pct_start = .5, .pct_final = .55},
         "it turns at 4 and 4 of 9 decay steps"},
        {{.kind = LS_LINEAR_ONE_CYCLE, .decay_steps = 9, .div_factor = 1,
          .final_div_factor = 1, .pct_final = .5, .warmup = 2},
         "linear-one-cycle: a warm-up of 2 updates"},
        {{.kind = LS_POLYNOMIAL, .decay_steps = 9}, "power is 0; it must be a "
         "finite number above 0"},
        {{.kind = LS_RESTARTS, .decay_steps = 9}, "cycle_factor is 0"},
        {{.kind = LS_RESTARTS, .decay_steps = 9, .cycle_factor = 1,
          .restart_factor = 1.5}, "restart_factor is 1.5"},
        {{.kind = LS_RESTARTS, .decay_steps = 9, .cycle_factor = 1,
          .restart_factor = 1, .warmup = 9},
         "cosine-restarts: 9 decay steps end within the warm-up of 9"},
        {{.kind = LS_ONE_CYCLE, .decay_steps = 9, .pct_start = 1},
         "pct_start is 1; it must be a number from 0 to below 1"},
        {{.kind = LS_ONE_CYCLE, .decay_steps = 9}, "div_factor is 0"},
        {{.kind = LS_ONE_CYCLE, .decay_steps = 9, .div_factor = 1,
          .final_div_factor = 1, .warmup = 2},
         "one-cycle: a warm-up of 2 updates"},
        {{.kind = (ls_schedule_kind)-1}, "kind -1 is unknown"},
        {{.warmup = -1},
         "schedule constant: warmup is -1; it must be a whole number"},
        {{.kind = LS_LINEAR}, "schedule linear: decay_steps is 0"},
        {{.kind = LS_EXPONENTIAL, .decay_rate = 1}, "decay_steps is 0"},
        {{.kind = LS_COSINE, .decay_steps = 10, .warmup = 10},
         "cosine: 10 decay steps end within the warm-up of 10"},
        {{.kind = LS_COSINE, .decay_steps = 10, .end_lr = -1},
         "end_lr is -1; it must be a finite number from 0 up"},
        {{.kind = LS_COSINE, .decay_steps = 10, .end_lr = (double)NAN},
         "end_lr is"},
        {{.kind = LS_EXPONENTIAL, .decay_steps = 1}, "decay_rate is 0"},
        {{.kind = LS_EXPONENTIAL, .decay_steps = 1,
          .decay_rate = (double)INFINITY},
         "decay_rate is inf"},
        {{.kind = LS_COSINE, .decay_steps = 10, .end_lr = 1e39},
         "end_lr is 1e+39"},
        {{.kind = LS_EXPONENTIAL, .decay_steps = 1, .decay_rate = 1e39},
         "decay_rate is 1e+39"},
        {{.kind = LS_PIECEWISE}, "no boundaries"},
        {{.kind = LS_PIECEWISE, .n_boundaries = 2, .boundaries = twice},
         "boundary 1 at update 5; it must be at least 6"},
        {{.kind = LS_PIECEWISE, .n_boundaries = 1, .boundaries = twice,
          .warmup = 6}, "boundary 0 at update 5; it must be at least 6"},
        {{.kind = LS_PIECEWISE, .n_boundaries = 1, .boundaries = negative},
         "factor -0.1"},
    };
    float lr = 7;

    for (size_t i = 0; i < COUNT(row); i++)
        FAILS(ls_schedule_lr(&row[i].s, 1, 0, &lr), LS_EINVAL, row[i].words);
    FAILS(ls_schedule_lr(&(ls_schedule){0}, -1, 0, &lr), LS_EINVAL,
            "peak -1");
    FAILS(ls_schedule_lr(&(ls_schedule){0}, 1, -1, &lr), LS_EINVAL,
            "after -1 updates");
    FAILS(ls_schedule_lr(&(ls_schedule){.kind = LS_COSINE, .decay_steps = 10,
                                        .end_lr = 1e38}, 1e-30, 5, &lr),
          LS_ENONFINITE, "cosine: the learning rate after 5 updates is not");
    ck_assert(lr == 7.0f);
}

MAIN()
