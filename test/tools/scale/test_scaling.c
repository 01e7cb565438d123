/* SPDX-License-Identifier: BSD-3-Clause */
/* Scaling: what a step is counted to cost, what a measurement refuses to call
 * a speed-up, and what it concludes from given times. */
#include "calls.h"
#include "models.h"
#include "on_ranks.h"
#include "scale/scaling.h"

#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ------ What a step costs ------ */

/* Proves that the FLOP of the tool's lm are those of its products, by
 * operator and together. */
TEST(flops_of_lm)
{
    const lm_sizes sizes = {512, 64, 256, 8, 4, 1024};
    const double tokens = 64, dense = 2 * tokens * (4 * (4 * 256. * 256 +
                                   2 * 256. * 1024) + 256. * 512);
    const double attention = 4 * 4 * tokens * tokens * 256;
    double forward[2] = {0}, backward = 0;
    run r = open_run_on(2, 1, lm_graph(&sizes), NULL);
    ls_cost c;
    ls_work work;

    for (int i = 0; ls_trainer_cost(r.trainer, i, &c); i++) {
        forward[!strcmp(c.op, "attention")] += c.forward;
        backward += c.backward;
    }
    ls_trainer_work(r.trainer, &work);
    ck_assert_double_eq(forward[0], dense);
    ck_assert_double_eq(forward[1], attention);
    ck_assert_double_eq(backward, 2 * (dense + attention));
    ck_assert_double_eq(work.row_flops, 3 * (dense + attention));
    ck_assert(!ls_trainer_cost(r.trainer, -1, &c));
    close_run(&r);
}

/* Proves that a layer on the data makes no gradient of it, and that bytes
 * follow devices and moments. */
TEST(work_of_linear)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_work work;
    run r;

    o.optimizer = ls_adam(1e-3);
    r = open_run_on(4, 1, linear_graph(16, 8), &o);
    ls_trainer_work(r.trainer, &work);
    ck_assert_double_eq(work.row_flops, 2 * (2. * 16 * 8));
    ck_assert_double_eq(work.reduce_bytes, 5 * 4 * (16 * 8 + 16));
    ck_assert_double_eq(work.update_bytes, 7 * 4 * (16 * 8 + 16));
    close_run(&r);
}

/* Proves that each worker's times add up to the step, and are refused without
 * a clock, for other workers, and before a step. */
TEST(times_of_workers)
{
    float *x = normals(1, 8 * 4), *y = normals(2, 8 * 2);
    run r = open_run_on(4, 3, linear_graph(4, 2), NULL);
    ls_result result;
    ls_times t;

    OK(ls_batch_set(r.batch, "x", LS_F32, x, 8));
    OK(ls_batch_set(r.batch, "y", LS_F32, y, 8));
    OK(ls_step(r.trainer, r.batch, &result));
    FAILS(ls_trainer_times(r.trainer, 0, &t), LS_EINVAL, "no step since");
    OK(ls_trainer_clock(r.trainer));
    FAILS(ls_trainer_times(r.trainer, 0, &t), LS_EINVAL, "no step since");
    OK(ls_step(r.trainer, r.batch, &result));
    for (int w = 0; w < 3; w++) {
        double all = result.gradient_seconds + result.reduce_seconds +
                     result.update_seconds;

        OK(ls_trainer_times(r.trainer, w, &t));
        ck_assert(t.gradients > 0 && t.reduce > 0 && t.update > 0);
        ck_assert(t.waiting >= 0);
        ck_assert_double_eq_tol(t.gradients + t.reduce + t.update + t.waiting,
                                all, 1e-9);
    }
    FAILS(ls_trainer_times(r.trainer, 3, &t), LS_EINVAL,
          "worker 3 of 3");
    close_run(&r);
    free(x);
    free(y);
}

/* ------ What follows from points ------ */

enum { MOST = 6 };

typedef struct made {
    scaling s;
    scaling_point point[MOST];
} made;

