/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening predictors on a trainer or a graph, and taking new weights. */
#include "predict/predictor.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/fpmode.h"
#include "pool/pool.h"
#include "predict/fill.h"
#include "train/trainer.h"

#include <stdlib.h>
#include <string.h>

void ls__predictor_hold(ls_predictor *p)
{
    int holders = atomic_fetch_add(&p->holders, 1);

    LS__ASSERT(holders > 0);
}

void ls__predictor_drop(ls_predictor *p)
{
    if (atomic_fetch_sub(&p->holders, 1) > 1)
        return;
    ls__snapshots_close(&p->snapshots);
    ls__model_close(&p->model);
    free(p->input);
    free(p);
}

void ls_predictor_close(ls_predictor *p)
{
    if (p)
        ls__predictor_drop(p);
}

int ls__predictor_run(ls_pool *pool, const char *name, ls__job *job, void *user)
{
    ls__fpmode mode;

    if (pool)
        return ls__pool_call(pool, name, job, user);
    mode = ls__fpmode_set();
    job(user, 0);
    ls__fpmode_restore(mode);
    return 0;
}

static ls_predictor *new_predictor(void)
{
    ls_predictor *p = ls__new(1, sizeof *p, "predictor");

    if (!p)
        return NULL;
    atomic_init(&p->holders, 1);
    atomic_flag_clear(&p->refreshing);
    atomic_flag_clear(&p->copied);
    return p;
}

/* Is the input needed for any output? */
static bool is_read(const ls__plan *plan, int input)
{
    for (int i = 0; i < plan->outputs; i++)
        if (plan->output[i].reads[input])
            return true;
    return false;
}

/* Ends the opening, once the model is open and has its weights. */
static int finish(ls_predictor *p)
{
    const ls__model *m = &p->model;

    p->input = ls__new((size_t)m->inputs, sizeof *p->input, "inputs");
    if (!p->input)
        return LS_ENOMEM;
    for (int i = 0; i < m->inputs; i++)
        if (is_read(m->plan, i))
            p->input[p->inputs++] = &m->input[i];
    return ls__snapshots_open(&p->snapshots, m);
}

static int hand_out(ls_predictor **predictor, ls_predictor *p, int status)
{
    if (status == 0)
        status = finish(p);
    if (status < 0)
        ls__predictor_drop(p);
    else
        *predictor = p;
    return status;
}

/* ------ from a graph ------ */

static int open_graph(ls__model *m, const ls_graph *graph, ls__fill_fn *fill,
                      void *user)
{
    ls__model_options o = {.purpose = LS__TO_PREDICT};
    int status = ls__model_open(m, graph, &o);

    if (status == 0)
        status = fill(user, m->graph, &m->params, m->value);
    if (status == 0)
        ls__exec_pack(m->plan, &m->weights, 0, 1, false);
    return status;
}

int ls__predictor_fill(ls_predictor **predictor, const ls_graph *graph,
                       ls__fill_fn *fill, void *user)
{
    ls_predictor *p = new_predictor();

    return p ? hand_out(predictor, p, open_graph(&p->model, graph, fill, user))
             : LS_ENOMEM;
}

/* ------ from a trainer ------ */

/* Copy the weights of a trainer and pack them.  The trainer's pool is taken so
 * that no step changes what is copied. */
static int copy_weights(const ls_trainer *t, const ls__plan *plan,
                        float *value, const ls__weights *weights)
{
    int status = ls__pool_take(t->pool);

    if (status < 0)
        return status;
    memcpy(value, t->model.value,
           (size_t)t->model.params.floats * sizeof *value);
    ls__pool_give(t->pool);
    ls__exec_pack(plan, weights, 0, 1, false);
    return 0;
}

static int open_model(ls_predictor *p, const ls_trainer *t)
{
    ls__model_options o = {.purpose = LS__TO_PREDICT,
                           .precision = t->options.precision};
    ls__model *m = &p->model;
    int status;

    if (!t->model.graph)
        return ls__fail(LS_ENOTSUP, "a gradient function of your own has no "
                        "outputs to predict");
    o.backend = t->model.plan->backend.name;
    if ((status = ls__model_open(m, t->model.graph, &o)) < 0)
        return status;
    return copy_weights(t, m->plan, m->value, &m->weights);
}

int ls_predictor_open(ls_predictor **predictor, const ls_trainer *trainer)
{
    LS__NEED(predictor);
    LS__NEED(trainer);

    ls_predictor *p;

    if (!(p = new_predictor()))
        return LS_ENOMEM;
    return hand_out(predictor, p, open_model(p, trainer));
}

/* ------ new weights ------ */

