/* SPDX-License-Identifier: BSD-3-Clause */
/* The public header alone, linked with the shared library, as a user has them:
 * nothing of lib/ is included, nothing unexported called. */
#include "calls.h"

#include <lockstep.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ------ Version and errors ------ */

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

/* Proves that the library that runs is the one whose header was compiled. */
TEST(version)
{
    ck_assert_str_eq(ls_version(), TEXT(LS_VERSION_MAJOR) "." TEXT(
                     LS_VERSION_MINOR) "." TEXT(LS_VERSION_PATCH));
}

#define ROW(name, value, text) {name, value, text},

static const struct {
    int status, value;
    const char *text;
} statuses[] = {LS_ERRORS(ROW)};

/* Proves that every status has its value and text, none is there twice, and a
 * number that is none is no crash. */
TEST(status_texts)
{
    ck_assert_int_eq(LS_OK, 0);
    ck_assert_str_eq(ls_strerror(0), "success");
    for (size_t i = 0; i < COUNT(statuses); i++) {
        ck_assert_int_eq(statuses[i].status, statuses[i].value);
        ck_assert_int_lt(statuses[i].status, 0);
        ck_assert_str_eq(ls_strerror(statuses[i].status), statuses[i].text);
        for (size_t k = 0; k < i; k++)
            ck_assert_int_ne(statuses[k].value, statuses[i].value);
    }
    ck_assert_str_eq(ls_strerror(1), ls_strerror(-1000));
}

/* Proves that a failure leaves its words behind and its result alone, and that
 * a success does not need them. */
TEST(error_message)
{
    ls_mesh_options o = ls_mesh_defaults();
    ls_mesh *mesh = NULL;

    o.devices = -3;
    ck_assert_int_eq(ls_mesh_open(&mesh, &o), LS_EINVAL);
    ck_assert_ptr_null(mesh);
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "-3"));
}

/* Proves that every ending half accepts NULL, and that this is no failure. */
TEST(closing_nothing)
{
    ls_array none = {.data = NULL};
    char before[512];

    snprintf(before, sizeof before, "%s", ls_errmsg());
    ls_batch_close(NULL);
    ls_trainer_close(NULL);
    ls_graph_free(NULL);
    ls_pool_close(NULL);
    ls_mesh_close(NULL);
    ls_array_free(&none);
    ck_assert_str_eq(ls_errmsg(), before);
}

/* ------ The types a program is compiled against ------ */

_Static_assert(LS_F32 == 1 && LS_I32 == 2, "dtypes stand in programs");
_Static_assert(LS_MAX_RANK == 8, "so does the rank of shapes");
_Static_assert(sizeof(enum ls_status) == sizeof(int), "a status is an int");
_Static_assert(_Generic(&ls_step, int (*)(ls_trainer *, const ls_batch *,
                                          ls_result *): 1, default: 0),
               "ls_step");
_Static_assert(_Generic((ls_gradient_fn *)0,
                        int (*)(void *, int, const ls_shard *,
                                const float *const *, float *const *,
                                ls_sums *): 1, default: 0),
               "ls_gradient_fn");
_Static_assert(_Generic(((ls_result *)0)->loss, float: 1, default: 0),
               "losses are floats");
_Static_assert(_Generic(((ls_result *)0)->rows, int64_t: 1, default: 0),
               "sizes are int64_t");

/* Proves that options zeroed by hand are the documented defaults. */
TEST(defaults)
{
    ls_mesh_options mesh = ls_mesh_defaults();
    ls_pool_options pool = ls_pool_defaults();
    ls_trainer_options o = ls_trainer_defaults();
    ls_optimizer adam = ls_adam(0.5), adamw = ls_adamw(0.5);

    ck_assert(mesh.devices == 0 && mesh.workers == 0);
    ck_assert(!mesh.axes && !mesh.topology);
    ck_assert(!pool.no_pin && !pool.pin_caller);
    ck_assert(o.seed == 0 && o.keys == LS_KEYS_NNX && !o.backend);
    ck_assert(o.mean == LS_MEAN_EXACT && o.state == LS_REPLICATE);
    ck_assert(o.optimizer.kind == LS_SGD && o.optimizer.lr == 0.1);
    ck_assert(adam.kind == LS_ADAM && adam.lr == 0.5 && adam.b1 == 0.9);
    ck_assert(adam.b2 == 0.999 && adam.eps == 1e-8);
    ck_assert(adam.weight_decay == 0);
    ck_assert(adamw.kind == LS_ADAMW && adamw.weight_decay == 1e-4);
    ck_assert(ls_momentum(0.5, 0.9).momentum == 0.9);
    ck_assert(ls_nesterov(0.5, 0.9).kind == LS_NESTEROV);
}