/* A count on which gradients, reduce, update and the rest take so long. */
static void add(made *m, int workers, double gradients, double reduce,
                double update, double waiting)
{
    scaling_point *p = &m->point[m->s.points++];
    double all = gradients + reduce + update + waiting;

    m->s.point = m->point;
    *p = (scaling_point){
        .workers = workers, .verified = true, .rows = 32, .seconds = all,
        .max = {gradients, reduce, update, waiting},
        .mean = {gradients, reduce, update, waiting}, .flops_roof = 1e9,
        .copy_roof = 1e9};
    p->speedup = m->point[0].seconds / all;
    p->efficiency = p->speedup / workers;
}

/* Proves that exact Amdahl times give their share back, and that counts that
 * are not verified, or share cores, do not take part. */
TEST(serial_share)
{
    const double shares[] = {0, 0.03, 0.5, 1};
    double s;

    for (size_t i = 0; i < COUNT(shares); i++) {
        made m = {.s = {.info = {.devices = 8}}};

        for (int w = 1; w <= 4; w++)
            add(&m, w, shares[i] + (1 - shares[i]) / w, 0, 0, 0);
        add(&m, 5, 7, 0, 0, 0);
        m.point[4].oversubscribed = true;
        OK(scaling_serial(&m.s, &s));
        ck_assert_double_eq_tol(s, shares[i], 1e-9);
        m.point[2].verified = m.point[3].verified = false;
        FAILS(scaling_serial(&m.s, &s), LS_EINVAL, "there are 2");
    }
}

/* Proves that rows that grow with the workers are taken into account, and that
 * more than perfect is no negative share. */
TEST(serial_share_weak)
{
    made m = {.s = {.weak = true, .info = {.devices = 8}}}, n = m;
    double s;

    for (int w = 1; w <= 4; w++) {
        add(&m, w, w * (0.1 + 0.9 / w), 0, 0, 0);
        m.point[w - 1].rows *= w;
        add(&n, w, 1.0 / w / w, 0, 0, 0);
    }
    OK(scaling_serial(&m.s, &s));
    ck_assert_double_eq_tol(s, 0.1, 1e-9);
    OK(scaling_serial(&n.s, &s));
    ck_assert_double_eq(s, 0);
}

/* Proves that each cause of loss is named, with what to do. */
TEST(advice)
{
    static const struct {
        int devices, workers;
        double cut, gradients, mean, reduce, update, wait;
        const char *says;
    } all[] = {
        {8, 4, 0, .25, .25, .01, .04, 0,
         "update takes 13 %, all of it on the caller: use --state shard"},
        {8, 4, 1, .25, .25, .01, .04, 0, "bound by memory"},
        {8, 4, 0, .25, .25, .08, .01, 0, "each of the 8 devices"},
        {8, 3, 1, .375, .333, .01, .01, 0,
         "8 devices do not divide by 3 workers, which costs 11 %: use "
         "--devices 9"},
        {2, 4, 1, .5, .25, .01, .01, 0, "48 % is waiting for the worker"},
        {2, 3, 1, .5, .333, .01, .01, 0,
         "2 devices do not divide by 3 workers, which costs 32 %: use "
         "--devices 3"},
        {8, 4, 1, .30, .30, .01, .01, 0,
         "gradients take 20 % more of each core"},
        {8, 4, 1, .40, .25, .01, .01, 0, "36 % is waiting for the worker"},
        {8, 4, 1, .25, .25, .01, .01, .1, "barriers and starting take 27 %"},
        {8, 4, 1, .25, .25, .01, .0125, 0,
         "4 workers are 97 % efficient; most of what is left: reduce"},
    };

    for (size_t i = 0; i < COUNT(all); i++) {
        made m = {.s = {.cut = all[i].cut, .info = {.devices =
                                                        all[i].devices}}};

        add(&m, 1, 1, .02, .04, 0);
        add(&m, all[i].workers, all[i].gradients, all[i].reduce,
            all[i].update, all[i].wait);
        m.point[1].mean.gradients = all[i].mean;
        add(&m, 16, 9, 9, 9, 9);
        m.point[2].oversubscribed = true;
        scaling_advise(&m.s);
        ck_assert_msg(strstr(m.s.advice, all[i].says),
                      "\"%s\", not \"%s\"", m.s.advice, all[i].says);
    }
}

