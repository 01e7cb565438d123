/* SPDX-License-Identifier: BSD-3-Clause */
/* Synchronisation points of a step.  Worker 0 is the caller; the others read
 * the outcome after the barrier that ends one, in a phase in which ranks
 * exchange nothing. */
#include "ranks/sync_points.h"
#include "base/assert.h"
#include "base/error.h"
#include "ranks/link.h"
#include "ranks/all_gather.h"
#include "ranks/reduce_scatter.h"
#include "train/joint.h"
#include "train/phases.h"
#include "ranks/ranks.h"
#include "train/trainer.h"
#include "train/verdict.h"

/* ------ reports ------ */

/* Compare the ranks' batches and steps: where these differ, they would train
 * something that nobody asked for.  All see all reports, and so end alike.  A
 * rank that could not begin has its own words. */
static int compare_reports(const ls__step *s, const ls__cut *c)
{
    LS__ASSERT(c->border[c->ranks] == s->trainer->devices.of);
    for (int k = 0; k < c->ranks && s->refused == 0; k++) {
        const ls__report *a = s->notes.report, *b = &a[c->border[k]];

        if (b->refused < 0)
            return ls__fail(b->refused, "rank %d failed: %s", k,
                            ls_strerror(b->refused));
        if (a->rows != b->rows)
            return ls__fail(LS_ESHAPE, "ranks differ: the batch has %lld row%s "
                            "on rank %d, and %lld on rank 0",
                            (long long)b->rows, ls__s(b->rows), k,
                            (long long)a->rows);
        if (a->step != b->step)
            return ls__fail(LS_EINVAL, "ranks differ: rank %d is at step %lld, "
                            "and rank 0 at %lld", k, (long long)b->step,
                            (long long)a->step);
        if (a->asks != b->asks)
            return ls__fail(LS_EINVAL, "ranks differ: rank %d asks for another "
                            "thing than rank 0", k);
        if (a->lr != b->lr)
            return ls__fail(LS_EINVAL, "ranks differ: the learning rate is "
                            "%.17g on rank %d, and %.17g on rank 0", b->lr, k,
                            a->lr);
    }
    return s->refused;
}

static int tell(const ls__step *s, void *records, int64_t bytes)
{
    return ls__exchange_gather_devices(&s->trainer->ranks->exchange, records,
                                       bytes, INT64_MAX);
}

/* A pointer to an operator would mean nothing elsewhere, so reports have none.
 * All that was posted before is awaited too. */
static int gather_reports(const ls__step *s)
{
    const ls__exchange *x = &s->trainer->ranks->exchange;
    const ls__running *running = &s->trainer->running;
    int status = ls__exchange_gather_devices(
        x, s->notes.report, sizeof *s->notes.report, INT64_MAX);

    if (status >= 0 && s->pass->train && running->values)
        status = tell(s, running->next,
                      running->values * (int64_t)sizeof *running->next);
    return status < 0 ? status : compare_reports(s, &x->cut);
}

bool ls__phase_reports(ls__step *s, int worker)
{
    if (worker == 0)
        s->status = gather_reports(s);
    return true;
}

/* ------ gradients ------ */

bool ls__phase_joint_ranks(ls__step *s, int worker)
{
    return ls__joint_gradients(s, worker, tell);
}

bool ls__phase_partials(ls__step *s, int worker)
{
    ls__reduce_scatter_add_rest(s->trainer->ranks->reduce_scatter, s, worker);
    return true;
}

bool ls__phase_exchange(ls__step *s, int worker)
{
    const ls__ranks *r = s->trainer->ranks;

    if (worker == 0 && (s->status = ls__reduce_scatter_rest(r->reduce_scatter,
                                                            s)) >= 0)
        s->status = gather_reports(s);
    return true;
}

