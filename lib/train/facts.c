/* The facts of a trainer, in the order in which a difference is told. */
#include "train/facts.h"
#include "base/sha.h"
#include "train/schedule.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct list {
    ls__fact *fact;
    int count;
} list;

__attribute__((format(printf, 3, 4)))
static void put(list *l, const char *name, const char *format, ...)
{
    ls__fact *f = &l->fact[l->count];
    va_list args;

    if (l->count == LS__FACTS)
        return;
    va_start(args, format);
    snprintf(f->name, sizeof f->name, "%s", name);
    vsnprintf(f->value, sizeof f->value, format, args);
    va_end(args);
    l->count++;
}

/* ------ the model ------ */

/* Everything of an operator that its node says; pointers say nothing. */
static void hash_node(ls__sha256 *sha, const ls_node *n)
{
    int64_t number[] = {n->id, n->dtype, n->rank, n->size, n->params,
                        n->limit, n->heads, n->causal, n->groups, n->residual,
                        n->activation, n->pooled};

    ls__sha256_update(sha, n->name, strlen(n->name) + 1);
    if (n->op)
        ls__sha256_update(sha, n->op->name, strlen(n->op->name) + 1);
    ls__sha256_update(sha, number, sizeof number);
    ls__sha256_update(sha, n->shape, sizeof n->shape);
    ls__sha256_update(sha, n->param, (size_t)n->params * sizeof *n->param);
    ls__sha256_update(sha, &n->rate, sizeof n->rate);
    for (int i = 0; i < LS__MAX_INPUTS && n->in[i]; i++)
        ls__sha256_update(sha, &n->in[i]->id, sizeof n->in[i]->id);
}

static void put_graph(list *l, const ls__model *m)
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
    put(l, "the graph", "%.16s", hex);
    /* Where products have bits of their own, all ranks need the same. */
    if (!m->plan->backend.portable)
        put(l, "the maker of products", "%s %s on %s", m->plan->backend.name,
            m->plan->backend.text, ls__kernels()->name);
    else
        put(l, "the maker of products", "any");
}

static void put_values(list *l, const ls__model *m)
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
    put(l, "the hash of the parameters", "%.16s", hex);
}

/* ------ the options ------ */

static void put_choice(list *l, const ls__choice *c, const void *of)
{
    put(l, c->what, "%s", c->name);
    for (int i = 0; i < LS__OPTIONS && c->option[i].is; i++)
        put(l, c->option[i].is->name, "%.17g",
            ls__option_get(c->option[i].is, of));
}

static void put_boundaries(list *l, const ls_schedule *s)
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
    put(l, "the list of boundaries", "%d: %.16s", s->boundaries, hex);
}

static void put_groups(list *l, const ls_trainer_options *o)
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
    put(l, "the list of groups", "%d: %.16s", o->groups, hex);
}

static void put_options(list *l, const ls_trainer *t)
{
    const ls_trainer_options *o = &t->options;

    put(l, "seed", "%lld", (long long)o->seed);
    put(l, "keys", "%d", (int)o->keys);
    put_choice(l, ls__optim_choice(o->optimizer.kind), &o->optimizer);
    put(l, "lr", "%.17g", o->optimizer.lr);
    put_choice(l, ls__schedule_choice(o->schedule.kind), &o->schedule);
    if (ls__schedule_has_boundaries(o->schedule.kind))
        put_boundaries(l, &o->schedule);
    put(l, "clip_norm", "%.17g", o->clip_norm);
    put(l, "accumulate", "%d", t->micro);
    put(l, "mean", "%d", (int)o->mean);
    put(l, "precision", "%d", (int)o->precision);
    put(l, "average", "%.17g", o->average);
    put_groups(l, o);
    put(l, "dropout_key", "%d %08x %08x", o->own_dropout_key,
        o->dropout_key.word[0], o->dropout_key.word[1]);
}

int ls__facts_of(const ls_trainer *t, ls__fact fact[LS__FACTS])
{
    list l = {.fact = fact};

    memset(fact, 0, LS__FACTS * sizeof *fact);
    put(&l, "the version of lockstep", "%s", ls_version());
    put(&l, "devices", "%d", t->devices.of);
    put_options(&l, t);
    put(&l, "the number of parameters", "%d, %lld floats",
        t->model.params.count, (long long)t->model.params.floats);
    put_graph(&l, &t->model);
    put_values(&l, &t->model);
    return l.count;
}
