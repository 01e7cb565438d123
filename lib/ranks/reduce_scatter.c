/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduce-scatter of gradients in sections (buckets), overlapped with backward.
 * Workers share a counter for each device: its release says that the device's
 * gradients of so many sections are written. */
#include "ranks/reduce_scatter.h"
#include "base/assert.h"
#include "base/least.h"
#include "ranks/link.h"
#include "train/phases.h"
#include "ranks/ranks.h"
#include "train/trainer.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    BUCKET = 1 << 20, /* bytes, where the options say nothing */
    AT_THE_END = -1   /* after no operator's backward, but when all have run */
};

/* Sections of the order that are complete, or added; a cache line each, since
 * all workers count at once. */
typedef struct counter {
    _Alignas(64) atomic_int done;
} counter;

/* Context of a worker's operators: the step and device that they run for. */
typedef struct sweep {
    _Alignas(64) ls__reduce_scatter *of;
    const ls__step *step;
    int worker, device;
    int done;   /* the device's count, this worker's copy */
    int room;   /* of its gradient in ls__gradients.later, */
    bool later; /* to be added to the device's */
} sweep;

struct ls__reduce_scatter {
    ls__ranks *ranks;
    ls_pool *pool;
    int workers;
    ls__span devices;
    ls__owned owned;
    const ls__gradients *grad;
    const ls__trained *trained;
    ls__context *const *context; /* [device here]; NULL without a plan */
    bool leaves_early;
    int sections;
    int *order;      /* [k] the section that leaves as number k */
    int *after;      /* [k] it is complete after this operator's backward */
    int64_t bucket;  /* bytes */
    int next, early; /* sections that have left, of them before the end: worker
                        0's */
    int status;      /* of what was sent, worker 0's */
    int adders;      /* workers that have devices: each adds a share */
    counter *computed; /* [device here] */
    counter *added;    /* [worker] */
    sweep *sweep;      /* [worker] */
};

/* ------ the order ------ */

/* The sweep runs from the last operator to the first; a parameter is complete
 * after the first one that has it. */
static int complete_after(const ls__plan *plan, const ls__slot *s)
{
    if (!plan)
        return AT_THE_END;
    for (int i = 0; i < plan->count; i++) {
        const ls_node *n = plan->instr[i].node;

        for (int k = 0; k < n->params; k++)
            if (n->param[k] == s->declared)
                return i;
    }
    return INT_MAX;
}

/* The instruction that completes a slot; a frozen one is made 0 at the end. */
static int slot_after(const ls__reduce_scatter *l, const ls__model *m, int slot)
{
    if (l->trained->slot[slot])
        return complete_after(m->plan, &m->params.slot[slot]);
    return l->trained->clears[slot] ? AT_THE_END : INT_MAX;
}

/* The last instruction that completes some of a section. */
static int section_after(const ls__reduce_scatter *l, const ls__model *m,
                         int section)
{
    ls__range all = ls__section(l->owned.floats, l->owned.ranks, section);
    int after = INT_MAX;

    for (int i = 0; i < m->params.count; i++) {
        const ls__slot *s = &m->params.slot[i];
        ls__range mine =
            ls__range_common(all, (ls__range){s->offset, s->offset + s->size});
        int one = mine.first < mine.last ? slot_after(l, m, i) : INT_MAX;

        after = one < after ? one : after;
    }
    return after;
}

_Static_assert(sizeof(counter) == 64 && sizeof(sweep) % 64 == 0,
               "no two workers share a cache line");

/* Insert a section where it is complete in time; those that are equal stay as
 * they lie. */
static void insert(ls__reduce_scatter *l, int k, int section, int after)
{
    for (; k > 0 && l->after[k - 1] < after; k--) {
        l->order[k] = l->order[k - 1];
        l->after[k] = l->after[k - 1];
    }
    LS__ASSERT(k == 0 || l->after[k - 1] >= after);
    l->order[k] = section;
    l->after[k] = after;
}

static int make_lists(ls__reduce_scatter *l, int devices, int workers)
{
    size_t n = (size_t)l->sections, d = (size_t)devices, w = (size_t)workers;

    l->order = ls__new(n, sizeof *l->order, "sections");
    l->after = ls__new(n, sizeof *l->after, "sections");
    l->computed = ls__block_zero(d * sizeof *l->computed, "sections");
    l->added = ls__block_zero(w * sizeof *l->added, "sections");
    l->sweep = ls__block_zero(w * sizeof *l->sweep, "sections");
    return l->order && l->after && l->computed && l->added && l->sweep
               ? 0
               : LS_ENOMEM;
}

static bool has_devices(const ls__reduce_scatter *l, int worker)
{
    int first, last;

    ls__pool_shards_of(l->pool, l->devices.count, worker, &first, &last);
    return first < last;
}

/* The mean of a shard needs all its weights, and devices that meet on the way
 * wait for nothing else. */
