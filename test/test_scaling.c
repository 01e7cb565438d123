/* Scaling: what a step is counted to cost, and what each worker took. */
#include "models.h"

/* ------ What a step costs ------ */

/* Proves that the FLOP of seed 003's model are those of its products, by
 * operator and together. */
START_TEST(flops_of_lm)
{
    const lm_sizes sizes = {512, 64, 256, 8, 4, 1024};
    const double tokens = 64, dense = 2 * tokens * (4 * (4 * 256. * 256 +
                                   2 * 256. * 1024) + 256. * 512);
    const double attention = 4 * 4 * tokens * tokens * 256;
    double forward[2] = {0}, backward = 0;
    ls_pool *pool = open_pool(2, 1);
    run r = open_run(pool, lm_graph(&sizes), NULL);
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
    ls_pool_close(pool);
}
END_TEST

/* Proves that a layer on the data makes no gradient of it, and that bytes
 * follow devices and moments. */
START_TEST(work_of_linear)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_pool *pool = open_pool(4, 1);
    ls_work work;
    run r;

    o.optimizer = ls_adam(1e-3);
    r = open_run(pool, linear_graph(16, 8), &o);
    ls_trainer_work(r.trainer, &work);
    ck_assert_double_eq(work.row_flops, 2 * (2. * 16 * 8));
    ck_assert_double_eq(work.reduce_bytes, 5 * 4 * (16 * 8 + 16));
    ck_assert_double_eq(work.update_bytes, 7 * 4 * (16 * 8 + 16));
    close_run(&r);
    ls_pool_close(pool);
}
END_TEST

/* Proves that each worker's times add up to the step, and are refused without
 * a clock, for other workers, and before a step. */
START_TEST(times_of_workers)
{
    float *x = normals(1, 8 * 4), *y = normals(2, 8 * 2);
    ls_pool *pool = open_pool(4, 3);
    run r = open_run(pool, linear_graph(4, 2), NULL);
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
    FAILS(ls_trainer_times(r.trainer, 3, &t), LS_EINVAL, "worker 3 of 3");
    close_run(&r);
    ls_pool_close(pool);
    free(x);
    free(y);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("scaling");
    TCase *t = tcase_create("scaling");

    tcase_set_timeout(t, 120);
    tcase_add_test(t, flops_of_lm);
    tcase_add_test(t, work_of_linear);
    tcase_add_test(t, times_of_workers);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    SRunner *runner = srunner_create(suite());
    int failed;

    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
