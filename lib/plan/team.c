/* SPDX-License-Identifier: BSD-3-Clause */
/* See team.h.  All waiting is at gates and barriers (pool/barrier.h).  The
 * leader opens a member's gate for each call that the member has a part in, and
 * once more to let it go; a member opens one when it is through, and one
 * whenever it has passed a turn.  So the generations of a gate count turns, and
 * writes before a gate was opened are seen by those who waited for it.
 *
 * A helper (work stealing) takes a place behind the members by adding itself to
 * `helpers`, which fails once that is closed; so the leader, who closes it,
 * knows all who came.
 * Only gates of places that are taken are opened, and a place remembers what
 * was seen of its gate, for whoever has it next. */
#include "plan/team.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/least.h"
#include "base/memory.h"
#include "pool/pool.h"

#include <sched.h>

enum {
    CLOSED = 1 << 16, /* more than there are places for */
    LEAST = 1 << 19   /* operations of one operator that pay for a call */
};

_Static_assert((int)LS__HELPERS < (int)CLOSED, "a closed team is full");

/* A member's place, or a helper's. */
typedef struct member {
    _Alignas(64) ls__gate start;  /* opened by the leader alone */
    unsigned seen;                /* of start, by the member */
    float *scratch;               /* a helper's; NULL: it is in the context */
    _Alignas(64) ls__gate passed; /* opened by this member alone, as is */
    ls__gate done;
    unsigned from, was;           /* their generations when the call began */
    ls__barrier fence;            /* of those whose first member it is */
} member;

_Static_assert(sizeof(member) % 64 == 0 && offsetof(member, passed) % 64 == 0,
               "lines of their own");

/* The leader's call; written before it opens gates, when nobody reads it any
 * more. */
typedef struct call {
    const ls__work *begun; /* a shard, or a chunk for an instruction */
    ls__chunk_fn *run; /* NULL: the members may go */
    const void *how;
    int64_t chunks;
    ls__team_cut cut;
    unsigned most;     /* turns that one operator should take */
    unsigned turns;    /* that a chunk takes, where there are several */
    int spins;
} call;

struct ls__team {
    _Alignas(64) atomic_uint helpers; /* in the first places; from CLOSED on,
                                        nobody may come */
    unsigned most; /* helpers that are of use; written before it is opened */
    const ls_pool *pool;
    int members;
    bool here;     /* they are; the leader's */
    const ls__plan *plan; /* whose operators are shared; NULL: none are */
    ls__team_cut asked; /* by a test; zeros: it is not */
    bool always;   /* likewise */
    int64_t calls, shared;
    call call;
    member *member; /* the helpers' behind the members' */
};

int ls__team_open(ls__team **team, const ls_pool *pool, int members)
{
    int places = members + LS__HELPERS;
    ls__team *t = ls__block_zero(sizeof *t + (size_t)places * sizeof(member),
                                 "team");

    if (!t)
        return LS_ENOMEM;
    atomic_init(&t->helpers, CLOSED);
    t->pool = pool;
    t->members = members;
    t->member = (member *)(t + 1);
    for (int m = 0; m < places; m++)
        t->member[m].seen = ls__gate_now(&t->member[m].start);
    *team = t;
    return 0;
}

void ls__team_close(ls__team *team)
{
    ls__block_free(team);
}

int ls__team_members(const ls__team *t)
{
    return t->members;
}

void ls__team_set_cut(ls__team *t, ls__team_cut cut)
{
    t->asked = cut;
}

void ls__team_set_always(ls__team *t, bool always)
{
    t->always = always;
}

int64_t ls__team_calls(const ls__team *t)
{
    return t->calls;
}

int64_t ls__team_shared(const ls__team *t)
{
    return t->shared;
}

/* ------ turns ------ */

/* A chunk's turns, on a member that runs it.  Those among whom it is cut take
 * turns one after the other, and so do those who have the chunk before. */
typedef struct place {
    ls__turns is;  /* first */
    ls__gate *own;
    ls__gate *before; /* NULL: no chunk is before it */
    unsigned from, passed; /* turns of the member before, with this chunk's */
    unsigned number, of;   /* the next turn; how many take turns */
    unsigned mine;         /* the first of this member's */
    int spins;
} place;

static bool wait_for_turn(ls__turns *turns)
{
    place *p = (place *)turns;
    bool mine = p->number++ % p->of == p->mine;

    if (mine && p->before)
        ls__gate_reach(p->before, p->from, p->passed + 1, p->spins);
    return mine;
}

static void pass_turn(ls__turns *turns)
{
    place *p = (place *)turns;

    LS__ASSERT((p->number - 1) % p->of == p->mine);
    p->passed++;
    ls__gate_open(p->own);
}

