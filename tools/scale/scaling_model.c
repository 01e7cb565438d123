/* SPDX-License-Identifier: BSD-3-Clause */
/* Conclusions from measured points: the serial share (Amdahl), and the sentence
 * that names what costs most.  Arithmetic only.
 *
 * A step on W workers is gradients + reduce + update + the rest, each phase as
 * long as its busiest worker takes.  W workers should need a W-th of 1 worker's
 * phase (gradients of weak scaling: all of it, since they do W times the rows);
 * what they need beyond that is the loss of the phase. */
#include "scale/scaling.h"
#include "scale/scaling_fail.h"

#include <math.h>
#include <stdio.h>

static bool tells(const scaling_point *p)
{
    return p->verified && !p->oversubscribed && p->seconds > 0;
}

static bool counts(const scaling_point *p)
{
    return tells(p) && p->ranks <= 1;
}

/* The last one, of any number of ranks. */
static const scaling_point *largest_point(const scaling *s)
{
    const scaling_point *best = &s->point[0];

    for (int i = 0; i < s->points; i++)
        if (tells(&s->point[i]))
            best = &s->point[i];
    return best;
}

/* ------ Amdahl ------ */

/* t = a + b / W with weights 1 / t^2, so that t is relative: the normal
 * equations of the two columns 1/t and 1/(W t) against ones.  s = a/(a+b). */
int scaling_serial(const scaling *s, double *share)
{
    double aa = 0, ab = 0, bb = 0, ya = 0, yb = 0, a, b;
    int n = 0;

    for (int i = 0; i < s->points; i++) {
        const scaling_point *p = &s->point[i];
        double u = (double)p->rows / p->seconds, v = u / p->workers;

        if (!counts(p))
            continue;
        aa += u * u;
        ab += u * v;
        bb += v * v;
        ya += u;
        yb += v;
        n++;
    }
    if (n < 3)
        return scaling_fail(LS_EINVAL, "a serial share needs three counts of "
                            "workers, verified and with a core each; there are "
                            "%d", n);
    a = ya * bb - yb * ab; /* both times the determinant, which is above 0 */
    b = yb * aa - ya * ab;
    *share = a <= 0 ? 0 : b <= 0 ? 1 : a / (a + b);
    return 0;
}

/* ------ Parts of a step ------ */

/* The busiest worker's part of the gradients of all devices: whole ones, or,
 * with more workers than devices, its even part of the smallest team's one. */
static double share_of(int devices, int workers)
{
    int most = (devices + workers - 1) / workers; /* of whole ones */

    return workers > devices ? 1. / devices / (workers / devices)
                             : (double)most / devices;
}

static double fold(const scaling *s, int workers)
{
    return s->weak ? workers : 1;
}

static double rest(const scaling_point *p)
{
    double r = p->seconds - p->max.gradients - p->max.reduce - p->max.update;

    return r > 0 ? r : 0;
}

double scaling_chunks(const ls_work *w, int64_t rows)
{
    int64_t shard;

    if (w->shards < 1 || w->chunk_rows < 1)
        return 0;
    shard = (rows + w->shards - 1) / w->shards;
    return (double)(w->shards *
                    ((shard + w->chunk_rows - 1) / w->chunk_rows));
}

double scaling_bytes(const ls_work *w, int64_t rows)
{
    double chunks = scaling_chunks(w, rows);

    return chunks > 0 ? (double)rows * w->row_bytes + chunks * w->chunk_bytes
                      : 0;
}

/* ------ The sentence ------ */

/* The arguments of the terms below. */
typedef struct loss {
    const scaling *s;
    const scaling_point *p, *one;
    double gradients; /* 1 worker's, perfectly divided */
} loss;

static bool has_ranks(const loss *l)
{
    return l->p->ranks > 1;
}

static double update_part(const loss *l)
{
    return l->p->max.update - l->one->max.update / scaling_hands(l->p);
}

static double reduce_part(const loss *l)
{
    return l->p->max.reduce - l->one->max.reduce / scaling_hands(l->p);
}

static double update_loss(const loss *l)
{
    return has_ranks(l) ? 0 : update_part(l);
}

static double reduce_loss(const loss *l)
{
    return has_ranks(l) ? 0 : reduce_part(l);
}

/* Messages, and the waiting for them, are what these phases are between
 * ranks. */
static double exchange_loss(const loss *l)
{
    return has_ranks(l) ? update_part(l) + reduce_part(l) : 0;
}

/* The busiest worker's share of all devices, on the busiest rank. */
static double most_devices(const loss *l)
{
    int devices = l->s->info.devices, ranks = has_ranks(l) ? l->p->ranks : 1;
    int most = (devices + ranks - 1) / ranks;

    return share_of(most, l->p->workers) * most / devices;
}

/* The loss by an uneven deal of devices to workers, or workers to devices: of
 * one rank no more than what was lost, since those that are done help. */
static double deal_loss(const loss *l)
{
    double dealt =
        l->gradients * (most_devices(l) * scaling_hands(l->p) - 1);
    double lost = fmax(0, 1 - l->p->efficiency) * l->p->seconds;

    return has_ranks(l) ? dealt : fmin(dealt, lost);
}

