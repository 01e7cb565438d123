/* SPDX-License-Identifier: BSD-3-Clause */
/* Initialisers: made one by one, or by their names. */
#include "base/error.h"
#include <lockstep/initial.h>

#include <string.h>

ls_init ls_init_constant(double value)
{
    return (ls_init){.kind = LS_INIT_CONSTANT, .scale = value};
}

ls_init ls_init_random(ls_distribution distribution, double scale)
{
    return (ls_init){.kind = LS_INIT_RANDOM, .distribution = distribution,
                     .scale = scale};
}

ls_init ls_init_variance(ls_distribution distribution, ls_fan fan,
                         double scale)
{
    return (ls_init){.kind = LS_INIT_VARIANCE, .distribution = distribution,
                     .fan = fan, .scale = scale};
}

ls_init ls_init_orthogonal(double scale)
{
    return (ls_init){.kind = LS_INIT_ORTHOGONAL, .scale = scale};
}

/* ------ by their names ------ */

#define VARIANCE(distribution, fan, scale) \
    {LS_INIT_VARIANCE, distribution, fan, scale, NULL, NULL}
#define RANDOM(distribution) \
    {LS_INIT_RANDOM, distribution, LS_FAN_IN, 0.01, NULL, NULL}

// clang-format off
static const struct {
    const char *name;
    ls_init init;
} rows[] = {
    {"zeros", {.kind = LS_INIT_CONSTANT}},
    {"ones", {.kind = LS_INIT_CONSTANT, .scale = 1}},
    {"uniform", RANDOM(LS_UNIFORM)},
    {"normal", RANDOM(LS_NORMAL)},
    {"truncated", RANDOM(LS_TRUNCATED_NORMAL)},
    {"lecun-uniform", VARIANCE(LS_UNIFORM, LS_FAN_IN, 1)},
    {"lecun-normal", VARIANCE(LS_NORMAL, LS_FAN_IN, 1)},
    {"lecun-truncated", VARIANCE(LS_TRUNCATED_NORMAL, LS_FAN_IN, 1)},
    {"glorot-uniform", VARIANCE(LS_UNIFORM, LS_FAN_AVERAGE, 1)},
    {"glorot-normal", VARIANCE(LS_NORMAL, LS_FAN_AVERAGE, 1)},
    {"glorot-truncated", VARIANCE(LS_TRUNCATED_NORMAL, LS_FAN_AVERAGE, 1)},
    {"he-uniform", VARIANCE(LS_UNIFORM, LS_FAN_IN, 2)},
    {"he-normal", VARIANCE(LS_NORMAL, LS_FAN_IN, 2)},
    {"he-truncated", VARIANCE(LS_TRUNCATED_NORMAL, LS_FAN_IN, 2)},
    {"orthogonal", {.kind = LS_INIT_ORTHOGONAL, .scale = 1}},
};
// clang-format on

enum { ROWS = sizeof rows / sizeof *rows };

const char *ls_init_name(int i)
{
    return i >= 0 && i < ROWS ? rows[i].name : NULL;
}

int ls_init_named(ls_init *init, const char *name)
{
    LS__NEED(init);
    LS__NEED(name);
    for (int i = 0; i < ROWS; i++)
        if (!strcmp(rows[i].name, name)) {
            *init = rows[i].init;
            return 0;
        }
    return ls__fail(LS_ENOTFOUND, "no initialiser is called \"%.64s\"", name);
}
