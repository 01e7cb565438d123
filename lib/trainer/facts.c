/* SPDX-License-Identifier: BSD-3-Clause */
/* The facts of a trainer, in the order in which a difference is told. */
#include "trainer/facts.h"
#include "base/sha.h"
#include "model/graph_facts.h"
#include "ranks/agree.h"
#include "rules/trainer_rows.h"
#include "ranks/ranks.h"
#include "train/trainer.h"

#include <string.h>

static void put_devices(ls__facts *f, const ls_trainer *t)
{
    ls__facts_put(f, "devices", "%d", t->devices.of);
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

json_t *ls__facts_of_run(const ls_trainer *t)
{
    ls__facts f = {.count = 0};

    put_devices(&f, t);
    ls__trainer_rows_put(&f, &t->options, LS__OF_RUN);
    return ls__facts_json(&f);
}

void ls__facts_of_graph(const ls_trainer *t, bool trained, ls__facts *f)
{
    if (t->model.graph)
        ls__graph_facts(t->model.graph, trained, f);
}

static void put_all(const ls_trainer *t, ls__facts *f)
{
    ls__facts_put(f, "the version of lockstep", "%s", ls_version());
    put_devices(f, t);
    ls__trainer_rows_put(f, &t->options, LS__OF_RANKS);
    ls__facts_put(f, "the number of parameters", "%d, %lld floats",
                  t->model.params.count, (long long)t->model.params.floats);
    ls__facts_of_graph(t, false, f);
    put_values(f, &t->model);
}

int ls__facts_compare(const ls_trainer *t)
{
    ls__facts facts = {.count = 0};
    int status;

    if (!t->ranks)
        return 0;
    put_all(t, &facts);
    status = ls__agree(t->ranks->link, &facts);
    ls__facts_free(&facts);
    return status;
}
