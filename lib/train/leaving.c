/* Which sections are complete, and their leaving.  A counter for each device is
 * all that workers share: its release says that the device's gradients of so
 * many sections are written. */
#include "train/leaving.h"
#include "pool/pool.h"
#include "reduce/reduce.h"
#include "train/groups.h"
#include "train/phases.h"
#include "train/seam.h"
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

/* What a worker's operators belong to. */
typedef struct sweep {
    _Alignas(64) ls__step *step;
    int worker, device;
    int done;   /* what the device's counter says, this worker's alone */
    bool later; /* the gradient is the worker's, to be added to the device's */
} sweep;

struct ls__leaving {
    int sections;
    int *order;      /* [k] the section that leaves as number k */
    int *after;      /* [k] it is complete after this operator's backward */
    int64_t bucket;  /* bytes */
    int next, early; /* sections that have left, of them before the end: worker
                        0's */
    int status;      /* of the seam, worker 0's */
    int adders;      /* workers that have devices: each adds a share */
    counter *computed; /* [device here] */
    counter *added;    /* [worker] */
    sweep *sweep;      /* [worker] */
};

/* ------ the order ------ */

/* The sweep runs from the last operator to the first; a parameter is complete
 * after the first one that has it.  What is computed for a frozen one is made 0
 * at the end. */
