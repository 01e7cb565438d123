/* Made by make_schedules.py with jax 0.10.2, optax 0.2.8,
 * numpy 2.4.6; not edited by hand. */
#ifndef GOLDEN_SCHEDULES_H
#define GOLDEN_SCHEDULES_H

#include "lockstep.h"

// clang-format off

/* Boundaries of the piecewise cases. */
static const ls_boundary golden_boundary[] = {
    {10, 0.1}, {20, 0.3}, {75, 0.7}
};

static const struct {
    ls_schedule_kind kind;
    int64_t warmup, decay_steps;
    double decay_rate, end_lr, peak;
    double power;
    int64_t cycle_factor;
    double restart_factor, pct_start, div_factor, final_div_factor, pct_final;
} golden_schedule[] = {
    {LS_CONSTANT, 0, 0, 0, 0, 3e-4, 0, 0, 0, 0, 0, 0, 0},
    {LS_CONSTANT, 10, 0, 0, 0, 0.1, 0, 0, 0, 0, 0, 0, 0},
    {LS_LINEAR, 0, 37, 0, 1e-5, 3e-4, 0, 0, 0, 0, 0, 0, 0},
    {LS_LINEAR, 0, 100, 0, 0, 0.1, 0, 0, 0, 0, 0, 0, 0},
    {LS_LINEAR, 0, 1000, 0, 0.3, 1e-3, 0, 0, 0, 0, 0, 0, 0},
    {LS_LINEAR, 13, 97, 0, 1e-5, 3e-4, 0, 0, 0, 0, 0, 0, 0},
    {LS_COSINE, 0, 50, 0, 0, 3e-4, 0, 0, 0, 0, 0, 0, 0},
    {LS_COSINE, 0, 1000, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0},
    {LS_COSINE, 0, 37, 0, 0.01, 0.1, 0, 0, 0, 0, 0, 0, 0},
    {LS_COSINE, 10, 100, 0, 1e-5, 1e-3, 0, 0, 0, 0, 0, 0, 0},
    {LS_COSINE, 1, 61, 0, 0, 3e-4, 0, 0, 0, 0, 0, 0, 0},
    {LS_EXPONENTIAL, 0, 10, 0.96, 0, 3e-4, 0, 0, 0, 0, 0, 0, 0},
    {LS_EXPONENTIAL, 0, 7, 0.5, 0.01, 0.1, 0, 0, 0, 0, 0, 0, 0},
    {LS_EXPONENTIAL, 0, 33, 1.05, 0.0011, 1e-3, 0, 0, 0, 0, 0, 0, 0},
    {LS_EXPONENTIAL, 17, 40, 0.1, 0, 0.1, 0, 0, 0, 0, 0, 0, 0},
    {LS_PIECEWISE, 0, 0, 0, 0, 0.1, 0, 0, 0, 0, 0, 0, 0},
    {LS_PIECEWISE, 9, 0, 0, 0, 3e-4, 0, 0, 0, 0, 0, 0, 0},
    {LS_POLYNOMIAL, 0, 100, 0, 0, 0.1, 2.0, 0, 0, 0, 0, 0, 0},
    {LS_POLYNOMIAL, 0, 37, 0, 1e-5, 3e-4, 0.5, 0, 0, 0, 0, 0, 0},
    {LS_POLYNOMIAL, 7, 90, 0, 0.3, 1e-3, 3.7, 0, 0, 0, 0, 0, 0},
    {LS_POLYNOMIAL, 0, 110, 0, 0.01, 0.1, 1.0, 0, 0, 0, 0, 0, 0},
    {LS_RESTARTS, 0, 30, 0, 0, 0.1, 0, 1, 1, 0, 0, 0, 0},
    {LS_RESTARTS, 5, 20, 0, 1e-5, 1e-3, 0, 2, 1, 0, 0, 0, 0},
    {LS_RESTARTS, 0, 7, 0, 1e-4, 0.1, 0, 1, 0.8, 0, 0, 0, 0},
    {LS_RESTARTS, 3, 12, 0, 0, 3e-4, 0, 3, 0.5, 0, 0, 0, 0},
    {LS_ONE_CYCLE, 0, 100, 0, 0, 0.1, 0, 0, 0, 0.3, 25, 1e4, 0},
    {LS_ONE_CYCLE, 0, 61, 0, 0, 3e-4, 0, 0, 0, 0.45, 10, 100, 0},
    {LS_ONE_CYCLE, 0, 50, 0, 0, 1e-3, 0, 0, 0, 0, 4, 1, 0},
    {LS_LINEAR_ONE_CYCLE, 0, 100, 0, 0, 0.1, 0, 0, 0, 0.3, 25, 1e4, 0.85},
    {LS_LINEAR_ONE_CYCLE, 0, 61, 0, 0, 3e-4, 0, 0, 0, 0.45, 10, 100, 0.7},
    {LS_LINEAR_ONE_CYCLE, 0, 50, 0, 0, 1e-3, 0, 0, 0, 0, 4, 1, 0.5},
    {LS_WARM_RESTARTS, 5, 20, 0, 1e-5, 1e-3, 0, 2, 1, 0, 0, 0, 0},
    {LS_WARM_RESTARTS, 3, 12, 0, 0, 3e-4, 0, 1, 0.8, 0, 0, 0, 0},
    {LS_WARM_RESTARTS, 4, 9, 0, 1e-3, 0.1, 0, 3, 0.5, 0, 0, 0, 0},
};

// clang-format on

#endif