static int check_same(const ls__params *a, const ls__params *b)
{
    if (a->count != b->count)
        return ls__fail(LS_ESHAPE, "the trainer has %d parameters, the "
                        "predictor %d", b->count, a->count);
    for (int i = 0; i < a->count; i++) {
        const ls__slot *s = &a->slot[i], *t = &b->slot[i];

        if (strcmp(s->name, t->name) || s->rank != t->rank ||
            memcmp(s->shape, t->shape, (size_t)s->rank * sizeof *s->shape))
            return ls__fail(LS_ESHAPE, "the trainer's parameter \"%s\" is not "
                            "the predictor's \"%s\", or of another shape",
                            t->name, s->name);
    }
    return 0;
}

/* The array of a parameter's name, which has its shape. */
static int find_array(const ls__slot *s, int n, const ls_array *array,
                      const ls_array **found)
{
    const ls_array *a = array;

    while (n > 0 && (!a->name || strcmp(a->name, s->name)))
        n--, a++;
    if (n <= 0)
        return ls__fail(LS_ENOTFOUND, "no array is called \"%s\", as a "
                        "parameter is", s->name);
    if (a->dtype != LS_F32 || a->rank != s->rank || !a->data ||
        memcmp(a->shape, s->shape, (size_t)s->rank * sizeof *s->shape))
        return ls__fail(LS_ESHAPE, "array \"%s\" has not the shape of the "
                        "parameter, in LS_F32", s->name);
    *found = a;
    return 0;
}

/* Copy arrays to the weights of a plan, and pack them. */
static int copy_arrays(const ls__params *p, int n, const ls_array *array,
                       const ls__plan *plan, ls__snapshot *to)
{
    int status = 0;

    if (n != p->count)
        return ls__fail(LS_ENOTFOUND, "%d arrays for %d parameters", n,
                        p->count);
    for (int i = 0; i < p->count && status == 0; i++) {
        const ls__slot *s = &p->slot[i];
        const ls_array *a = NULL;

        if ((status = find_array(s, n, array, &a)) == 0)
            memcpy(to->value + s->offset, a->data,
                   (size_t)s->size * sizeof *to->value);
    }
    if (status == 0)
        ls__exec_pack(plan, &to->weights, 0, 1, false);
    return status;
}

static int refresh(ls_predictor *p, const ls_trainer *t, int n,
                   const ls_array *array)
{
    ls__snapshot *next = ls__snapshots_spare(&p->snapshots);
    int status;

    if (!next)
        return LS_ENOMEM;
    status = t ? copy_weights(t, p->model.plan, next->value, &next->weights)
               : copy_arrays(&p->model.params, n, array, p->model.plan, next);
    if (status == 0)
        ls__snapshots_publish(&p->snapshots, next);
    return status;
}

/* Take the weights of a trainer, or n arrays where that is NULL. */
static int refresh_alone(ls_predictor *p, const ls_trainer *t, int n,
                         const ls_array *array)
{
    int status;

    if (atomic_flag_test_and_set(&p->refreshing))
        return ls__fail(LS_EBUSY, "the predictor is being refreshed by another "
                        "thread");
    status = refresh(p, t, n, array);
    atomic_flag_clear(&p->refreshing);
    return status;
}

int ls_predictor_set(ls_predictor *p, int n_arrays, const ls_array *arrays)
{
    LS__NEED_AS(p, "predictor", LS_EINVAL);
    LS__NEED(arrays);
    return refresh_alone(p, NULL, n_arrays, arrays);
}

int ls_predictor_refresh(ls_predictor *p, const ls_trainer *t)
{
    LS__NEED_AS(p, "predictor", LS_EINVAL);
    LS__NEED_AS(t, "trainer", LS_EINVAL);

    int status = check_same(&p->model.params, &t->model.params);

    if (status < 0)
        return status;
    return refresh_alone(p, t, 0, NULL);
}

/* ------ what it takes and gives ------ */

bool ls_predictor_input(const ls_predictor *p, int i, ls_array_spec *input)
{
    LS__NEED_AS(p, "predictor", false);
    LS__NEED_OR(input, false);
    if (i < 0 || i >= p->inputs)
        return false;
    *input = (ls_array_spec){p->input[i]->name, p->input[i]->dtype,
                             p->input[i]->rank, {0}};
    memcpy(input->shape, p->input[i]->shape, sizeof input->shape);
    return true;
}

bool ls_predictor_output(const ls_predictor *p, int i, ls_array_spec *output)
{
    LS__NEED_AS(p, "predictor", false);
    LS__NEED_OR(output, false);

    const ls_node *n;

    if (i < 0 || i >= p->model.plan->outputs)
        return false;
    n = p->model.graph->outputs[i]->node;
    *output = (ls_array_spec){p->model.plan->output[i].name, LS_F32, n->rank,
                              {0}};
    memcpy(output->shape, n->shape, sizeof n->shape);
    return true;
}