/* Proves that what ranks send is named, of the workers of all of them. */
TEST(advice_of_ranks)
{
    made m = {.s = {.info = {.devices = 8}}};
    double s;

    add(&m, 1, 1, .02, .04, 0);
    add(&m, 2, .5, .02, .04, 0);
    add(&m, 2, .25, .1, .04, 0);
    m.point[2].ranks = 2;
    scaling_advise(&m.s);
    ck_assert_msg(strstr(m.s.advice, "what 2 ranks send each other and wait "
                         "for takes 32 %"), "%s", m.s.advice);
    m.point[2].efficiency = .96;
    scaling_advise(&m.s);
    ck_assert_msg(strstr(m.s.advice, "4 workers on 2 ranks are 96 %"), "%s",
                  m.s.advice);
    FAILS(scaling_serial(&m.s, &s), LS_EINVAL, "there are 2");
    m.s.info.devices = 3;
    m.point[2].max = (ls_times){.5, .01, .01, 0};
    m.point[2].mean = m.point[2].max;
    m.point[2].efficiency = .5;
    m.point[2].workers = 1;
    scaling_advise(&m.s);
    ck_assert_msg(strstr(m.s.advice, "3 devices do not divide by 2"), "%s",
                  m.s.advice);
}

/* Proves that without a second count nothing is claimed. */
TEST(advice_of_one)
{
    made m = {.s = {.info = {.devices = 8}}};

    add(&m, 1, 1, .02, .04, 0);
    add(&m, 2, .5, .02, .04, 0);
    m.point[1].verified = false;
    scaling_advise(&m.s);
    ck_assert_ptr_nonnull(strstr(m.s.advice, "nothing to compare"));
}

/* ------ Measurements ------ */

enum { ROWS = 24, FOLDS = 3 };

/* The gradient of (w - x)^2, summed over the rows; spoilt where asked. */
typedef struct own {
    float x[ROWS * FOLDS];
    int spoil;  /* on a pool of so many workers; 0: never */
    int refuse; /* likewise: open fails */
    int workers; /* of the pool */
    int opened, filled;
    int64_t last; /* step that was filled */
} own;

static int gradient(void *user, int device, const ls_shard *shard,
                    const float *const *params, float *const *grads,
                    ls_sums *sums)
{
    const own *o = user;
    const float *x = shard->data[0];
    float w = params[0][0], g = 0;

    (void)device;
    for (int64_t i = 0; i < shard->rows; i++) {
        g += 2 * (w - x[i]);
        sums->loss += (double)((w - x[i]) * (w - x[i]));
    }
    sums->weight = (double)shard->rows;
    if (grads)
        grads[0][0] = o->spoil && o->spoil == o->workers ? g + 1e-3f : g;
    return 0;
}

static int open_own(void *user, ls_pool *pool, int fold,
                    const ls_transport *transport, ls_trainer **trainer,
                    ls_batch **batch)
{
    ls_trainer_options options = ls_trainer_defaults();
    static const ls_array_spec input = {"x", LS_F32, 0, {0}};
    static const ls_array_spec param = {"w", LS_F32, 0, {0}};
    own *o = user;
    ls_gradient g = {gradient, o, 1, 1, &input, &param};
    int status;

    options.transport = transport;
    o->opened++;
    o->last = -1;
    o->workers = ls_pool_workers(pool);
    if (o->refuse && o->refuse == o->workers)
        return LS_EBUSY;
    if ((status = ls_trainer_open_gradient(trainer, pool, &g, &options)) < 0 ||
        (status = ls_batch_open(batch, *trainer)) < 0)
        return status;
    return ls_batch_set(*batch, "x", LS_F32, o->x, (int64_t)fold * ROWS);
}

