/* SPDX-License-Identifier: BSD-3-Clause */
/* Online training inside a simulation: two threads simulate pendulums and hand
 * each state to the trainer as they make it; the main thread trains on the rows
 * as they come; and the simulation's own threads predict the next change of
 * their state, each with a context of its own, while training goes on.
 *
 *     simulation  angle, speed -> queue        main   queue -> ls_step
 *                 ls_context_predict  <-  ls_predictor_refresh, now and then
 *
 * Nobody waits for an inference.  A simulation waits only while the queue is
 * full.  Exits 1 when the last predictions are not far better than the
 * first. */
#include <lockstep.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 64, STEPS = 600, REFRESH = 20, SIMULATIONS = 2, QUEUE = 256 };

/* A state, and how it changed until the next one, times 10. */
typedef struct row {
    float state[2], change[2];
} row;

/* ------ The queue: made by many, taken by one ------ */

typedef struct queue {
    pthread_mutex_t lock;  /* guards all below */
    pthread_cond_t moved;  /* something was put or taken, or it has ended */
    row rows[QUEUE];
    int first, count;
    int ended; /* nobody takes any more, or nobody puts */
} queue;

/* Put a row; returns 0 when nobody wants it. */
static int put(queue *q, const row *r)
{
    int wanted;

    pthread_mutex_lock(&q->lock);
    while (q->count == QUEUE && !q->ended)
        pthread_cond_wait(&q->moved, &q->lock);
    wanted = !q->ended;
    if (wanted)
        q->rows[(q->first + q->count++) % QUEUE] = *r;
    pthread_cond_broadcast(&q->moved);
    pthread_mutex_unlock(&q->lock);
    return wanted;
}

/* Take n rows; returns 0 when a simulation has failed. */
static int take(queue *q, int n, float *states, float *changes)
{
    int more;

    pthread_mutex_lock(&q->lock);
    while (q->count < n && !q->ended)
        pthread_cond_wait(&q->moved, &q->lock);
    more = !q->ended;
    for (int i = 0; i < n && more; i++) {
        const row *r = &q->rows[(q->first + i) % QUEUE];

        memcpy(states + 2 * i, r->state, sizeof r->state);
        memcpy(changes + 2 * i, r->change, sizeof r->change);
    }
    q->first = (q->first + n) % QUEUE;
    q->count -= n;
    pthread_cond_broadcast(&q->moved);
    pthread_mutex_unlock(&q->lock);
    return more;
}

static void end(queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->ended = 1;
    pthread_cond_broadcast(&q->moved);
    pthread_mutex_unlock(&q->lock);
}

/* ------ A simulation ------ */

typedef struct simulation {
    queue *queue;
    ls_context *context;
    int64_t draws;        /* of random starts so far */
    ls_key key;
    double first, last;   /* mean squared error of the predictions */
    int status;
} simulation;

static void start_anew(simulation *s, float state[2])
{
    ls_random_uniform(s->key, (uint64_t)s->draws, 2, -2, 2, state);
    s->draws += 2;
}

/* A pendulum with friction, for a tenth of a second. */
static void move(float state[2])
{
    for (int i = 0; i < 10; i++) {
        state[1] -= 0.01f * (4 * sinf(state[0]) + 0.2f * state[1]);
        state[0] += 0.01f * state[1];
    }
}

/* The squared error of what the model expects of a row now. */
static double error_of(simulation *s, const row *r)
{
    float guess[2] = {0};
    double sum = 0;

    s->status = ls_context_set(s->context, "state", LS_F32, r->state, 1);
    if (s->status == 0)
        s->status = ls_context_predict(s->context, "change", 2, guess);
    for (int k = 0; k < 2; k++) {
        double d = (double)guess[k] - (double)r->change[k];

        sum += d * d;
    }
    return sum;
}

