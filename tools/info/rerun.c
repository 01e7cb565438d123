/* SPDX-License-Identifier: BSD-3-Clause */
/* See rerun.h. */
#include "info/rerun.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------ Training ------ */

static ls_trainer_options options_of(const verify_run *run)
{
    ls_trainer_options o = ls_trainer_defaults();

    o.optimizer = ls_optimizer_defaults(run->optimizer, 0.01);
    o.schedule.kind = run->schedule;
    if (run->schedule != LS_CONSTANT)
        o.schedule.decay_steps = 2 * VERIFY_STEPS;
    o.clip_norm = run->clip_norm;
    o.accumulate = run->accumulate;
    o.mean = run->mean;
    o.state = run->state;
    o.backend = run->backend;
    o.precision = run->precision;
    return o;
}

static int open_rerun(rerun *t)
{
    ls_mesh_options m = ls_mesh_defaults();
    ls_pool_options p = ls_pool_defaults();
    ls_trainer_options o = options_of(t->run);
    char cpus[16];
    int status;

    if (t->run->devices)
        m.devices = t->run->devices;
    m.workers = t->run->workers;
    if (t->pu >= 0) {
        snprintf(cpus, sizeof cpus, "%d", t->pu);
        m.cpus = cpus;
        m.workers = 1;
        p.pin_caller = true; /* who is that worker */
    }
    if ((status = ls_mesh_open(&t->mesh, &m)) < 0 ||
        (status = ls_pool_open(&t->pool, t->mesh, &p)) < 0 ||
        (status = ls_graph_new(&t->graph)) < 0 ||
        (status = ls_loss(t->graph, t->run->build(t->graph))) < 0 ||
        (status = ls_trainer_open(&t->trainer, t->pool, t->graph, &o)) < 0)
        return status;
    return ls_batch_open(&t->batch, t->trainer);
}

void rerun_close(rerun *t)
{
    ls_batch_close(t->batch);
    ls_trainer_close(t->trainer);
    ls_graph_free(t->graph);
    ls_pool_close(t->pool);
    ls_mesh_close(t->mesh);
}

/* ------ Tensors: parameters, then the moments there are ------ */

static const char *const moments[] = {"", "mu.", "nu.", "trace."};

/* Tensor i of a trainer by name, and its elements; false past the last. */
static bool tensor(const ls_trainer *t, int i, char name[LS_TEXT],
                   int64_t *elements)
{
    int params = ls_trainer_params(t), kind = i / params;
    int64_t shape[LS_MAX_RANK];

    *elements = 1;
    if (kind >= (int)(sizeof moments / sizeof *moments))
        return false;
    snprintf(name, LS_TEXT, "%s%s", moments[kind],
             ls_trainer_param_name(t, i % params));
    for (int k = ls_trainer_param_shape(t, i % params, shape); k-- > 0;)
        *elements *= shape[k];
    return true;
}

/* FNV-1a of the elements' bytes, the least of each first. */
static uint32_t digest(const float *x, int64_t n)
{
    uint32_t d = 2166136261u, word;

    for (int64_t i = 0; i < n; i++) {
        memcpy(&word, &x[i], sizeof word);
        for (int k = 0; k < 32; k += 8)
            d = (d ^ (word >> k & 255)) * 16777619u;
    }
    return d;
}

static int look(rerun *t, verify_step *s)
{
    char name[LS_TEXT];
    int64_t n;
    int hashed = ls_trainer_hash(t->trainer, s->state);

    if (hashed < 0)
        return hashed;
    for (int i = 0; tensor(t->trainer, i, name, &n); i++) {
        float *x = malloc((size_t)n * sizeof *x);
        int status = x ? ls_trainer_get(t->trainer, name, n, x) : LS_ENOMEM;

        if (status == 0 && s->tensors < VERIFY_TENSORS) {
            t->number[s->tensors] = i;
            s->digest[s->tensors++] = digest(x, n);
        }
        free(x);
        if (status < 0 && status != LS_ENOTFOUND)
            return status;
    }
    return 0;
}

/* ------ Comparing ------ */

static const verify_known *known(const verify_run *run)
{
    const verify_known *k = verify_table;

    while (k->name && strcmp(k->name, run->like ? run->like : run->name))
        k++;
    return k->name ? k : NULL;
}

/* Say in what a step differs from what is recorded, if no step before did. */
static void compare(rerun *t, int step)
{
    const verify_known *k = known(t->run);
    const verify_step *got = &t->got[step];
    char name[LS_TEXT];
    int64_t n;
    int i = 0;

    if (*t->difference || (k && !strcmp(k->step[step].state, got->state)))
        return;
    snprintf(name, LS_TEXT, k ? "the step's number" : "all: none is recorded");
    while (k && i < got->tensors && k->step[step].digest[i] == got->digest[i])
        i++;
    if (k && i < got->tensors)
        (void)tensor(t->trainer, t->number[i], name, &n);
    snprintf(t->difference, LS_TEXT, "differs in step %d, first in %.200s",
             step, name);
}

int rerun_train(rerun *t)
{
    ls_result r;
    int status = open_rerun(t);

    for (int s = 0; s < VERIFY_STEPS && status == 0; s++) {
        if ((status = verify_rows(t->batch, t->run, s)) < 0 ||
            (status = ls_step(t->trainer, t->batch, &r)) < 0 ||
            (status = look(t, &t->got[s])) < 0)
            return status;
        compare(t, s);
    }
    return status;
}

int rerun_again(rerun *t)
{
    rerun again = {.run = t->run, .pu = t->pu};
    int status = t->pu < 0 ? 0 : rerun_train(&again), s = 0;
    size_t n = strlen(t->difference);

    while (t->pu >= 0 && status == 0 && s < VERIFY_STEPS &&
           !strcmp(t->got[s].state, again.got[s].state))
        s++;
    if (t->pu >= 0 && status == 0 && s < VERIFY_STEPS)
        snprintf(t->difference + n, LS_TEXT - n, "%sdiffers from itself in "
                 "step %d", n ? "; it " : "", s);
    rerun_close(&again);
    return status;
}