/* ------ shares ------ */

/* Members of a group are side by side.  The last chunk is the leader's group's,
 * so that what follows it stays there. */
static int64_t group_of(const call *c, int64_t chunk)
{
    return (c->chunks - 1 - chunk) % c->cut.groups;
}

static int64_t first_chunk(const call *c, int group)
{
    return (c->chunks - 1 - group) % c->cut.groups;
}

/* The turns of a chunk that are those of one among whom it is cut. */
static unsigned turns_of(const call *c, int part)
{
    unsigned parts = (unsigned)c->cut.parts;

    return (c->turns + parts - 1 - (unsigned)part) / parts;
}

static place place_of(ls__team *t, int number, int64_t chunk)
{
    const call *c = &t->call;
    int part = number % c->cut.parts;
    place p = {{wait_for_turn, pass_turn, c->most},
               .own = &t->member[number].passed, .mine = (unsigned)part,
               .of = (unsigned)c->cut.parts, .spins = c->spins};

    LS__ASSERT(chunk >= 0 && chunk < c->chunks &&
               group_of(c, chunk) == number / c->cut.parts);
    if (chunk > 0) {
        member *before =
            &t->member[group_of(c, chunk - 1) * c->cut.parts + part];

        p.before = &before->passed;
        p.from = before->from;
        p.passed = (unsigned)((chunk - 1) / c->cut.groups) * turns_of(c, part);
    }
    return p;
}

/* A chunk counted from where the work that was begun is. */
static void run_chunk(ls__team *t, int number, int64_t chunk)
{
    const call *c = &t->call;
    member *m = &t->member[number];
    int parts = c->cut.parts, part = number % parts;
    place at = place_of(t, number, chunk);
    ls__work w = *c->begun;

    w.scratch = m->scratch ? m->scratch
                           : ls__context_memory(w.context, number) +
                                 w.plan->memory.scratch;
    if (number > part)
        w.of.memory = ls__context_memory(w.context, number - part);
    if (w.weights->near && number < t->members)
        w.of.packed = w.weights->near[number];
    w.of.turns = &at.is;
    w.of.before += chunk * w.plan->chunk_rows;
    w.rows = 0;
    (void)ls__work_next(&w);
    if (parts > 1)
        ls__work_cut(&w, &t->member[number - part].fence, parts, part);
    c->run(&w, c->how);
}

static void run_share(ls__team *t, int number)
{
    const call *c = &t->call;

    for (int64_t chunk = first_chunk(c, number / c->cut.parts);
         chunk < c->chunks; chunk += c->cut.groups)
        run_chunk(t, number, chunk);
}

/* ------ calls ------ */

static int begin(ls__team *t, int members)
{
    const call *c = &t->call;
    int status = 0;

    for (int m = 0; m < members; m++) {
        t->member[m].from = ls__gate_now(&t->member[m].passed);
        t->member[m].was = ls__gate_now(&t->member[m].done);
    }
    for (int g = 0; g < c->cut.groups && status == 0; g++)
        status = ls__barrier_open(&t->member[g * c->cut.parts].fence,
                                  c->cut.parts, c->spins);
    return status;
}

/* The leader's; false: nothing was done. */
static bool run_call(ls__team *t, const call *c)
{
    int members = c->cut.groups * c->cut.parts;

    LS__ASSERT(members >= 2 && members <= t->members + LS__HELPERS);
    t->call = *c;
    t->call.spins = ls__pool_spins(t->pool);
    if (begin(t, members) < 0)
        return false;
    for (int m = 1; m < members; m++)
        ls__gate_open(&t->member[m].start);
    run_share(t, 0);
    for (int m = 1; m < members; m++)
        ls__gate_reach(&t->member[m].done, t->member[m].was, 1, t->call.spins);
    return true;
}

bool ls__team_run(const ls__work *begun, ls__chunk_fn *run, const void *how)
{
    ls__team *t = begun->context->team;
    ls__team_cut cut = {1, 1};
    unsigned most;

    if (ls__team_is_here(t))
        cut = t->asked.parts ? ls__cut_as(begun, t->asked)
                             : ls__cut_of(begun, t->members);
    if (cut.groups * cut.parts == 1)
        return false;
    most = ls__cut_turns(&cut);
    if (!run_call(t, &(call){begun, run, how,
                             ls__plan_chunks(begun->plan, begun->shard->rows),
                             cut, most, ls__work_turns(begun, most), 0}))
        return false;
    t->calls++;
    return true;
}

/* ------ one operator ------ */

typedef struct one {
    const ls__instr *in;
    bool back;
} one;

