/* SPDX-License-Identifier: BSD-3-Clause */
/* Flax's two ways from a seed to the keys of parameters and layers. */
#include "model/seeds.h"
#include "base/assert.h"
#include "random/init.h"
#include "random/initialiser.h"
#include "random/keys.h"

/* Requests to nnx's stream and places in linen's scopes both follow the order
 * of declaration.  A key of its own for dropout is another stream of nnx, whose
 * requests are not among the parameters'. */
static ls_key key_of(const ls__param *p, const ls__seeds *s, int i)
{
    ls_key root = ls_key_new(s->seed);

    return s->keys == LS_KEYS_NNX
               ? ls__key_nnx(root,
                             (uint64_t)(s->own_dropout_key ? i : p->request))
               : ls__key_linen(root, p->scope, (uint64_t)p->count);
}

ls__start ls__seeds_start(const ls__model *m, const ls__seeds *s, int i)
{
    const ls__param *p = &m->plan->param[i];
    double in = (double)p->fan_in, out = (double)p->fan_out;
    ls__start start = {.init = &p->chosen, .key = key_of(p, s, i)};

    if (p->chosen.kind == LS_INIT_LAYER)
        start.init = ls__init_of(p->init);
    else
        ls__initial_fans(start.init, p->rank, p->shape, &in, &out);
    start.fan = ls__init_fan(start.init, in, out);
    return start;
}

static int sow_parameters(ls__model *m, const ls__seeds *s)
{
    const ls__plan *plan = m->plan;
    int status = 0;

    LS__ASSERT(plan->params == m->params.count);
    for (int i = 0; i < plan->params && status == 0; i++) {
        const ls__param *p = &plan->param[i];
        ls__start start = ls__seeds_start(m, s, i);
        float *at = m->value + ls__params_declared(&m->params, i)->offset;

        status = ls__initial_fill(start.init, start.key, start.fan, p->name,
                                  p->rank, p->shape, at);
    }
    return status;
}

/* nnx: a layer's stream is one request to the root's.  linen: the root is
 * folded with the call, then with the hash of the layer's path. */
static void sow_streams(ls__plan *plan, const ls__seeds *s)
{
    bool apart = s->own_dropout_key;
    ls_key root = apart ? s->dropout_key : ls_key_new(s->seed);

    for (int i = 0; i < plan->streams.n; i++) {
        const ls__stream *stream = &plan->streams.of[i];
        ls__draw draw = {.key = root};

        if (s->keys == LS_KEYS_NNX) {
            draw.key = ls__key_nnx(root,
                                   (uint64_t)(apart ? i : stream->request));
        } else {
            draw.hash = ls__linen_hash(stream->scope, (uint64_t)stream->count);
            draw.hashed = true;
        }
        plan->streams.draw[i] = draw;
    }
}

int ls__seeds_sow(ls__model *m, const ls__seeds *seeds)
{
    sow_streams(m->plan, seeds);
    return sow_parameters(m, seeds);
}