static bool is_early(const ls__rig *rig)
{
    return rig->model->plan && rig->options->bucket >= 0 &&
           rig->owned.ranks > 1 && !rig->whole &&
               !rig->model->plan->surveys.meet &&
           rig->options->mean != LS_MEAN_OF_SHARDS;
}

/* The line has twice the time where two chunks go back together. */
static int pair_chunks(const ls__reduce_scatter *l)
{
    int status = 0;

    for (int d = 0; l->leaves_early && d < l->devices.count && status == 0; d++)
        status = ls__context_pair(l->context[d]);
    return status;
}

static int open_reduce_scatter(void **own, const ls__rig *rig)
{
    ls__reduce_scatter *l = *own = ls__new(1, sizeof *l, "sections");
    int status;

    if (!l)
        return LS_ENOMEM;
    *l = (ls__reduce_scatter){.ranks = rig->ranks, .pool = rig->pool,
                       .workers = rig->workers, .devices = rig->devices,
                       .owned = rig->owned, .grad = rig->grad,
                       .trained = rig->trained, .context = rig->context,
                       .leaves_early = is_early(rig)};
    l->ranks->reduce_scatter = l;
    l->sections = ls__sections(l->owned.floats, l->owned.ranks);
    l->bucket = rig->options->bucket ? rig->options->bucket : BUCKET;
    status = make_lists(l, l->devices.count, l->workers);
    for (int i = 0; i < l->sections && status == 0; i++)
        insert(l, i, i, section_after(l, rig->model, i));
    for (int w = 0; w < l->workers; w++)
        l->adders += has_devices(l, w);
    return status < 0 ? status : pair_chunks(l);
}

static void close_reduce_scatter(void *own)
{
    ls__reduce_scatter *l = own;

    free(l->order);
    free(l->after);
    ls__block_free(l->computed);
    ls__block_free(l->added);
    ls__block_free(l->sweep);
    free(l);
}

int ls__reduce_scatter_early(const ls__reduce_scatter *l)
{
    return l->early;
}

/* ------ a pass ------ */

static void reset(counter *c, int n)
{
    for (int i = 0; i < n; i++)
        atomic_store_explicit(&c[i].done, 0, memory_order_relaxed);
}

/* Say what will be received. */
static void expect(ls__reduce_scatter *l)
{
    for (int k = 0; k < l->sections && l->status == 0; k++)
        l->status = ls__exchange_expect(&l->ranks->exchange, l->order[k]);
}

/* Posts all receives, unless joint devices would wait for them on the way. */
static int begin(void *own, ls__step *s)
{
    ls__reduce_scatter *l = own;

    if (!s->pass->reduces)
        return 0;
    l->next = l->early = l->status = 0;
    reset(l->computed, l->devices.count);
    reset(l->added, l->workers);
    if (!s->trainer->joint)
        expect(l);
    return 0;
}

static ls__range range_of(const ls__reduce_scatter *l, int k)
{
    return ls__section(l->owned.floats, l->owned.ranks, l->order[k]);
}

static int done(const counter *c)
{
    return atomic_load_explicit(&c->done, memory_order_acquire);
}

static void set_done(counter *c, int sections)
{
    atomic_store_explicit(&c->done, sections, memory_order_release);
}

/* ------ what workers do ------ */

/* A device's first sections are computed. */
static void count_to(sweep *w, int sections)
{
    const ls__reduce_scatter *l = w->of;
    float *to = l->grad->device[w->device];

    LS__ASSERT(w->done <= sections && sections <= l->sections);
    if (sections == w->done)
        return;
    for (int k = w->done; k < sections && w->later; k++) {
        ls__range all = range_of(l, k);

        for (ls__range r = {all.first, all.first};
             ls__ranges_next(&l->trained->runs, all, &r);)
            ls__kernels()->add(r.last - r.first, to + r.first,
                               l->grad->later[w->room] + r.first,
                               to + r.first);
    }
    w->done = sections;
    set_done(&l->computed[w->device], sections);
}

/* Workers that have devices follow each other, or are all of them. */
static int adder_of(const ls__reduce_scatter *l, int worker)
{
    int adder = 0;

    for (int w = 0; w < worker; w++)
        adder += has_devices(l, w);
    return adder;
}

/* An adder's part of a section; a block that is checked is one worker's. */
static ls__range share_of(const ls__reduce_scatter *l, const ls__step *s,
                          ls__range section, int adder)
{
    return ls__range_part(section, l->adders, adder,
                          s->checked ? LS__REDUCE_BLOCK : 16);
}

void ls__reduce_scatter_add(const ls__step *s, ls__range mine)
{
    const ls_trainer *t = s->trainer;

    ls__reduce_means(s, mine);
    for (ls__range r = {mine.first, mine.first};
         ls__ranges_next(&t->trained.runs, mine, &r);)
        ls__reduce_partials(t->grad.device, t->devices, r);
}

