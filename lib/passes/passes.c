/* SPDX-License-Identifier: BSD-3-Clause */
/* The passes over a batch: a training step, an evaluation, a prediction.  Where
 * several processes train together they meet between the phases
 * (sync_points.h). */
#include "base/assert.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/sized.h"
#include "pool/pool.h"
#include "passes/gradients.h"
#include "ranks/sync_points.h"
#include "train/batch.h"
#include "train/joint.h"
#include "train/nodes.h"
#include "train/phases.h"
#include "train/run_step.h"
#include "train/trainer.h"
#include "train/verdict.h"

/* clang-format off */
static const ls__pass
    train = {.train = true, .reduces = true, .updates = true, .phase = {
        {"prepare", LS__GRADIENTS, .run = ls__phase_prepare},
        {"gradients", LS__GRADIENTS, .run_device = ls__phase_gradients,
         .run_joint = ls__phase_joint},
        {"reduce", LS__REDUCE, .run = ls__phase_reduce},
        {"update", LS__UPDATE, .run = ls__phase_update}}},
    train_on_nodes = {.train = true, .reduces = true, .updates = true,
                      .phase = {
        {"prepare", LS__GRADIENTS, .run = ls__phase_prepare},
        {"gradients", LS__GRADIENTS, .run_device = ls__phase_gradients,
         .run_joint = ls__phase_joint},
        {"node sums", LS__REDUCE, .run = ls__phase_node_sums},
        {"reduce", LS__REDUCE, .run = ls__phase_reduce_nodes},
        {"update", LS__UPDATE, .run = ls__phase_update}}},
    train_with_others = {.train = true, .reduces = true, .updates = true,
                         .phase = {
        {"prepare", LS__GRADIENTS, .run = ls__phase_prepare},
        {"gradients", LS__GRADIENTS, .run_device = ls__phase_gradients,
         .run_joint = ls__phase_joint_ranks, .meets = true},
        {"partial sums", LS__REDUCE, .run = ls__phase_partials},
        {"exchange", LS__REDUCE, .run = ls__phase_exchange, .meets = true},
        {"reduce", LS__REDUCE, .run = ls__phase_complete},
        {"soundness", LS__REDUCE, .run = ls__phase_sound},
        {"update", LS__UPDATE, .run = ls__phase_update},
        {"values", LS__UPDATE, .run = ls__phase_values}}},
    evaluate = {.phase = {
        {"prepare", LS__GRADIENTS, .run = ls__phase_prepare},
        {"evaluate", LS__GRADIENTS, .run_device = ls__phase_gradients}}},
    evaluate_with_others = {.phase = {
        {"prepare", LS__GRADIENTS, .run = ls__phase_prepare},
        {"evaluate", LS__GRADIENTS, .run_device = ls__phase_gradients},
        {"reports", LS__REDUCE, .run = ls__phase_reports, .meets = true}}},
    predict = {.trusted = true, .phase = {
        {"prepare", LS__GRADIENTS, .run = ls__phase_prepare},
        {"predict", LS__GRADIENTS, .run_device = ls__phase_predict}}},
    predict_with_others = {.trusted = true, .phase = {
        {"prepare", LS__GRADIENTS, .run = ls__phase_prepare},
        {"predict", LS__GRADIENTS, .run_device = ls__phase_predict},
        {"reports", LS__REDUCE, .run = ls__phase_reports, .meets = true},
        {"outputs", LS__REDUCE, .run = ls__phase_outputs}}};
/* clang-format on */

/* Run a pass over a batch; the pool is taken. */
static int run(ls__step *s, ls_result *result)
{
    LS__ASSERT(s->pass->reduces || !s->pass->updates);

    int status = ls__step_run(s, ls__step_set_rows(s, NULL));

    if (status < 0)
        return status;
    ls__verdict_result(s, result);
    if (s->pass->train)
        ls__step_conclude(s, result);
    return 0;
}

static int step(ls_trainer *t, const ls_batch *batch, ls_result *result)
{
    ls__step s = {.trainer = t, .batch = batch,
                  .pass = t->ranks ? &train_with_others : &train};
    int64_t began, at;
    int status;

    if (t->nodes) {
        s.pass = &train_on_nodes;
        s.gradient = t->nodes->mean;
    }
    if ((status = ls__trainer_check_weights(t)) < 0)
        return status;
    if (t->between)
        return ls__gradients_step(t->between, batch, result);
    if ((status = ls__pool_take(t->pool)) < 0)
        return status;
    t->history.uses++;
    began = ls__pool_track(t->pool, 0)->level ? ls__nanoseconds() : 0;
    at = t->step;
    status = run(&s, result);
    ls__track_slice(ls__pool_track(t->pool, 0), LS__STEP, "step", began, at);
    ls__pool_give(t->pool);
    return status;
}

static int evaluation(ls_trainer *t, const ls_batch *batch, ls_result *result)
{
    ls__step s = {.trainer = t, .batch = batch,
                  .pass = t->ranks ? &evaluate_with_others : &evaluate};
    int status = ls__pool_take(t->pool);

    if (status < 0)
        return status;
    status = run(&s, result);
    ls__pool_give(t->pool);
    return status;
}

int ls_step_bytes(ls_trainer *t, const ls_batch *batch, ls_result *result,
                  size_t size)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(batch);
    LS__NEED(result);

    ls_result r;
    int status = step(t, batch, &r);

    if (status == 0)
        ls__sized_put(result, size, &r, sizeof r);
    return status;
}

int ls_evaluate_bytes(ls_trainer *t, const ls_batch *batch, ls_result *result,
                      size_t size)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(batch);
    LS__NEED(result);

    ls_result r;
    int status = evaluation(t, batch, &r);

    if (status == 0)
        ls__sized_put(result, size, &r, sizeof r);
    return status;
}

/* Finds the output to read, and checks the size of `out`. */
static int check_output(ls__step *s, const char *output, int64_t n)
{
    const ls_trainer *t = s->trainer;
    int status;

    if (!t->model.plan)
        return ls__fail(LS_ENOTFOUND, "output \"%s\": a gradient function has "
                        "no outputs", output);
    if (!(s->query.output = ls__plan_output(t->model.plan, output)))
        return LS_ENOTFOUND;
    s->query.asks = 1 + (int)(s->query.output - t->model.plan->output);
    if ((status = ls__step_set_rows(s, s->query.output->reads)) < 0)
        return status;
    if (n % s->query.output->size == 0 && n / s->query.output->size == s->all)
        return 0;
    return ls__fail(LS_ESHAPE, "output \"%s\": %lld row%s of %lld element%s %s "
                    "not fill %lld", output, (long long)s->all, ls__s(s->all),
                    (long long)s->query.output->size,
                    ls__s(s->query.output->size), s->all == 1 ? "does" : "do",
                    (long long)n);
}

int ls_predict(ls_trainer *t, const ls_batch *batch, const char *output,
               int64_t n, float *out)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(batch);
    LS__NEED(output);
    LS__NEED(out);

    ls__step s = {.trainer = t, .batch = batch, .query = {.out = out},
                  .pass = t->ranks ? &predict_with_others : &predict};
    int status = ls__pool_take(t->pool);

    if (status < 0)
        return status;
    status = ls__step_run(&s, check_output(&s, output, n));
    if (status == 0)
        status = ls__verdict_fail_user(&s);
    ls__pool_give(t->pool);
    return status;
}