static int fill_own(void *user, int64_t step, ls_batch *batch)
{
    own *o = user;

    (void)batch;
    o->filled++;
    if (step != o->last + 1)
        return LS_EUSER;
    o->last = step;
    return 0;
}

static scaling_options options(own *o)
{
    static const int counts[] = {3, 2, 3};
    static const ls_mesh_options six = {.size = sizeof six, .devices = 6};
    static const ls_pool_options loose = {.size = sizeof loose, .no_pin = true};
    scaling_options s = {0};

    fill_uniform(1, ROWS * FOLDS, o->x);
    s.open = open_own;
    s.fill = fill_own;
    s.user = o;
    s.pool = &loose;
    s.mesh = &six;
    s.n_workers = COUNT(counts);
    s.workers = counts;
    s.repeats = 2;
    s.steps = 7;
    return s;
}

/* Proves that counts are sorted, 1 is among them, all runs are made, and what
 * is alike is called a speed-up: strong and weak. */
TEST(measures)
{
    for (int weak = 0; weak < 2; weak++) {
        own o = {0};
        scaling_options options_ = options(&o);
        scaling *s;

        options_.weak = weak;
        options_.no_roofs = weak;
        OK(scaling_run(&s, &options_));
        ck_assert_int_eq(o.opened, 2 * 3 + 2 * weak);
        ck_assert_int_eq(o.filled, 2 * 3 * (3 + 7) + 2 * 3 * weak);
        ck_assert_int_eq(s->info.devices, 6);
        ck_assert_int_eq(s->info.repeats, 2);
        ck_assert_int_eq(s->info.steps, 7);
        ck_assert_int_eq(s->points, 3);
        for (int i = 0; i < 3; i++) {
            scaling_point p = s->point[i];

            ck_assert_int_eq(p.workers, i + 1);
            ck_assert_int_eq(p.rows, (weak ? i + 1 : 1) * ROWS);
            ck_assert(p.verified && p.speedup > 0 && p.seconds > 0);
            ck_assert(p.least <= p.seconds && p.seconds <= p.most);
            ck_assert(p.speedup_least <= p.speedup);
            ck_assert((p.flops_roof > 0 && p.copy_roof > 0) || weak);
            ck_assert_double_eq_tol(p.efficiency * p.workers, p.speedup, 1e-9);
            ck_assert(scaling_seconds(s, i, 1) >= p.least);
        }
        ck_assert(isnan(scaling_seconds(s, 0, 2)));
        ck_assert_int_gt(strlen(s->advice), 20);
        scaling_free(s);
    }
}

/* Proves that a count that trains other bytes has no speed-up, and that the
 * others keep theirs. */
TEST(refuses_other_bytes)
{
    for (int weak = 0; weak < 2; weak++) {
        own o = {.spoil = 2};
        scaling_options options_ = options(&o);

        scaling_point p[3];
        scaling *s;

        options_.no_roofs = true;
        options_.weak = weak;
        OK(scaling_run(&s, &options_));
        for (int i = 0; i < 3; i++) {
            p[i] = s->point[i];
            ck_assert_int_eq(p[i].verified, i != 1);
            ck_assert_int_eq(isnan(p[i].speedup), i == 1);
            ck_assert_int_eq(isnan(p[i].efficiency), i == 1);
            ck_assert(p[i].flops_roof == 0 && p[i].copy_roof == 0);
        }
        ck_assert_str_ne(p[0].state, p[1].state);
        if (!weak)
            ck_assert_str_eq(p[0].state, p[2].state);
        scaling_free(s);
    }
}