ls__reduction ls__completion(const ls__step *s, int64_t shift)
{
    const ls_trainer *t = s->trainer;
    const ls__exchange *x = &t->ranks->exchange;

    return (ls__reduction){.buffer = x->partial, .count = x->cut.parts,
                           .part = x->cut.part, .of = t->devices.of,
                           .here = ls__exchange_parts(x), .shift = shift,
                           .factor = ls__verdict_factor(s)};
}

bool ls__phase_complete(ls__step *s, int worker)
{
    const ls_trainer *t = s->trainer;
    ls__range mine = ls__reduce_mine(s, worker);
    ls__reduction r;
    int64_t bad = -1;

    if (s->status < 0 || ls__verdict_judge(s) != LS__GOES_ON)
        return false;
    r = ls__completion(s, 0);
    ls__reduce_ask(s, &r);
    for (ls__stretch part = {0}; ls__owned_next(&t->owned, &part);) {
        int64_t first;

        r.shift = part.at - part.range.first;
        first = ls__reduce_trained(s, &r, ls__stretch_common(&part, mine));
        bad = bad < 0 ? first : bad;
    }
    s->notes.bad[worker] = bad;
    return true;
}

/* ------ soundness ------ */

/* The first element that is not finite, of all ranks'; and all squares. */
static int gather_sound(ls__ranks *r, int64_t *bad, float *square)
{
    const ls_transport *link = r->link;
    int status;

    r->bad[link->rank] = *bad;
    if ((status = ls__link_gather_each(link, r->bad, sizeof *r->bad)) < 0)
        return status;
    for (int k = 0; k < link->ranks; k++)
        if (r->bad[k] >= 0 && (*bad < 0 || r->bad[k] < *bad))
            *bad = r->bad[k];
    return square ? ls__exchange_gather_blocks(&r->exchange, square,
                                               sizeof *square)
                  : 0;
}

/* The workers' finding becomes all ranks', in the first worker's place. */
bool ls__phase_sound(ls__step *s, int worker)
{
    const ls_trainer *t = s->trainer;
    int64_t *bad = s->notes.bad;

    if (worker != 0)
        return true;
    for (int w = 1; w < t->workers; w++) {
        bad[0] = bad[0] < 0 ? bad[w] : bad[0];
        bad[w] = -1;
    }
    s->status = gather_sound(t->ranks, &bad[0], s->notes.square);
    return true;
}

/* ------ values ------ */

bool ls__phase_values(ls__step *s, int worker)
{
    if (worker == 0)
        s->status = ls__all_gather_rest(s->trainer->ranks->all_gather);
    return true;
}

/* ------ outputs ------ */

/* Each rank has the output for the rows that it kept. */
static int gather_kept(const ls__step *s)
{
    const ls_trainer *t = s->trainer;
    const ls__exchange *x = &t->ranks->exchange;
    int64_t bytes = s->query.output->size * (int64_t)sizeof *s->query.out;

    for (int r = 0; r < x->link->ranks; r++)
        x->border[r] = s->batch->cut[x->cut.border[r]].first * bytes;
    x->border[x->link->ranks] = s->all * bytes;
    return ls__link_gather(x->link, s->query.out, x->border);
}

/* The rows of an output are those of devices, micro-batch by micro-batch. */
bool ls__phase_outputs(ls__step *s, int worker)
{
    const ls_trainer *t = s->trainer;
    int64_t each, all, left;

    if (worker != 0 || s->status < 0)
        return true;
    each = s->rows * s->query.output->size;
    left = all = s->all * s->query.output->size;
    for (int d = 0; d < t->devices.of; d++)
        if (s->notes.report[d].status < 0)
            return true;
    if (s->batch->cut && t->options.rows == LS_ROWS_KEPT) {
        s->status = gather_kept(s);
        return true;
    }
    for (int m = 0; m < t->micro && left > 0 && s->status == 0; m++) {
        s->status = ls__exchange_gather_devices(
            &t->ranks->exchange, s->query.out + all - left,
            each * (int64_t)sizeof(float), left * (int64_t)sizeof(float));
        left -= each * t->devices.of;
    }
    return true;
}
