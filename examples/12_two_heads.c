/* SPDX-License-Identifier: BSD-3-Clause */
/* One trunk with two heads and a loss of both: of a point in the plane the
 * network says how far it is from the origin (a regression) and in which
 * quadrant it lies (a classification).
 *
 *     terms = (distance - r)^2 + 0.5 cross entropy(logits, quadrant)
 *
 * Each head's terms are made one number a row and watched as a metric.  Exits 1
 * when either head has not learned. */
#include <lockstep.h>

#include <math.h>
#include <stdio.h>

enum { ROWS = 256, SIDE = 16, STEPS = 400 };

static void build(ls_graph *g)
{
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){2});
    ls_node *r = ls_input(g, "r", LS_F32, 1, (int64_t[]){1});
    ls_node *quadrant = ls_input(g, "quadrant", LS_I32, 0, NULL);
    ls_node *trunk = ls_gelu(ls_dense(x, 32, "trunk_0"));
    ls_node *distance, *logits, *far, *where;

    trunk = ls_gelu(ls_dense(trunk, 32, "trunk_1"));
    distance = ls_dense(trunk, 1, "distance");
    logits = ls_dense(trunk, 4, "logits");
    far = ls_mean_over(ls_square(ls_sub(distance, r)), 0, NULL);
    where = ls_mean_over(ls_label_terms(logits, quadrant, 0), 0, NULL);
    ls_output(g, distance, "distance");
    ls_output(g, logits, "logits");
    ls_metric(g, far);
    ls_metric(g, where);
    ls_loss(g, ls_mean_loss(ls_add(far, ls_scale_shift(where, 0.5, 0)), NULL));
}

/* A grid over [-1,1] x [-1,1], which no axis runs through. */
static void make_data(float *x, float *r, int32_t *quadrant)
{
    for (int i = 0; i < ROWS; i++) {
        float a = ((float)(i / SIDE) + 0.5f) * 2 / SIDE - 1;
        float b = ((float)(i % SIDE) + 0.5f) * 2 / SIDE - 1;

        x[2 * i] = a;
        x[2 * i + 1] = b;
        r[i] = sqrtf(a * a + b * b);
        quadrant[i] = (a > 0) + 2 * (b > 0);
    }
}

static int set_data(ls_batch *b)
{
    static float x[2 * ROWS], r[ROWS];
    static int32_t quadrant[ROWS];
    int status;

    make_data(x, r, quadrant);
    status = ls_batch_set(b, "x", LS_F32, x, ROWS);
    if (status == 0)
        status = ls_batch_set(b, "r", LS_F32, r, ROWS);
    if (status == 0)
        status = ls_batch_set(b, "quadrant", LS_I32, quadrant, ROWS);
    return status;
}

/* Train, then ask a predictor about one point; 0, or 1 when it is wrong. */
static int train_and_ask(ls_trainer *t, ls_batch *b)
{
    const float point[2] = {-0.6f, 0.8f}; /* distance 1, quadrant 2 */
    ls_predictor *p = NULL;
    ls_context *c = NULL;
    ls_result r = {0};
    float distance = 0, logits[4] = {0};
    int status = set_data(b), best = 0;

    for (int step = 0; step < STEPS && status == 0; step++) {
        status = ls_step(t, b, &r);
        if (status == 0 && (step % 100 == 0 || step == STEPS - 1))
            printf("step %3d: loss %.4f, distance %.4f, quadrant %.4f\n", step,
                   (double)r.loss, (double)r.metric[0], (double)r.metric[1]);
    }
    if (status == 0)
        status = ls_predictor_open(&p, t);
    if (status == 0)
        status = ls_context_open(&c, p, NULL);
    if (status == 0)
        status = ls_context_set(c, "x", LS_F32, point, 1);
    if (status == 0)
        status = ls_context_predict(c, "distance", 1, &distance);
    if (status == 0)
        status = ls_context_predict(c, "logits", 4, logits);
    ls_context_close(c);
    ls_predictor_close(p);
    if (status < 0)
        return status;
    for (int k = 1; k < 4; k++)
        best = logits[k] > logits[best] ? k : best;
    printf("(-0.6, 0.8): distance %.2f, quadrant %d\n", (double)distance, best);
    return r.metric[0] > 0.01f || r.metric[1] > 0.1f || best != 2 ||
           fabsf(distance - 1) > 0.1f;
}

int main(void)
{
    ls_mesh *mesh = NULL;
    ls_pool *pool = NULL;
    ls_graph *g = NULL;
    ls_trainer *t = NULL;
    ls_batch *b = NULL;
    ls_trainer_options o = ls_trainer_defaults();
    int status = ls_mesh_open(&mesh, NULL);

    o.optimizer = ls_adam(1e-2);
    if (status == 0)
        status = ls_pool_open(&pool, mesh, NULL);
    if (status == 0)
        status = ls_graph_new(&g);
    if (status == 0) {
        build(g);
        status = ls_trainer_open(&t, pool, g, &o);
    }
    if (status == 0)
        status = ls_batch_open(&b, t);
    if (status == 0)
        status = train_and_ask(t, b);
    if (status < 0)
        puts(ls_errmsg());
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
    return status == 0 ? 0 : 1;
}