static void *simulate(void *user)
{
    simulation *s = user;
    float state[2] = {0};
    int made = 0, wanted = 1;

    while (wanted && s->status == 0) {
        row r;
        double error;

        if (made % 50 == 0)
            start_anew(s, state);
        memcpy(r.state, state, sizeof state);
        move(state);
        for (int k = 0; k < 2; k++)
            r.change[k] = 10 * (state[k] - r.state[k]);
        error = error_of(s, &r);
        if (made++ < 200) /* the mean of the first ones .. */
            s->first += error / 200;
        s->last += (error - s->last) / 200; /* .. and of the latest */
        wanted = put(s->queue, &r);
    }
    if (s->status < 0) {
        puts(ls_errmsg());
        end(s->queue);
    }
    return NULL;
}

/* ------ Training ------ */

static int train(ls_trainer *t, ls_batch *b, ls_predictor *p, queue *q)
{
    static float states[2 * ROWS], changes[2 * ROWS];
    ls_result r = {0};
    int status = 0;

    for (int step = 0; step < STEPS && status == 0; step++) {
        if (!take(q, ROWS, states, changes))
            break;
        status = ls_batch_set(b, "state", LS_F32, states, ROWS);
        if (status == 0)
            status = ls_batch_set(b, "target", LS_F32, changes, ROWS);
        if (status == 0)
            status = ls_step(t, b, &r);
        if (status == 0 && step % REFRESH == REFRESH - 1)
            status = ls_predictor_refresh(p, t);
        if (status == 0 && step % 150 == 0)
            printf("step %3d: loss %.4f\n", step, (double)r.loss);
    }
    return status;
}

/* Run simulations and training at the same time. */
static int run(ls_trainer *t, ls_batch *b, ls_predictor *p)
{
    static queue q = {.lock = PTHREAD_MUTEX_INITIALIZER,
                      .moved = PTHREAD_COND_INITIALIZER};
    simulation s[SIMULATIONS] = {{0}};
    pthread_t thread[SIMULATIONS];
    double first = 0, last = 0;
    int running = 0, status = 0;

    for (int i = 0; i < SIMULATIONS && status == 0; i++) {
        s[i].queue = &q;
        s[i].key = ls_key_new(i);
        status = ls_context_open(&s[i].context, p, NULL);
        if (status == 0 && pthread_create(&thread[i], NULL, simulate, &s[i]))
            status = ls_error(LS_ETHREAD, "a simulation has no thread");
        running += status == 0;
    }
    if (status == 0)
        status = train(t, b, p, &q);
    end(&q);
    for (int i = 0; i < running; i++) {
        pthread_join(thread[i], NULL);
        first += s[i].first / SIMULATIONS;
        last += s[i].last / SIMULATIONS;
        status = s[i].status < 0 ? s[i].status : status;
    }
    for (int i = 0; i < SIMULATIONS; i++)
        ls_context_close(s[i].context);
    printf("the simulations' predictions: error %.4f at first, %.4f at last\n",
           first, last);
    return status < 0 ? status : last > first / 10;
}

static void build(ls_graph *g)
{
    ls_node *state = ls_input(g, "state", LS_F32, 1, (int64_t[]){2});
    ls_node *target = ls_input(g, "target", LS_F32, 1, (int64_t[]){2});
    ls_node *h = ls_tanh(ls_dense(state, 32, "hidden"));
    ls_node *change = ls_dense(h, 2, "change");

    ls_output(g, change, "change");
    ls_loss(g, ls_mean_squared_error(change, target));
}

int main(void)
{
    ls_mesh *mesh = NULL;
    ls_pool *pool = NULL;
    ls_graph *g = NULL;
    ls_trainer *t = NULL;
    ls_batch *b = NULL;
    ls_predictor *p = NULL;
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
        status = ls_predictor_open(&p, t);
    if (status == 0)
        status = run(t, b, p);
    if (status < 0)
        puts(ls_errmsg());
    ls_predictor_close(p);
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
    return status == 0 ? 0 : 1;
}