/* All workers slower than one alone. */
static double slow_loss(const loss *l)
{
    return l->p->mean.gradients - l->gradients;
}

/* One worker slower than the others, beyond what it was dealt.  Where they help
 * it, what they do of their own may be less than a share. */
static double uneven_loss(const loss *l)
{
    return l->p->max.gradients - fmax(l->p->mean.gradients, l->gradients) -
           deal_loss(l);
}

static double wait_loss(const loss *l)
{
    return rest(l->p) - rest(l->one);
}

static double percent(double part, const loss *l)
{
    return 100 * part / l->p->seconds;
}

/* " at 85 % of the copy roof", where it was measured. */
static const char *roof_text(const loss *l, double rate, char room[64])
{
    double roof = l->p->copy_roof;

    *room = 0;
    if (roof > 0)
        snprintf(room, 64, " at %.0f %% of the copy roof", 100 * rate / roof);
    return room;
}

static int say_update(const loss *l, char *out, size_t room)
{
    double share = percent(l->p->max.update, l);
    char roof[64];

    if (l->s->cut < 0.5)
        return snprintf(out, room, "update takes %.0f %%, all of it on the "
                        "caller: use --state shard", share);
    return snprintf(out, room, "update takes %.0f %%%s: it is bound by memory; "
                    "a larger batch updates less often", share,
                    roof_text(l, l->p->update_rate, roof));
}

static int say_reduce(const loss *l, char *out, size_t room)
{
    char roof[64];

    return snprintf(out, room, "reduce takes %.0f %%%s: it reads a gradient of "
                    "each of the %d devices; fewer --devices or a larger batch "
                    "make it less", percent(l->p->max.reduce, l),
                    roof_text(l, l->p->reduce_rate, roof),
                    l->s->info.devices);
}

static int say_exchange(const loss *l, char *out, size_t room)
{
    return snprintf(out, room, "what %d ranks send each other and wait for "
                    "takes %.0f %%: a larger batch, or --accumulate, sends "
                    "less often", l->p->ranks, percent(exchange_loss(l), l));
}

static int say_deal(const loss *l, char *out, size_t room)
{
    int devices = l->s->info.devices, workers = scaling_hands(l->p);

    return snprintf(out, room, "%d devices do not divide by %d workers, which "
                    "costs %.0f %%: use --devices %d", devices, workers,
                    percent(deal_loss(l), l),
                    (devices + workers - 1) / workers * workers);
}

static int say_slow(const loss *l, char *out, size_t room)
{
    double moved = l->p->gradient_rate;
    char roof[64] = "";

    if (moved > 0)
        roof_text(l, moved, roof);
    return snprintf(out, room, "gradients%s take %.0f %% more of each core's "
                    "time than on one alone: cores share memory, caches and "
                    "clock; see lockstep-info --measure, and quieten the "
                    "machine", roof, 100 * slow_loss(l) / l->gradients);
}

static int say_uneven(const loss *l, char *out, size_t room)
{
    return snprintf(out, room, "%.0f %% is waiting for the worker with the "
                    "slowest gradients: something else runs on its core, or "
                    "cores differ; use fewer workers or quieten the machine",
                    percent(uneven_loss(l), l));
}

static int say_wait(const loss *l, char *out, size_t room)
{
    bool small = l->p->seconds < 1e-3;

    return snprintf(out, room, "barriers and starting take %.0f %% of a step "
                    "of %.3g %s: use a larger batch", percent(rest(l->p), l),
                    (small ? 1e6 : 1e3) * l->p->seconds, small ? "us" : "ms");
}

static const struct term {
    double (*loss)(const loss *l);
    int (*say)(const loss *l, char *out, size_t room);
} terms[] = {
    {update_loss, say_update}, {reduce_loss, say_reduce},
    {deal_loss, say_deal},     {slow_loss, say_slow},
    {uneven_loss, say_uneven}, {wait_loss, say_wait},
    {exchange_loss, say_exchange},
};

static const struct term *largest(const loss *l)
{
    const struct term *found = &terms[0];

    for (size_t i = 1; i < sizeof terms / sizeof *terms; i++)
        if (terms[i].loss(l) > found->loss(l))
            found = &terms[i];
    return found;
}

void scaling_advise(scaling *s)
{
    enum { GOOD = 95 }; /* per cent */
    const scaling_point *p = largest_point(s), *one = &s->point[0];
    loss l = {.s = s, .p = p, .one = one};
    int at = 0, hands = scaling_hands(p);
    char ranks[32] = "";

    if (hands == 1) {
        snprintf(s->advice, sizeof s->advice, "no count above 1 worker is "
                 "verified and has a core for each: nothing to compare");
        return;
    }
    l.gradients = one->max.gradients / hands * fold(s, hands);
    if (p->ranks > 1)
        snprintf(ranks, sizeof ranks, " on %d ranks", p->ranks);
    if (100 * p->efficiency >= GOOD)
        at = snprintf(s->advice, sizeof s->advice, "%d workers%s are %.0f %% "
                      "efficient; most of what is left: ", hands, ranks,
                      100 * p->efficiency);
    largest(&l)->say(&l, s->advice + at, sizeof s->advice - (size_t)at);
}
