/* SPDX-License-Identifier: BSD-3-Clause */
/* See team.h.  All waiting is at gates and barriers (pool/barrier.h).  Members
 * wait at one gate for the leader's next call, and each member has one that it
 * opens whenever it has passed a turn, and once more when it is through.  So
 * the generations of a gate count turns, and nothing else need be shared: what
 * was written before a gate was opened is seen by whoever waited for that. */
#include "plan/team.h"
#include "base/error.h"
#include "base/memory.h"
#include "pool/pool.h"

typedef struct member {
    _Alignas(64) ls__gate passed; /* opened by this member alone */
    unsigned from;                /* its generation when the call began */
    unsigned seen;                /* of the leader's gate, by this member */
    ls__barrier fence;            /* of those whose first member it is */
} member;

/* What the leader calls for; written before it opens `start`, when nobody reads
 * it any more. */
typedef struct call {
    const ls__work *begun;
    ls__chunk_fn *run; /* NULL: the members may go */
    const void *how;
    int64_t chunks;
    ls__cut cut;
    unsigned most;     /* turns that one operator should take */
    unsigned turns;    /* that a chunk takes */
    int spins;
} call;

struct ls__team {
    _Alignas(64) ls__gate start;
    const ls_pool *pool;
    int members;
    bool here; /* they are; the leader's */
    ls__cut asked;  /* by a test; zeros: it is not */
    int64_t calls;
    call call;
    member *member;
};

int ls__team_open(ls__team **team, const ls_pool *pool, int members)
{
    ls__team *t = ls__block_zero(sizeof *t + (size_t)members * sizeof(member),
                                 "team");

    if (!t)
        return LS_ENOMEM;
    t->pool = pool;
    t->members = members;
    t->member = (member *)(t + 1);
    for (int m = 0; m < members; m++)
        t->member[m].seen = ls__gate_now(&t->start);
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

void ls__team_set_cut(ls__team *t, ls__cut cut)
{
    t->asked = cut;
}

int64_t ls__team_calls(const ls__team *t)
{
    return t->calls;
}

/* ------ turns ------ */

/* A chunk's turns, on a member that runs it.  Those among whom it is cut take
 * turns one after the other, and so do those who have the chunk before. */
typedef struct place {
    ls__turns is;  /* first */
    ls__gate *own;
    ls__gate *before; /* NULL: no chunk is before it */
    unsigned from, passed; /* turns of whoever is before, with this chunk's */
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

    if (chunk > 0) {
        member *before =
            &t->member[group_of(c, chunk - 1) * c->cut.parts + part];

        p.before = &before->passed;
        p.from = before->from;
        p.passed = (unsigned)((chunk - 1) / c->cut.groups) * turns_of(c, part);
    }
    return p;
}

static void run_chunk(ls__team *t, int number, int64_t chunk)
{
    const call *c = &t->call;
    int parts = c->cut.parts, part = number % parts;
    place at = place_of(t, number, chunk);
    ls__work w = *c->begun;

    w.scratch = ls__context_memory(w.context, number) + w.plan->scratch;
    w.of.memory = ls__context_memory(w.context, number - part);
    if (w.weights->near)
        w.of.packed = w.weights->near[number];
    w.of.turns = &at.is;
    w.of.before = chunk * w.plan->chunk_rows;
    (void)ls__work_next(&w);
    if (parts > 1)
        ls__work_cut(&w, &t->member[number - part].fence, parts, part);
    c->run(&w, c->how);
}

static int at_work(const call *c)
{
    return c->cut.groups * c->cut.parts;
}

static void run_share(ls__team *t, int number)
{
    const call *c = &t->call;

    for (int64_t chunk = number < at_work(c)
                             ? first_chunk(c, number / c->cut.parts)
                             : c->chunks;
         chunk < c->chunks; chunk += c->cut.groups)
        run_chunk(t, number, chunk);
}

/* How often a member opens its gate: at its turns, and at its end. */
static unsigned steps_of(const call *c, int number)
{
    int64_t first = first_chunk(c, number / c->cut.parts);

    if (number >= at_work(c))
        return 1;
    return 1 + turns_of(c, number % c->cut.parts) *
                   (unsigned)((c->chunks - 1 - first) / c->cut.groups + 1);
}

/* ------ the leader and the others ------ */

void ls__team_gather(ls__team *t)
{
    if (t)
        t->here = true;
}

void ls__team_dismiss(ls__team *t)
{
    if (!t)
        return;
    t->here = false;
    t->call.run = NULL;
    ls__gate_open(&t->start);
}

bool ls__team_is_here(const ls__team *t)
{
    return t && t->here;
}

void ls__team_help(ls__team *t, int number)
{
    member *m = &t->member[number];

    for (;;) {
        ls__gate_wait(&t->start, m->seen, ls__pool_spins(t->pool));
        m->seen = ls__gate_now(&t->start);
        if (!t->call.run)
            return;
        run_share(t, number);
        ls__gate_open(&m->passed);
    }
}

static int begin(ls__team *t)
{
    const call *c = &t->call;
    int status = 0;

    for (int m = 0; m < t->members; m++)
        t->member[m].from = ls__gate_now(&t->member[m].passed);
    for (int g = 0; g < c->cut.groups && status == 0; g++)
        status = ls__barrier_open(&t->member[g * c->cut.parts].fence,
                                  c->cut.parts, c->spins);
    return status;
}

bool ls__team_run(const ls__work *begun, ls__chunk_fn *run, const void *how)
{
    ls__team *t = begun->context->team;
    ls__cut cut = {1, 1};
    unsigned most;

    if (ls__team_is_here(t))
        cut = t->asked.parts ? ls__cut_as(begun, t->asked)
                             : ls__cut_of(begun, t->members);
    if (cut.groups * cut.parts == 1)
        return false;
    most = ls__cut_turns(&cut);
    t->call = (call){begun, run, how,
                     ls__plan_chunks(begun->plan, begun->shard->rows),
                     cut, most, ls__work_turns(begun, most),
                     ls__pool_spins(t->pool)};
    if (begin(t) < 0)
        return false;
    t->calls++;
    ls__gate_open(&t->start);
    run_share(t, 0);
    for (int m = 1; m < t->members; m++)
        ls__gate_reach(&t->member[m].passed, t->member[m].from,
                       steps_of(&t->call, m), t->call.spins);
    return true;
}