static void run_one(const ls__work *c, const void *how)
{
    const one *o = how;

    (o->back ? ls__work_backward : ls__work_forward)(c, o->in);
}

static bool pays(const ls__team *t, double operations)
{
    return t->always || operations >= LEAST;
}

/* Forward and backward may be cut otherwise: bits that dropout keeps of several
 * rows in a word lie by the cut.  Gradients of parameters that are not made in
 * several turns would be one worker's, and apart from the others. */
static bool may_share(const ls__instr *in, bool back)
{
    const ls__op *op = in->node->op;

    return op->run.cuts == 1 &&
           !(back && in->node->params && !ls__takes_turns(op));
}

/* The fewest parts, at most `most`, with the largest as small as can be. */
static int parts_of(const ls__work *c, int most)
{
    int64_t units = (c->rows - 1) / c->plan->unit + 1;
    int64_t each = (units - 1) / most + 1;

    return (int)((units - 1) / each + 1);
}

/* The number of workers, with the leader, of a team that helpers may join. */
static int workers_of(ls__team *t)
{
    /* acquire: places are as those who had them last left them */
    return t->members +
           (int)atomic_load_explicit(&t->helpers, memory_order_acquire);
}

bool ls__team_share(const ls__work *c, const ls__instr *in, bool back)
{
    ls__team *t = c->context->team;
    int workers = t && t->plan == c->plan && !c->of.turns && !c->of.surveyed
                      ? workers_of(t) : 1;
    int parts = workers > 1 && may_share(in, back) &&
                pays(t, in->work * (double)c->rows) ? parts_of(c, workers) : 1;

    if (t && t->always)
        sched_yield();
    if (parts == 1 || !run_call(t, &(call){c, run_one, &(one){in, back}, 1,
                                           {1, parts}, (unsigned)parts, 0, 0}))
        return false;
    t->shared++;
    return true;
}

/* ------ the leader and the others ------ */

/* Let helpers join, if they would be of use. */
static void invite(ls__team *t, const ls__plan *plan, int64_t rows)
{
    int64_t most = ls__least(ls__least(rows, plan->chunk_rows) - 1,
                             LS__HELPERS);

    if (most < 1 || !pays(t, plan->work.row * (double)rows) ||
        (!t->always && !ls__pool_spins(t->pool)))
        return;
    t->plan = plan;
    t->most = (unsigned)most;
    /* release: a helper that sees it open sees the number of places, too */
    atomic_store_explicit(&t->helpers, 0, memory_order_release);
}

void ls__team_gather(ls__team *t, const ls__plan *plan, int64_t rows)
{
    if (!t)
        return;
    t->here = true;
    if (plan)
        invite(t, plan, rows);
}

void ls__team_dismiss(ls__team *t)
{
    unsigned n;

    if (!t)
        return;
    /* acquire: the places of those who came are as they were left */
    n = atomic_exchange_explicit(&t->helpers, CLOSED, memory_order_acquire);
    t->here = false;
    t->plan = NULL;
    t->call.run = NULL;
    for (int m = 1; m < t->members + (n < CLOSED ? (int)n : 0); m++)
        ls__gate_open(&t->member[m].start);
}

bool ls__team_is_here(const ls__team *t)
{
    return t && t->here && t->members > 1;
}

void ls__team_help(ls__team *t, int number)
{
    member *m = &t->member[number];

    LS__ASSERT(number >= 1 && number < t->members + LS__HELPERS);
    for (;;) {
        ls__gate_wait(&m->start, m->seen, ls__pool_spins(t->pool));
        m->seen = ls__gate_now(&m->start);
        if (!t->call.run)
            return;
        run_share(t, number);
        ls__gate_open(&m->done);
    }
}

/* The team that has the fewest helpers; NULL: none wants any. */
static ls__team *least_visited(ls__team *const *team, int teams, int at,
                               unsigned *helpers)
{
    ls__team *found = NULL;

    *helpers = CLOSED;
    for (int i = 1; i < teams; i++) {
        ls__team *t = team[(at + i) % teams];
        unsigned has = atomic_load_explicit(&t->helpers, memory_order_acquire);

        if (has < *helpers && has < t->most) {
            *helpers = has;
            found = t;
        }
    }
    return found;
}

void ls__team_steal(ls__team *const *team, int teams, int at, float *scratch)
{
    unsigned has;

    for (ls__team *t; (t = least_visited(team, teams, at, &has));)
        if (atomic_compare_exchange_strong_explicit(
                &t->helpers, &has, has + 1, memory_order_acq_rel,
                memory_order_relaxed)) {
            t->member[t->members + (int)has].scratch = scratch;
            ls__team_help(t, t->members + (int)has);
        }
}
