/* The facts of a trainer, in the order in which a difference is told. */
#include "train/facts.h"
#include "base/sha.h"
#include "rules/schedule.h"

#include <string.h>

/* ------ the model ------ */

static size_t bytes_of(const ls__attribute *a)
{
    static const size_t bytes[] = {
        [LS__INTEGER] = sizeof(int64_t), [LS__NUMBER] = sizeof(double),
        [LS__YES_NO] = sizeof(bool), [LS__SIZES] = sizeof(ls__extents),
        [LS__WORD] = sizeof(int)};

    return bytes[a->type];
}

/* Everything of an operator that its node says; pointers say nothing. */
static void hash_node(ls__sha256 *sha, const ls_node *n)
{
    int64_t number[] = {n->id, n->dtype, n->rank, n->size, n->params,
                        n->limit, n->residual, n->activation, n->pooled};
    const ls__attribute *a = n->op ? n->op->attributes : NULL;

    ls__sha256_update(sha, n->name, strlen(n->name) + 1);
    if (n->op)
        ls__sha256_update(sha, n->op->name, strlen(n->op->name) + 1);
    ls__sha256_update(sha, number, sizeof number);
    ls__sha256_update(sha, n->shape, sizeof n->shape);
    ls__sha256_update(sha, n->param, (size_t)n->params * sizeof *n->param);
    for (; a && a->name; a++)
        ls__sha256_update(sha, ls__attribute_in(n, a), bytes_of(a));
    for (int i = 0; i < LS__MAX_INPUTS && n->in[i]; i++)
        ls__sha256_update(sha, &n->in[i]->id, sizeof n->in[i]->id);
}

static void put_graph(ls__facts *f, const ls__model *m)
{
    char hex[65];
    ls__sha256 sha;

    if (!m->plan)
        return;
    ls__sha256_init(&sha);
    for (int i = 0; i < m->plan->inputs; i++)
        hash_node(&sha, m->plan->input[i]);
    for (int i = 0; i < m->plan->count; i++)
        hash_node(&sha, m->plan->instr[i].node);
    ls__sha256_hex(&sha, hex);
    ls__facts_put(f, "the graph", "%.16s", hex);
    /* Where products have bits of their own, all ranks need the same. */
    if (!m->plan->backend.portable)
        ls__facts_put(f, "the maker of products", "%s %s on %s",
                      m->plan->backend.name, m->plan->backend.text,
                      ls__kernels()->name);
    else
        ls__facts_put(f, "the maker of products", "any");
}

static void put_values(ls__facts *f, const ls__model *m)
{
    char hex[65];
    ls__sha256 sha;

    ls__sha256_init(&sha);
    for (int i = 0; i < m->params.count; i++) {
        const ls__slot *s = &m->params.slot[i];

        ls__sha256_update(&sha, s->name, strlen(s->name) + 1);
        ls__sha256_update(&sha, s->shape, sizeof s->shape);
        ls__sha256_update(&sha, m->value + s->offset,
                          (size_t)s->size * sizeof *m->value);
    }
    ls__sha256_hex(&sha, hex);
    ls__facts_put(f, "the hash of the parameters", "%.16s", hex);
}

/* ------ the options ------ */

static void put_choice(ls__facts *f, const ls__choice *c, const void *of)
{
    const ls__option *o;

    ls__facts_put(f, c->what, "%s", c->name);
    for (int i = 0; (o = ls__choice_option(c, i)); i++)
        ls__facts_put_real(f, o->name, ls__option_get(o, of));
}

static void put_boundaries(ls__facts *f, const ls_schedule *s)
{
    ls__sha256 sha;
    char hex[65];

    ls__sha256_init(&sha);
    for (int i = 0; i < s->boundaries; i++) {
        ls__sha256_update(&sha, &s->boundary[i].update,
                          sizeof s->boundary[i].update);
        ls__sha256_update(&sha, &s->boundary[i].factor,
                          sizeof s->boundary[i].factor);
    }
    ls__sha256_hex(&sha, hex);
    ls__facts_put(f, "the list of boundaries", "%d: %.16s", s->boundaries, hex);
}

static void put_groups(ls__facts *f, const ls_trainer_options *o)
{
    ls__sha256 sha;
    char hex[65];

    ls__sha256_init(&sha);
    for (int i = 0; i < o->groups; i++) {
        const ls_group *g = &o->group[i];
        double number[] = {g->vectors, g->frozen, g->rate, g->decay};

        ls__sha256_update(&sha, g->names, strlen(g->names) + 1);
        ls__sha256_update(&sha, number, sizeof number);
    }
    ls__sha256_hex(&sha, hex);
    ls__facts_put(f, "the list of groups", "%d: %.16s", o->groups, hex);
}

static void put_options(ls__facts *f, const ls_trainer *t)
{
    const ls_trainer_options *o = &t->options;

    ls__facts_put(f, "seed", "%lld", (long long)o->seed);
    ls__facts_put(f, "keys", "%d", (int)o->keys);
    put_choice(f, ls__optim_choice(o->optimizer.kind), &o->optimizer);
    ls__facts_put_real(f, "lr", o->optimizer.lr);
    put_choice(f, ls__schedule_choice(o->schedule.kind), &o->schedule);
    if (ls__schedule_has_boundaries(o->schedule.kind))
        put_boundaries(f, &o->schedule);
    ls__facts_put_real(f, "clip_norm", o->clip_norm);
    ls__facts_put_real(f, "clip_value", o->clip_value);
    ls__facts_put(f, "accumulate", "%d", t->micro);
    ls__facts_put(f, "mean", "%d", (int)o->mean);
    ls__facts_put(f, "precision", "%d", (int)o->precision);
    ls__facts_put_real(f, "average", o->average);
    put_groups(f, o);
    ls__facts_put(f, "dropout_key", "%d %08x %08x", o->own_dropout_key,
                  o->dropout_key.word[0], o->dropout_key.word[1]);
}

void ls__facts_of(const ls_trainer *t, ls__facts *f)
{
    memset(f, 0, sizeof *f);
    ls__facts_put(f, "the version of lockstep", "%s", ls_version());
    ls__facts_put(f, "devices", "%d", t->devices.of);
    put_options(f, t);
    ls__facts_put(f, "the number of parameters", "%d, %lld floats",
                  t->model.params.count, (long long)t->model.params.floats);
    put_graph(f, &t->model);
    put_values(f, &t->model);
}