static int complete_after(const ls_trainer *t, const ls__slot *s)
{
    const ls__plan *plan = t->model.plan;

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

/* The last of those that a section has some of. */
static int section_after(const ls_trainer *t, int section)
{
    ls__range all = ls__section(t->owned.floats, t->owned.ranks, section);
    int after = INT_MAX;

    for (int i = 0; i < t->model.params.count; i++) {
        const ls__slot *s = &t->model.params.slot[i];
        ls__range mine =
            ls__range_common(all, (ls__range){s->offset, s->offset + s->size});

        if (mine.first < mine.last && !ls__trainer_leaves_out(t, s->declared)) {
            int one = ls__groups_clears(t, i) ? AT_THE_END
                                              : complete_after(t, s);

            after = one < after ? one : after;
        }
    }
    return after;
}

/* Into the order in which they are complete; as they lie, where equal. */
static void insert(ls__leaving *l, int k, int section, int after)
{
    for (; k > 0 && l->after[k - 1] < after; k--) {
        l->order[k] = l->order[k - 1];
        l->after[k] = l->after[k - 1];
    }
    l->order[k] = section;
    l->after[k] = after;
}

static int make_lists(ls__leaving *l, int devices, int workers)
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

static bool has_devices(const ls_trainer *t, int worker)
{
    int first, last;

    ls__pool_shards_of(t->pool, t->devices.count, worker, &first, &last);
    return first < last;
}

/* The mean of a shard needs all its weights, and a trainer that checks for
 * divergence looks at the devices' gradients when they are done. */
static bool is_early(const ls_trainer *t)
{
    return t->model.plan && t->options.bucket >= 0 && t->owned.ranks > 1 &&
           !t->watch && t->options.mean != LS_MEAN_OF_SHARDS;
}

/* The line has twice the time where two chunks go back together. */
static int pair_chunks(ls_trainer *t)
{
    int status = 0;

    for (int d = 0; is_early(t) && d < t->devices.count && status == 0; d++)
        status = ls__context_pair(t->context[d]);
    return status;
}

int ls__leaving_open(ls_trainer *t)
{
    ls__leaving *l = t->leaving = ls__new(1, sizeof *l, "sections");
    int status;

    if (!l)
        return LS_ENOMEM;
    l->sections = ls__sections(t->owned.floats, t->owned.ranks);
    l->bucket = t->options.bucket ? t->options.bucket : BUCKET;
    status = make_lists(l, t->devices.count, t->workers);
    for (int i = 0; i < l->sections && status == 0; i++)
        insert(l, i, i, section_after(t, i));
    for (int w = 0; w < t->workers; w++)
        l->adders += has_devices(t, w);
    return status < 0 ? status : pair_chunks(t);
}

void ls__leaving_close(ls__leaving *l)
{
    if (!l)
        return;
    free(l->order);
    free(l->after);
    ls__block_free(l->computed);
    ls__block_free(l->added);
    ls__block_free(l->sweep);
    free(l);
}

int ls__leaving_early(const ls_trainer *t)
{
    return t->leaving->early;
}

/* ------ a pass ------ */

static void reset(counter *c, int n)
{
    for (int i = 0; i < n; i++)
        atomic_store_explicit(&c[i].done, 0, memory_order_relaxed);
}

void ls__leaving_begin(ls__step *s)
{
    const ls_trainer *t = s->trainer;
    ls__leaving *l = t->leaving;

    l->next = l->early = 0;
    reset(l->computed, t->devices.count);
    reset(l->added, t->workers);
    l->status = t->seam->begin(t->seam->user, l->order);
}

static ls__range range_of(const ls_trainer *t, int k)
{
    return ls__section(t->owned.floats, t->owned.ranks, t->leaving->order[k]);
}

static int done(const counter *c)
{
    return atomic_load_explicit(&c->done, memory_order_acquire);
}

static void set_done(counter *c, int sections)
{
    atomic_store_explicit(&c->done, sections, memory_order_release);
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* ------ what workers do ------ */

/* So many sections of a device are computed. */
static void count_to(sweep *w, int sections)
{
    const ls_trainer *t = w->step->trainer;
    float *to = t->grad.device[w->device];

    if (sections == w->done)
        return;
    for (int k = w->done; k < sections && w->later; k++) {
        ls__range r = range_of(t, k);

        ls__kernels()->add(r.last - r.first, to + r.first,
                           t->grad.later[w->worker] + r.first, to + r.first);
    }
    w->done = sections;
    set_done(&t->leaving->computed[w->device], sections);
}

/* Workers that have devices follow each other, or are all of them. */
static int adder_of(const ls_trainer *t, int worker)
{
    int adder = 0;

    for (int w = 0; w < worker; w++)
        adder += has_devices(t, w);
    return adder;
}

/* Add a worker's share of the sections before `end`. */
static void add_to(const ls__step *s, int worker, int end)
{
    const ls_trainer *t = s->trainer;
    counter *added = &t->leaving->added[worker];
    int first = done(added), adder;

    if (first >= end || !has_devices(t, worker))
        return;
    adder = adder_of(t, worker);
    for (int k = first; k < end; k++) {
        ls__range mine =
            ls__range_part(range_of(t, k), t->leaving->adders, adder, 16);

        ls__reduce_means(s, mine);
        ls__reduce_partials(t->grad.device, t->devices, mine);
    }
    set_done(added, end);
}

static int computed(const ls_trainer *t)
{
    int sections = t->leaving->sections;

    for (int d = 0; d < t->devices.count; d++)
        sections = least(sections, done(&t->leaving->computed[d]));
    return sections;
}

static int added(const ls_trainer *t)
{
    int sections = t->leaving->sections;

    for (int w = 0; w < t->workers; w++)
        if (has_devices(t, w))
            sections = least(sections, done(&t->leaving->added[w]));
    return sections;
}

static void leave(const ls_trainer *t)
{
    ls__leaving *l = t->leaving;
    int section = l->order[l->next++];

    if (l->status >= 0)
        l->status = t->seam->leave(t->seam->user, t->grad.device, section);
}

/* Worker 0, between two of its operators. */
static void look(const ls_trainer *t)
{
    ls__leaving *l = t->leaving;
    int end = added(t);
    int64_t floats = 0;

    for (int k = l->next; k < end; k++)
        floats += range_of(t, k).last - range_of(t, k).first;
    if (floats > 0 && 4 * floats >= l->bucket)
        while (l->next < end) {
            leave(t);
            l->early++;
        }
    if (l->next > 0 && l->status >= 0)
        l->status = t->seam->move(t->seam->user);
}

/* After the backward of an operator, in the shard's last chunk. */
static void after(void *user, int instr)
{
    sweep *w = user;
    const ls_trainer *t = w->step->trainer;
    int sections = w->done;

    while (sections < t->leaving->sections &&
           t->leaving->after[sections] >= instr)
        sections++;
    count_to(w, sections);
    add_to(w->step, w->worker, computed(t));
    if (w->worker == 0)
        look(t);
}

void ls__leaving_enter(ls__step *s, int worker, int device, bool later)
{
    const ls_trainer *t = s->trainer;
    sweep *w = &t->leaving->sweep[worker];

    *w = (sweep){s, worker, device, 0, later};
    if (is_early(t))
        ls__context_watch(t->context[device], after, w);
}

void ls__leaving_end(ls__step *s, int worker, int device)
{
    const ls_trainer *t = s->trainer;

    if (t->context)
        ls__context_watch(t->context[device], NULL, NULL);
    count_to(&t->leaving->sweep[worker], t->leaving->sections);
}

/* ------ the rest ------ */

void ls__leaving_add_rest(ls__step *s, int worker)
{
    add_to(s, worker, s->trainer->leaving->sections);
}

/* A thread that a user's function ended has left its watch behind. */
int ls__leaving_rest(ls__step *s)
{
    const ls_trainer *t = s->trainer;

    for (int d = 0; t->context && d < t->devices.count; d++)
        ls__context_watch(t->context[d], NULL, NULL);
    while (t->leaving->next < t->leaving->sections)
        leave(t);
    return t->leaving->status;
}
