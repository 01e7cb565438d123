/* SPDX-License-Identifier: BSD-3-Clause */
/* RealMLP: its network and training.  Where the paper leaves something open it
 * is as in the authors' program.
 *
 * A layer of the paper is x W / sqrt(inputs) + b.  Here it is x K + b with K =
 * W / sqrt(inputs) and the rate of K by the same factor, which is the same
 * training but for Adam's eps: so model files hold ordinary dense layers. */
#include "table/realmlp_parts.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LAYERS = 3, WIDTH = 256, MOST_MEMBERS = 1024 };

LS__DEFAULTS(ls_realmlp_options, ls_realmlp_defaults_bytes, .hidden = -1,
             .dropout = -1, .periodic = -1, .smoothing = -1, .members = 1)

/* ------ Names and columns ------ */

const char *ls__realmlp_name(const ls_realmlp *m, int64_t member,
                             const char *format, int i,
                             char room[LS__REALMLP_NAME])
{
    int n = 0;

    if (m->o.members > 1 && member < 0)
        n = snprintf(room, LS__REALMLP_NAME, "m*.");
    else if (m->o.members > 1)
        n = snprintf(room, LS__REALMLP_NAME, "m%lld.", (long long)member);
    snprintf(room + n, LS__REALMLP_NAME - (size_t)n, format, i);
    return room;
}

bool ls__realmlp_is_coded(const ls_realmlp *m, const ls_column *c)
{
    return c->words && (m->o.recipe == LS_REALMLP_TD_S ||
                        c->words <= LS__MOST_CODED);
}

static void count_columns(ls_realmlp *m)
{
    ls_column c;

    for (int i = 0; ls_coding_column(m->coding, i, &c); i++) {
        bool coded = ls__realmlp_is_coded(m, &c);

        m->numbers += !c.words;
        m->codes += coded ? ls__realmlp_codes(&c) : 0;
        m->embedded += c.words && !coded;
    }
    m->front = m->numbers * (m->o.periodic > 0 ? 1 + LS__OF_WAVES : 1) +
               m->codes + m->embedded * LS__EMBEDDED;
    ls_coding_target(m->coding, &c);
    m->classes = c.words;
    m->width[m->o.hidden] = c.words ? c.words : 1;
}

/* ------ How it is trained ------ */

/* The authors' program multiplies weight decay by a parameter's factor of the
 * rate twice, so that the decay of a group is its rate here. */
static void add_group(ls_realmlp *m, const char *format, int i, double rate,
                      double decay)
{
    char *room = m->room[m->groups];
    ls_group *g = &m->group[m->groups++];

    *g = ls_group_of(ls__realmlp_name(m, -1, format, i, room));
    g->rate = rate;
    g->decay = decay;
}

static void make_groups(ls_realmlp *m)
{
    add_group(m, "layers.*.bias", 0, 0.1, 0);
    add_group(m, "scale", 0, 6, 6);
    if (m->codes)
        m->group[m->groups++] = ls_group_frozen("codes.*");
    if (m->o.recipe == LS_REALMLP_TD && m->o.hidden > 0)
        add_group(m, "act.*", 0, 0.1, 0.1);
    if (m->numbers && m->o.periodic > 0)
        add_group(m, "periodic.*", 0, 0.1, 0.1);
    for (int i = 0; i <= m->o.hidden; i++) {
        double root = sqrt((double)(i ? m->width[i - 1] : m->front));

        add_group(m, "layers.%d.kernel", i, 1 / root, root);
    }
    if (m->o.recipe == LS_REALMLP_TD_S) {
        m->group[m->groups] = ls_group_of("*");
        m->group[m->groups++].decay = 0;
    }
}

const ls_group *ls_realmlp_groups(const ls_realmlp *realmlp, int *count)
{
    LS__NEED_OR(realmlp, NULL);
    LS__NEED_OR(count, NULL);
    *count = realmlp->groups;
    return realmlp->group;
}

ls_optimizer ls_realmlp_optimizer(const ls_realmlp *realmlp)
{
    ls_optimizer o = ls_adamw(0);

    LS__NEED_OR(realmlp, o);
    o.lr = realmlp->classes ? 0.04
           : realmlp->o.recipe == LS_REALMLP_TD ? 0.2 : 0.07;
    o.b2 = 0.95;
    o.weight_decay = 0.02;
    return o;
}

ls_schedule ls_realmlp_schedule(ls_realmlp_course course, int64_t steps)
{
    ls_schedule s = ls_schedule_defaults(
        course == LS_REALMLP_RATE ? LS_COSLOG : LS_FLAT_COSINE);

    s.decay_steps = steps > 0 ? steps : 1;
    return s;
}

/* ------ Options ------ */

static int check_options(const ls_realmlp *m)
{
    const ls_realmlp_options *o = &m->o;

    if (o->recipe != LS_REALMLP_TD && o->recipe != LS_REALMLP_TD_S)
        return ls__fail(LS_EINVAL, "ls_realmlp_new: recipe %d is none",
                        (int)o->recipe);
    if (o->hidden > LS__MOST_LAYERS || (o->hidden > 0 && !o->width))
        return ls__fail(LS_EINVAL, "%d hidden layers of a RealMLP%s; %d are "
                        "the most", o->hidden,
                        o->width ? "" : " without widths", LS__MOST_LAYERS);
    if (o->members < 1 || o->members > MOST_MEMBERS)
        return ls__fail(LS_EINVAL, "%lld members of a RealMLP; from 1 to %d "
                        "may be", (long long)o->members, MOST_MEMBERS);
    if (!(o->dropout < 1) || !(o->smoothing < 1) || !isfinite(o->periodic))
        return ls__fail(LS_EINVAL, "ls_realmlp_new: dropout %g, smoothing %g, "
                        "periodic %g: shares are below 1", o->dropout,
                        o->smoothing, o->periodic);
    if (ls_coding_window(m->coding, NULL))
        return ls__fail(LS_EINVAL, "ls_realmlp_new: the coding is of a series");
    return 0;
}

static void settle(double *value, double of_recipe)
{
    if (*value < 0)
        *value = of_recipe;
}

static void settle_options(ls_realmlp *m)
{
    ls_realmlp_options *o = &m->o;
    bool more = o->recipe == LS_REALMLP_TD;

    for (int i = 0; i < LS__MOST_LAYERS; i++)
        m->width[i] = i < o->hidden ? o->width[i] : WIDTH;
    if (o->hidden < 0)
        o->hidden = LAYERS;
    settle(&o->dropout, more ? 0.15 : 0);
    settle(&o->periodic, more ? 0.1 : 0);
    settle(&o->smoothing, 0.1);
}

int ls_realmlp_new(ls_realmlp **realmlp, const ls_coding *coding,
                   const ls_realmlp_options *options)
{
    LS__NEED(realmlp);
    LS__NEED(coding);

    ls_realmlp_options o = ls_realmlp_defaults();
    int status = ls__sized_take("realmlp", &o, sizeof o, options);
    ls_realmlp *m = status < 0 ? NULL : ls__new(1, sizeof *m, "a network");

    if (!m)
        return status < 0 ? status : LS_ENOMEM;
    m->coding = coding;
    m->o = o;
    if ((status = check_options(m)) < 0) {
        free(m);
        return status;
    }
    settle_options(m);
    count_columns(m);
    if (!o.activate)
        m->o.activate = m->classes ? ls_selu : ls_mish;
    make_groups(m);
    *realmlp = m;
    return 0;
}

void ls_realmlp_free(ls_realmlp *realmlp)
{
    free(realmlp);
}