/* Add a worker's share of the sections before `end`. */
static void add_to(ls__reduce_scatter *l, const ls__step *s, int worker,
                   int end)
{
    counter *added = &l->added[worker];
    int first = done(added), adder;

    if (first >= end || !has_devices(l, worker))
        return;
    adder = adder_of(l, worker);
    for (int k = first; k < end; k++)
        ls__reduce_scatter_add(s, share_of(l, s, range_of(l, k), adder));
    set_done(added, end);
}

int ls__reduce_scatter_adder(const ls__reduce_scatter *l, const ls__step *s,
                             int64_t at)
{
    int k = 0;

    LS__ASSERT(at >= 0 && at < l->owned.floats);
    while (at < range_of(l, k).first || at >= range_of(l, k).last)
        k++;
    for (int w = 0; w < l->workers; w++) {
        ls__range mine = share_of(l, s, range_of(l, k), adder_of(l, w));

        if (has_devices(l, w) && at >= mine.first && at < mine.last)
            return w;
    }
    return -1;
}

static int computed(const ls__reduce_scatter *l)
{
    int sections = l->sections;

    for (int d = 0; d < l->devices.count; d++)
        sections = (int)ls__least(sections, done(&l->computed[d]));
    return sections;
}

static int added(const ls__reduce_scatter *l)
{
    int sections = l->sections;

    for (int w = 0; w < l->workers; w++)
        if (has_devices(l, w))
            sections = (int)ls__least(sections, done(&l->added[w]));
    return sections;
}

static void send(ls__reduce_scatter *l)
{
    int section = l->order[l->next++];

    LS__ASSERT(l->next <= l->sections);
    if (l->status >= 0)
        l->status = ls__exchange_leave(&l->ranks->exchange, l->grad->device,
                                       section);
}

/* Worker 0, between two of its operators. */
static void look(ls__reduce_scatter *l)
{
    int end = added(l);
    int64_t floats = 0;

    for (int k = l->next; k < end; k++)
        floats += range_of(l, k).last - range_of(l, k).first;
    if (floats > 0 && 4 * floats >= l->bucket)
        while (l->next < end) {
            send(l);
            l->early++;
        }
    if (l->next > 0 && l->status >= 0)
        l->status = ls__link_move(l->ranks->link);
}

/* Called after the backward of an operator, in the shard's last chunk. */
static void after(void *user, int instr)
{
    sweep *w = user;
    ls__reduce_scatter *l = w->of;
    int sections = w->done;

    while (sections < l->sections && l->after[sections] >= instr)
        sections++;
    count_to(w, sections);
    add_to(l, w->step, w->worker, computed(l));
    if (w->worker == 0)
        look(l);
}

/* The last micro-batch of a device. */
static bool is_last(const ls__step *s, const ls__micro_batch *mb)
{
    return s->pass->reduces && mb->micro == s->micro - 1;
}

static sweep sweep_of(ls__reduce_scatter *l, ls__step *s,
                      const ls__micro_batch *mb)
{
    return (sweep){l, s, mb->worker, mb->device, 0, mb->room,
                   mb->later};
}

static void enter(void *own, ls__step *s, const ls__micro_batch *mb)
{
    ls__reduce_scatter *l = own;
    sweep *w = &l->sweep[mb->worker];

    if (!is_last(s, mb))
        return;
    *w = sweep_of(l, s, mb);
    if (l->leaves_early && !s->checked)
        ls__context_after(l->context[mb->device], after, w);
}

static void leave(void *own, ls__step *s, ls__micro_batch *mb)
{
    ls__reduce_scatter *l = own;

    if (!is_last(s, mb))
        return;
    if (l->leaves_early && !s->checked)
        ls__context_after(l->context[mb->device], NULL, NULL);
    if (s->trainer->joint) /* a worker's devices take turns */
        l->sweep[mb->worker] = sweep_of(l, s, mb);
    count_to(&l->sweep[mb->worker], l->sections);
    mb->added = true;
}

const ls__hook ls__reduce_scatter_hook = {
    .name = "reduce-scatter", .wants = ls__ranks_share,
    .open = open_reduce_scatter,
    .close = close_reduce_scatter, .begin = begin, .enter = enter,
    .leave = leave};

/* ------ the rest ------ */

void ls__reduce_scatter_add_rest(ls__reduce_scatter *l, const ls__step *s,
                                 int worker)
{
    add_to(l, s, worker, l->sections);
}

/* A thread that a user's function ended has left its function behind. */
int ls__reduce_scatter_rest(ls__reduce_scatter *l, const ls__step *s)
{
    if (s->trainer->joint)
        expect(l);
    for (int d = 0; l->context && d < l->devices.count; d++)
        ls__context_after(l->context[d], NULL, NULL);
    while (l->next < l->sections)
        send(l);
    return l->status;
}
