/* SPDX-License-Identifier: BSD-3-Clause */
/* Early stopping, and the rate's reduction on a plateau of a watched number. */
#include "base/error.h"
#include <lockstep/control.h>

static const double NOTHING = __builtin_nan("");

/* ------ early stopping ------ */

static bool is_better(const ls_early_stop *s, double value)
{
    double by = s->rising ? value - s->best : s->best - value;

    return value == value && (s->best != s->best || by > s->min_delta);
}

bool ls_early_stop_take(ls_early_stop *s, double value)
{
    LS__NEED_AS(s, "stop", false);
    if (s->values++ == 0)
        s->best = NOTHING;
    s->since++;
    if (is_better(s, value)) {
        s->best = value;
        s->since = 0;
    }
    return s->patience > 0 && s->since >= s->patience;
}

/* ------ plateaus ------ */

ls_plateau ls_plateau_defaults(void)
{
    return (ls_plateau){.factor = 0.1, .patience = 10, .rtol = 1e-4,
                        .scale = 1};
}

static bool is_progress(const ls_plateau *p, double value)
{
    if (p->best != p->best)
        return value == value;
    return p->rising ? value > (1 + p->rtol) * p->best + p->atol
                     : value < (1 - p->rtol) * p->best - p->atol;
}

static void reduce(ls_plateau *p)
{
    p->scale *= p->factor;
    if (p->scale < p->min_scale)
        p->scale = p->min_scale;
    p->since = 0;
    p->rest = p->cooldown;
}

double ls_plateau_take(ls_plateau *p, double value)
{
    LS__NEED_AS(p, "plateau", 1);
    if (p->values++ == 0)
        p->best = NOTHING;
    p->since++;
    if (is_progress(p, value)) {
        p->best = value;
        p->since = 0;
    }
    if (p->rest > 0) {
        p->rest--;
        p->since = 0;
    } else if (p->patience > 0 && p->since >= p->patience) {
        reduce(p);
    }
    return p->scale;
}