/* Proves what a measurement refuses, and that a failing function ends it. */
TEST(refuses)
{
    own o = {.refuse = 3};
    ls_mesh_options none = {.size = sizeof none, .devices = -1};
    scaling_options good = options(&o), bad;
    scaling *s = NULL;

    good.no_roofs = true;
    bad = good;
    ck_assert_int_eq(scaling_run(&s, &good), LS_EBUSY);
    bad.repeats = 10001;
    FAILS(scaling_run(&s, &bad), LS_EINVAL, "10001 repeats");
    bad = good;
    bad.mesh = &none;
    ck_assert_int_eq(scaling_run(&s, &bad), LS_EINVAL);
    ck_assert_ptr_null(s);
    scaling_free(NULL);
}

/* What a rank found. */
typedef struct found {
    own own;
    scaling_point point[8];
    int points;
    bool weak;
    bool roofs; /* gigabytes are copied, which sanitizers make minutes of */
} found;

static int run_on(const ls_transport *t, void *user)
{
    found *f = (found *)user + t->rank;
    scaling_options o = options(&f->own);
    scaling *s;
    int status;

    o.transport = t;
    o.n_workers = 1;
    o.workers = (const int[]){2};
    o.no_roofs = !f->roofs;
    o.weak = f->weak;
    if ((status = scaling_run(&s, &o)) < 0) {
        t->abort(t->user, "this rank failed");
        return status;
    }
    for (; f->points < s->points; f->points++)
        f->point[f->points] = s->point[f->points];
    scaling_free(s);
    return 0;
}

/* Proves that 1, 2 and 3 ranks of 1 and 2 workers are measured, end in the same
 * bytes, and that all ranks know the same of it. */
TEST(measures_ranks)
{
    for (int weak = 0; weak < 2; weak++) {
        ranks_here *all;
        found *f = calloc(3, sizeof *f);

        for (int r = 0; r < 3; r++) {
            f[r].weak = weak;
            f[r].roofs = !weak && !UNDER_SANITIZER;
        }
        OK(ranks_open(&all, 3, NULL));
        all_succeed(all, 3, run_on, f);
        ck_assert_int_eq(f->points, 6);
        for (int i = 0; i < 6; i++) {
            const scaling_point *p = &f->point[i];
            int hands = p->ranks * p->workers;

            ck_assert_int_eq(p->ranks, 1 + i / 2);
            ck_assert_int_eq(p->workers, 1 + i % 2);
            ck_assert(p->verified && p->speedup > 0 && p->seconds > 0);
            ck_assert_int_eq(p->rows, (weak ? hands : 1) * ROWS);
            ck_assert_double_eq_tol(p->efficiency * hands, p->speedup, 1e-9);
            ck_assert_int_eq(p->flops_roof > 0, f->roofs && p->ranks == 1);
            if (!weak)
                ck_assert_str_eq(p->state, f->point[0].state);
            ck_assert_int_eq(p->reduce_rate > 0, p->ranks == 1);
        }
        for (int r = 1; r < 3; r++)
            ck_assert_int_eq(memcmp(f[r].point, f->point, sizeof f->point), 0);
        ck_assert_int_lt(f[2].own.opened, f[0].own.opened);
        ranks_close(all);
        free(f);
    }
}

/* Proves that other bytes of one rank cost only the counts that it is in their
 * speed-up, and that a rank that fails ends all. */
TEST(refuses_of_ranks)
{
    rank_body out[RANKS];
    ranks_here *all;
    found *f = calloc(3, sizeof *f);

    f[1].own.spoil = 1;
    OK(ranks_open(&all, 3, NULL));
    all_succeed(all, 3, run_on, f);
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(f->point[i].verified, i != 2 && i != 4);
    ranks_close(all);
    memset(f, 0, 3 * sizeof *f);
    f[2].own.refuse = 1;
    OK(ranks_open(&all, 3, NULL));
    on_ranks(all, 3, run_on, f, out);
    for (int r = 0; r < 3; r++)
        ck_assert_int_lt(out[r].status, 0);
    ranks_close(all);
    free(f);
}

MAIN()
