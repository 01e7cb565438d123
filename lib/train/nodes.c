/* SPDX-License-Identifier: BSD-3-Clause */
/* See nodes.h. */
#include "train/nodes.h"
#include "base/assert.h"
#include "pool/pool.h"
#include "reduce/reduce.h"
#include "train/phases.h"
#include "train/verdict.h"

#include <string.h>

static int make(ls_trainer *t, ls__nodes *n)
{
    n->sum = ls__arena_new(&t->arena, (size_t)n->sums.parts, sizeof *n->sum);
    n->mean = ls__trained_block(&t->trained, t->model.params.floats,
                                "mean gradient");
    if (!n->sum || !n->mean)
        return LS_ENOMEM;
    for (int k = 0; k < n->sums.parts; k++) {
        LS__ASSERT(n->sums.part[k].first < t->devices.count);
        n->sum[k] = t->grad.device[n->sums.part[k].first];
    }
    return 0;
}

int ls__nodes_open(ls_trainer *t, const ls__needs *needs)
{
    ls__nodes *n;
    int status;

    if (t->ranks || needs->single || needs->fates ||
        t->options.mean == LS_MEAN_OF_SHARDS)
        return 0;
    if (!(n = ls__arena_new(&t->arena, 1, sizeof *n)))
        return LS_ENOMEM;
    t->nodes = n;
    status = ls__node_sums_open(&n->sums, ls__pool_mesh(t->pool),
                                t->devices.count);
    if (status == 0 && n->sums.pays)
        return make(t, n);
    ls__node_sums_close(&n->sums);
    t->nodes = NULL;
    return status;
}

void ls__nodes_close(ls_trainer *t)
{
    if (!t->nodes)
        return;
    ls__node_sums_close(&t->nodes->sums);
    ls__block_free(t->nodes->mean);
}

void ls__nodes_touch(const ls_trainer *t, int worker)
{
    ls__range all = {0, t->model.params.floats}, mine;

    if (!t->nodes)
        return;
    mine = ls__range_part(all, t->workers, worker, LS__REDUCE_BLOCK);
    for (ls__range run = {mine.first, mine.first};
         ls__ranges_next(&t->trained.runs, mine, &run);)
        memset(t->nodes->mean + run.first, 0,
               (size_t)(run.last - run.first) * sizeof *t->nodes->mean);
}

bool ls__phase_node_sums(ls__step *s, int worker)
{
    const ls_trainer *t = s->trainer;
    const ls__node_sums *n = &t->nodes->sums;
    const ls__group *node = &n->node[n->of[worker]];
    ls__span shards = n->shards[n->of[worker]];
    ls__range all = {0, t->model.params.floats};
    ls__range mine = ls__range_part(all, node->workers, worker - node->worker,
                                    LS__REDUCE_BLOCK);

    if (ls__verdict_judge(s) != LS__GOES_ON)
        return false;
    for (ls__range run = {mine.first, mine.first};
         shards.count && ls__ranges_next(&t->trained.runs, mine, &run);)
        ls__reduce_partials(t->grad.device + shards.first, shards, run);
    return true;
}

/* The devices were judged before. */
bool ls__phase_reduce_nodes(ls__step *s, int worker)
{
    const ls_trainer *t = s->trainer;
    const ls__nodes *n = t->nodes;
    ls__reduction r = {.buffer = n->sum, .count = n->sums.parts,
                       .part = n->sums.part, .of = t->devices.of,
                       .here = ls__span_all(n->sums.parts),
                       .factor = ls__verdict_factor(s)};

    ls__reduce_ask(s, &r);
    s->notes.bad[worker] =
        ls__reduce_trained(s, &r, ls__reduce_mine(s, worker));
    return true;
}