/* ------ The program on the header's first page ------ */

enum { ROWS = 64 };

/* y is the product of x's two numbers. */
static void fill(float xs[2 * ROWS], float ys[ROWS])
{
    for (int i = 0; i < ROWS; i++) {
        xs[2 * i] = (float)(i % 8) / 4 - 1;
        xs[2 * i + 1] = (float)(i / 8) / 4 - 1;
        ys[i] = xs[2 * i] * xs[2 * i + 1];
    }
}

/* Proves that the program of lockstep.h learns. */
TEST(first_page)
{
    float xs[2 * ROWS], ys[ROWS], first = 0, loss = 0;
    ls_mesh *mesh;
    ls_pool *pool;
    ls_graph *g;
    ls_trainer *t;
    ls_batch *b;
    ls_result r;

    fill(xs, ys);
    ck_assert_int_eq(ls_mesh_open(&mesh, NULL), 0);
    ck_assert_int_eq(ls_mesh_devices(mesh), 8);
    ck_assert_int_eq(ls_pool_open(&pool, mesh, NULL), 0);
    ck_assert_int_eq(ls_graph_new(&g), 0);
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){2});
    ls_node *y = ls_input(g, "y", LS_F32, 1, (int64_t[]){1});
    ls_node *h = ls_gelu(ls_dense(x, 32, "hidden"));
    ls_loss(g, ls_mean_squared_error(ls_dense(h, 1, "out"), y));
    ls_trainer_options o = ls_trainer_defaults();
    o.optimizer = ls_adam(1e-2);
    ck_assert_msg(ls_trainer_open(&t, pool, g, &o) == 0, "%s", ls_errmsg());
    ck_assert_int_eq(ls_batch_open(&b, t), 0);
    for (int step = 0; step < 200; step++) {
        ck_assert_int_eq(ls_batch_set(b, "x", LS_F32, xs, ROWS), 0);
        ck_assert_int_eq(ls_batch_set(b, "y", LS_F32, ys, ROWS), 0);
        ck_assert_msg(ls_step(t, b, &r) == 0, "%s", ls_errmsg());
        ck_assert_int_eq(r.step, step);
        first = step ? first : r.loss;
        loss = r.loss;
    }
    ck_assert_msg(loss < first / 20, "loss went from %g to %g", (double)first,
                  (double)loss);
    ck_assert_int_eq(ls_trainer_step(t), 200);
    ck_assert_int_eq(ls_trainer_devices(t), 8);
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
}

/* Proves that the step in one call works from outside and refuses what does not
 * divide. */
TEST(one_call)
{
    float xs[2 * ROWS], ys[ROWS], loss = -1;

    fill(xs, ys);
    ck_assert_int_eq(ls_data_parallel_step(0, xs, ys, ROWS, 2, 1, 4, 0.1,
                                           &loss), 0);
    ck_assert(loss > 0);
    loss = -1;
    ck_assert_int_eq(ls_data_parallel_step(0, xs, ys, ROWS, 2, 1, 7, 0.1,
                                           &loss), LS_ESHAPE);
    ck_assert_int_eq(ls_data_parallel_step(0, xs, ys, ROWS, 2, 1, 0, 0.1,
                                           &loss), LS_EINVAL);
    ck_assert_int_lt(ls_data_parallel_step(0, xs, ys, ROWS, 0, 1, 4, 0.1,
                                           &loss), 0);
    ck_assert(loss == -1);
}

MAIN()
