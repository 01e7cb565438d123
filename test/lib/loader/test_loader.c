/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources and loaders: which rows a step gets, in which order and with which
 * weights; that threads, timing and the order of questions change no byte; what
 * does not fit; and that no step allocates. */
#define _GNU_SOURCE
#include "base/error.h"
#include "faults.h"
#include "models.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

enum { ROWS = 23, WIDTH = 3 };

/* ------ A graph that takes the rows, and gives them back ------ */

static float row_x[ROWS * WIDTH];
static int32_t row_y[ROWS];
static float row_w[ROWS];

static run open_two(int devices, int micro)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_graph *g = empty_graph();
    ls_node *x, *y;

    o.accumulate = micro;
    x = ls_input(g, "x", LS_F32, 1, (int64_t[]){WIDTH});
    y = ls_input(g, "y", LS_I32, 0, NULL);
    OK(ls_loss(g, ls_cross_entropy(ls_dense(x, ROWS, "out"), y)));
    return open_run_on(devices, 2, g, &o);
}

static void arrays_weights(void)
{
    for (int i = 0; i < ROWS; i++)
        row_w[i] = (float)(i % 5);
}

/* A source that says of each row what it is: x[i][j] = i + j / 8, y = i. */
static ls_source arrays(void)
{
    ls_array a[] = {{"x", LS_F32, 2, {ROWS, WIDTH}, row_x},
                    {"y", LS_I32, 1, {ROWS}, row_y}};
    ls_source s;

    arrays_weights();
    for (int i = 0; i < ROWS; i++) {
        row_y[i] = i;
        for (int j = 0; j < WIDTH; j++)
            row_x[i * WIDTH + j] = (float)i + (float)j / 8;
    }
    OK(ls_source_arrays(&s, 2, a));
    return s;
}

/* Every row that comes to a step, as a gradient function sees it. */
typedef struct seen {
    int64_t rows;
    int32_t y[64];
    float x[64 * WIDTH], w[64];
} seen;

static int look(void *user, int device, const ls_shard *shard,
                const float *const *params, float *const *grads,
                ls_sums *sums)
{
    seen *s = user;

    (void)device, (void)params, (void)grads;
    memcpy(s->x + shard->first * WIDTH, shard->data[0],
           (size_t)shard->rows * WIDTH * sizeof(float));
    memcpy(s->y + shard->first, shard->data[1],
           (size_t)shard->rows * sizeof(int32_t));
    for (int64_t i = 0; i < shard->rows; i++) {
        s->w[shard->first + i] = shard->weights ? shard->weights[i] : 1;
        sums->weight += (double)s->w[shard->first + i];
    }
    return 0;
}

static run open_looker(seen *s, int devices)
{
    static const ls_array_spec input[] = {{"x", LS_F32, 1, {WIDTH}},
                                          {"y", LS_I32, 0, {0}}};
    static const ls_array_spec param = {"p", LS_F32, 0, {0}};
    ls_gradient g = {look, s, 2, 1, input, &param};
    ls_trainer_options o = ls_trainer_defaults();

    return open_gradient_on(devices, 2, &g, &o);
}

static seen fill(ls_loader *l, const run *r, seen *s, int64_t step)
{
    ls_result result;

    memset(s, 0, sizeof *s);
    OK(ls_loader_fill(l, step, r->batch, &s->rows));
    OK(ls_evaluate(r->trainer, r->batch, &result));
    return *s;
}

static void check_row(const seen *s, int64_t i, int64_t row, float weight)
{
    ck_assert_int_eq(s->y[i], row);
    ck_assert(s->w[i] == weight);
    for (int j = 0; j < WIDTH; j++)
        ck_assert(s->x[i * WIDTH + j] == (float)row + (float)j / 8);
}

/* ------ Rows ------ */

/* Steps are rows sB .. sB+B-1 of the epoch's order, a permutation by its key;
 * the short batch is left out, or filled up with its first row at weight 0; a
 * row's weight goes with it. */
TEST(rows)
{
    ls_key key = ls_key_new(5);
    seen s;

    for (int k = 0; k < 16; k++) {
        bool shuffle = k & 1, pad = k & 2, weighted = k & 4;
        ls_loader_options o = {.size = sizeof o,
                               .batch = 8, .shuffle = shuffle, .key = key,
                               .no_thread = k & 8};
        run r = open_looker(&s, 4);
        ls_source source = arrays();
        ls_loader *l;
        int64_t batches = pad ? 3 : 2;

        o.uneven = pad ? LS_UNEVEN_PAD : LS_UNEVEN_ERROR;
        if (weighted)
            OK(ls_source_weigh(&source, row_w, ROWS));
        OK(ls_loader_open(&l, r.trainer, &source, &o));
        ck_assert_ptr_null(source.user);
        ck_assert_int_eq(ls_loader_batches(l), batches);
        for (int64_t step = 0; step < 3 * batches; step++) {
            int64_t first = step % batches * 8, n = first == 16 ? 7 : 8;
            int32_t order[ROWS];

            fill(l, &r, &s, step);
            ck_assert_int_eq(s.rows, n);
            OK(ls_random_permutation(
                ls_key_fold_in(key, (uint32_t)(step / batches)), ROWS, order));
            for (int64_t i = 0; i < 8; i++) {
                int64_t at = first + (i < n ? i : 0);
                int64_t row = shuffle ? order[at] : at;

                check_row(&s, i, row,
                          i >= n ? 0 : weighted ? row_w[row] : 1);
            }
        }
        ck_assert(ls_loader_seconds(l) > 0);
        ls_loader_close(l);
        close_run(&r);
    }
}

/* A batch larger than the data, and one that does not divide, when padded; all
 * rows when none is named. */
TEST(corners)
{
    static const struct {
        int64_t batch;
        int devices;
        int64_t batches, rows;
    } cases[] = {{100, 4, 1, 23}, {0, 5, 1, 23}, {1, 8, 23, 1},
                 {22, 3, 2, 22}, {23, 23, 1, 23}};
    seen s;

    for (int k = 0; k < 5; k++) {
        ls_loader_options o = {.size = sizeof o, .batch = cases[k].batch,
                               .uneven = LS_UNEVEN_PAD};
        run r = open_looker(&s, cases[k].devices);
        ls_source source = arrays();
        ls_loader *l;

        OK(ls_loader_open(&l, r.trainer, &source, &o));
        ck_assert_int_eq(ls_loader_batches(l), cases[k].batches);
        for (int64_t step = 0; step < 2; step++) {
            int64_t first = step % cases[k].batches * cases[k].rows;

            fill(l, &r, &s, step);
            for (int64_t i = 0; i < s.rows; i++)
                check_row(&s, i, first + i, 1);
            for (int64_t i = s.rows; i % cases[k].devices; i++)
                check_row(&s, i, first, 0);
        }
        fill(l, &r, &s, 0);
        ck_assert_int_eq(s.rows, cases[k].rows);
        ls_loader_close(l);
        close_run(&r);
    }
}

/* ------ Timing ------ */

/* A source of the user's own that takes its time, and fails when told to. */
typedef struct slow {
    ls_source inner;
    uint64_t random;
    atomic_int inside, calls, closed;
    atomic_int fail_row; /* -1: none */
} slow;

static void pause_us(long us)
{
    struct timespec t = {0, us * 1000};

    while (nanosleep(&t, &t) < 0 && errno == EINTR)
        ;
}

static int slow_fill(void *user, int64_t n, const int64_t *index,
                     void *const *out)
{
    slow *s = user;
    int status = s->inner.fill(s->inner.user, n, index, out);

    if (atomic_fetch_add(&s->inside, 1) != 0)
        abort(); /* two threads at once */
    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    pause_us((long)(s->random >> 33) % 300);
    for (int64_t i = 0; i < n; i++)
        if (index[i] == atomic_load(&s->fail_row))
            status = -7;
    atomic_fetch_add(&s->calls, 1);
    atomic_fetch_sub(&s->inside, 1);
    return status;
}

static void slow_close(void *user)
{
    slow *s = user;

    ls_source_close(&s->inner);
    atomic_fetch_add(&s->closed, 1);
}

static ls_source slow_source(slow *s)
{
    ls_source outer;

    s->inner = arrays();
    s->random = 1;
    atomic_init(&s->inside, 0);
    atomic_init(&s->calls, 0);
    atomic_init(&s->closed, 0);
    atomic_init(&s->fail_row, -1);
    outer = s->inner;
    outer.fill = slow_fill;
    outer.close = slow_close;
    outer.user = s;
    return outer;
}

/* Batches are the same bytes with and without a thread, however long a source
 * and a step take, and in whatever order steps are asked for. */
TEST(timing)
{
    enum { STEPS = 60 };
    static seen want[STEPS];
    seen s;
    run r = open_looker(&s, 2);

    for (int k = 0; k < 3; k++) {
        ls_loader_options o = {.size = sizeof o, .batch = 6, .shuffle = true,
                               .key = ls_key_new(3), .no_thread = k == 0,
                               .uneven = LS_UNEVEN_PAD};
        slow user;
        ls_source source = slow_source(&user);
        ls_loader *l;

        OK(ls_loader_open(&l, r.trainer, &source, &o));
        for (int64_t i = 0; i < STEPS; i++) {
            int64_t step = k < 2 ? i : i * i * 31 % STEPS;

            if (k == 0)
                want[i] = fill(l, &r, &s, i);
            else
                fill(l, &r, &s, step);
            ck_assert_mem_eq(&s, &want[step], sizeof s);
            pause_us(i % 5 * 100);
        }
        ls_loader_close(l);
        ck_assert_int_eq(atomic_load(&user.closed), 1);
    }
    close_run(&r);
}

/* While a step is computed its rows stay as they are, and the next ones are
 * made. */
TEST(ahead)
{
    ls_loader_options o = {.size = sizeof o, .batch = 4};
    seen s, again;
    run r = open_looker(&s, 2);
    slow user;
    ls_source source = slow_source(&user);
    ls_loader *l;
    ls_result result;

    OK(ls_loader_open(&l, r.trainer, &source, &o));
    again = fill(l, &r, &s, 0);
    while (atomic_load(&user.calls) < 2) /* the thread made step 1's */
        pause_us(100);
    OK(ls_evaluate(r.trainer, r.batch, &result));
    ck_assert_mem_eq(&s, &again, sizeof s);
    fill(l, &r, &s, 1);
    check_row(&s, 0, 4, 1);
    ls_loader_close(l);
    close_run(&r);
}

/* A source that fails on the thread is reported by the step that needs those
 * rows, by no other, and asked again when the step is. */
TEST(source_fails)
{
    for (int k = 0; k < 2; k++) {
        ls_loader_options o = {.size = sizeof o, .batch = 4, .no_thread = k};
        seen s;
        run r = open_looker(&s, 2);
        slow user;
        ls_source source = slow_source(&user);
        ls_loader *l;

        atomic_store(&user.fail_row, 6);
        OK(ls_loader_open(&l, r.trainer, &source, &o));
        fill(l, &r, &s, 0);
        for (int i = 0; i < 2; i++)
            FAILS(ls_loader_fill(l, 1, r.batch, NULL), LS_EUSER,
                  "step 1: the data source failed with status -7 on rows 4 on "
                  "of epoch 0");
        fill(l, &r, &s, 2);
        check_row(&s, 0, 8, 1);
        FAILS(ls_loader_fill(l, 6, r.batch, NULL), LS_EUSER,
              "of epoch 1");
        atomic_store(&user.fail_row, -1);
        fill(l, &r, &s, 1);
        check_row(&s, 3, 7, 1);
        ls_loader_close(l);
        close_run(&r);
    }
}

/* Words that a source of the library's own finds are handed on. */
static int failing_fill(void *user, int64_t n, const int64_t *index,
                        void *const *out)
{
    (void)user, (void)n, (void)index, (void)out;
    return ls__fail(LS_EIO, "rows.bin: became shorter");
}

TEST(source_says)
{
    for (int k = 0; k < 2; k++) {
        ls_loader_options o = {.size = sizeof o, .batch = 4, .no_thread = k};
        seen s;
        run r = open_looker(&s, 2);
        slow user;
        ls_source source = slow_source(&user);
        ls_loader *l;

        source.fill = failing_fill;
        OK(ls_loader_open(&l, r.trainer, &source, &o));
        for (int64_t i = 0; i < 3; i++)
            FAILS(ls_loader_fill(l, i, r.batch, NULL), LS_EUSER,
                  "of epoch 0: rows.bin: became shorter");
        ls_loader_close(l);
        close_run(&r);
    }
}

/* ------ Forks ------ */

typedef struct stuck {
    ls_source inner;
    pid_t parent;
    atomic_bool inside, go; /* the parent's thread is, may go on */
} stuck;

/* Fill; in the parent the second call waits in the middle of its work. */
static int stuck_fill(void *user, int64_t n, const int64_t *index,
                      void *const *out)
{
    stuck *s = user;
    int status = s->inner.fill(s->inner.user, n / 2, index, out);

    if (getpid() == s->parent && index[0] == 4) {
        atomic_store(&s->inside, true);
        while (!atomic_load(&s->go))
            pause_us(100);
    }
    return status < 0 ? status
                      : s->inner.fill(s->inner.user, n, index, out);
}

static void stuck_close(void *user)
{
    ls_source_close(&((stuck *)user)->inner);
}

/* A child of fork has no thread, but all batches: what the parent's thread was
 * doing it does itself; it closes the loader, too. */
TEST(forks)
{
    ls_loader_options o = {.size = sizeof o, .batch = 4};
    seen s;
    run r = open_looker(&s, 2);
    stuck user = {.inner = arrays(), .parent = getpid()};
    ls_source source = user.inner;
    ls_loader *l;
    int status;
    pid_t child;

    source.fill = stuck_fill;
    source.close = stuck_close;
    source.user = &user;
    OK(ls_loader_open(&l, r.trainer, &source, &o));
    fill(l, &r, &s, 0);
    while (!atomic_load(&user.inside))
        pause_us(100);
    if ((child = fork()) == 0) {
        alarm(20);
        for (int64_t i = 1; i < 8; i++)
            if (ls_loader_fill(l, i, r.batch, NULL) < 0)
                _exit(1);
        ls_loader_close(l);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    atomic_store(&user.go, true);
    fill(l, &r, &s, 1);
    check_row(&s, 0, 4, 1);
    ls_loader_close(l);
    close_run(&r);
}

/* ------ What does not fit ------ */

static void refuse(const run *r, ls_source *s, const ls_loader_options *o,
                   int status, const char *words)
{
    ls_loader *l = NULL;

    FAILS(ls_loader_open(&l, r->trainer, s, o), status, words);
    ck_assert_ptr_null(l);
    ck_assert_ptr_nonnull(s->user); /* it is still the caller's */
}

/* What a source and a loader refuse, each in its own words. */
TEST(refused)
{
    run r = open_two(4, 2), other = open_two(2, 1);
    ls_loader_options o = ls_loader_defaults();
    ls_source s = arrays(), none;
    ls_array bad[] = {{"x", LS_F32, 2, {ROWS, WIDTH}, row_x},
                      {"y", LS_I32, 1, {ROWS - 1}, row_y}};
    ls_array_spec spec[2] = {s.arrays[0], s.arrays[1]};
    ls_loader *l;

    refuse(&r, &s, &o, LS_ESHAPE, "23 rows does not divide by 4 devices x 2");
    o.batch = 24;
    refuse(&r, &s, &o, LS_ESHAPE, "24 rows, of the 23");
    o.batch = -1;
    refuse(&r, &s, &o, LS_ESHAPE, "-1 rows");
    o.batch = 8;
    s.arrays = spec;
    spec[0].shape[0] = 4;
    refuse(&r, &s, &o, LS_ESHAPE,
           "\"x\" takes rows of (3); the source has (4)");
    spec[0].shape[0] = WIDTH;
    spec[0].dtype = LS_I32;
    refuse(&r, &s, &o, LS_EINVAL, "\"x\" takes LS_F32");
    spec[0] = spec[1];
    refuse(&r, &s, &o, LS_EINVAL, "two arrays of the source are named \"y\"");
    spec[0].name = "z";
    refuse(&r, &s, &o, LS_ENOTFOUND, "no input is named \"z\"");
    s.rows = 0;
    refuse(&r, &s, &o, LS_EINVAL, "is empty");
    ls_source_close(&s);

    FAILS(ls_source_arrays(&none, 2, bad), LS_ESHAPE,
          "array \"y\" has 22 rows, \"x\" has 23");
    bad[1] = (ls_array){"y", LS_F64, 1, {ROWS}, row_x};
    FAILS(ls_source_arrays(&none, 2, bad), LS_EINVAL, "LS_F64");
    FAILS(ls_source_arrays(&none, 0, bad), LS_EINVAL, "0 arrays");
    s = arrays();
    FAILS(ls_source_weigh(&s, row_w, 5), LS_ESHAPE, "5 weights for a source");
    FAILS(ls_source_weigh(&s, (float[ROWS]){1, NAN}, ROWS), LS_ERANGE,
          "row 1 is nan");
    OK(ls_loader_open(&l, r.trainer, &s, &o));
    FAILS(ls_loader_fill(l, 0, other.batch, NULL), LS_EINVAL, "another");
    FAILS(ls_loader_fill(l, -1, r.batch, NULL), LS_EINVAL, "step -1");
    FAILS(ls_loader_fill(l, INT64_MAX, r.batch, NULL), LS_EINVAL,
          "step 9223372036854775807");
    ls_loader_close(l);
    ls_loader_close(NULL);
    ls_source_close(NULL);
    close_run(&other);
    close_run(&r);
}

/* Weights upon weights multiply. */
TEST(weights)
{
    ls_loader_options o = ls_loader_defaults();
    seen s;
    run r = open_looker(&s, 1);
    ls_source source = arrays();
    ls_loader *l;

    OK(ls_source_weigh(&source, row_w, ROWS));
    OK(ls_source_weigh(&source, row_w, ROWS));
    OK(ls_loader_open(&l, r.trainer, &source, &o));
    fill(l, &r, &s, 0);
    for (int i = 0; i < ROWS; i++)
        check_row(&s, i, i, row_w[i] * row_w[i]);
    ls_loader_close(l);
    close_run(&r);
}

/* ------ Windows of a series ------ */

enum { LONG = 4, AHEAD = 2 };

/* x has LONG rows from i + 1 on, y is AHEAD rows after the last of them, z has
 * two rows from i on and more of them than are of use. */
static int open_series(ls_source *s)
{
    const ls_series a[] = {
        {{"x", LS_F32, 2, {ROWS, WIDTH}, row_x}, 1, LONG},
        {{"y", LS_I32, 1, {ROWS}, row_y}, LONG + AHEAD, 0},
        {{"z", LS_F32, 1, {ROWS - 2}, row_w}, 0, 2}};

    return ls_source_series(s, 3, a);
}

TEST(series)
{
    enum { ALL = ROWS - LONG - AHEAD };
    float x[ALL * LONG * WIDTH], z[ALL * 2];
    int32_t y[ALL];
    int64_t backwards[ALL];
    ls_source s = arrays();

    ls_source_close(&s);
    OK(open_series(&s));
    ck_assert_int_eq(s.rows, ALL);
    ck_assert_int_eq(s.n_arrays, 3);
    ck_assert_int_eq(s.arrays[0].rank, 2);
    ck_assert_int_eq(s.arrays[0].shape[0], LONG);
    ck_assert_int_eq(s.arrays[0].shape[1], WIDTH);
    ck_assert_int_eq(s.arrays[1].rank, 0);
    ck_assert_int_eq(s.arrays[2].rank, 1);
    ck_assert_int_eq(s.arrays[2].shape[0], 2);
    for (int i = 0; i < ALL; i++)
        backwards[i] = ALL - 1 - i;
    OK(s.fill(s.user, ALL, backwards, (void *[]){x, y, z}));
    for (int i = 0; i < ALL; i++) {
        int from = ALL - 1 - i;

        ck_assert_int_eq(y[i], from + LONG + AHEAD);
        ck_assert_mem_eq(x + i * LONG * WIDTH, row_x + (from + 1) * WIDTH,
                         LONG * WIDTH * sizeof *x);
        ck_assert_mem_eq(z + i * 2, row_w + from, 2 * sizeof *z);
    }
    ls_source_close(&s);
}

/* A window of all rows is the only one; one that is longer, or begins or ends
 * elsewhere than in the array, is refused. */
TEST(series_corners)
{
    ls_series a[] = {{{"x", LS_F32, 2, {ROWS, WIDTH}, row_x}, 0, ROWS},
                     {{"y", LS_I32, 1, {ROWS}, row_y}, ROWS - 1, 0}};
    ls_source s = {.rows = -5};

    OK(ls_source_series(&s, 2, a));
    ck_assert_int_eq(s.rows, 1);
    ls_source_close(&s);
    s.rows = -5;
    a[0].length = ROWS + 1;
    FAILS(ls_source_series(&s, 2, a), LS_ESHAPE,
          "array \"x\" has 23 rows; a window of 24 at 0 does not fit");
    a[0].length = INT64_MAX;
    a[0].at = 1;
    FAILS(ls_source_series(&s, 2, a), LS_ESHAPE, "at 1 does not fit");
    a[0].length = 1;
    a[0].at = INT64_MAX;
    FAILS(ls_source_series(&s, 2, a), LS_ESHAPE, "array \"x\" has 23 rows");
    a[0].at = 0;
    a[1].at = ROWS;
    FAILS(ls_source_series(&s, 2, a), LS_ESHAPE,
          "array \"y\" has 23 rows; a window of 1 at 23 does not fit");
    a[1].at = -1;
    FAILS(ls_source_series(&s, 2, a), LS_EINVAL,
          "array \"y\": a window of 0 rows at -1");
    a[1].at = 0;
    a[1].length = -1;
    FAILS(ls_source_series(&s, 2, a), LS_EINVAL, "a window of -1 rows at 0");
    a[1].length = 0;
    a[1].array.dtype = LS_F64;
    FAILS(ls_source_series(&s, 2, a), LS_EINVAL, "LS_F64");
    a[1].array.rank = 0;
    FAILS(ls_source_series(&s, 2, a), LS_ESHAPE, "array \"y\": rank 0");
    FAILS(ls_source_series(&s, 0, a), LS_EINVAL, "0 arrays");
    ck_assert_int_eq(s.rows, -5);
}

/* ------ Memory ------ */

#if OWN_MALLOC

static void watch(int number)
{
    fail_memory = ALL_MEMORY;
    watch_from(number);
}

/* Steps over three epochs, orders and all, allocate nothing: neither on the
 * caller nor on the thread. */
TEST(no_allocation)
{
    ls_loader_options o = {.size = sizeof o, .batch = 8, .shuffle = true,
                           .uneven = LS_UNEVEN_PAD};
    seen s;
    run r = open_looker(&s, 4);
    ls_source source = arrays();
    ls_loader *l;
    int n, status = 0;

    OK(ls_loader_open(&l, r.trainer, &source, &o));
    watch(0);
    for (int64_t step = 0; step < 9 && status == 0; step++)
        status = ls_loader_fill(l, step, r.batch, NULL);
    n = atomic_load(&count);
    atomic_store(&watching, false);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(n, 0);
    ls_loader_close(l);
    close_run(&r);
}

/* Sources and loader, opened and closed; no assertion, Check allocates. */
static int open_all(const ls_trainer *t)
{
    ls_array a[] = {{"x", LS_F32, 2, {ROWS, WIDTH}, row_x},
                    {"y", LS_I32, 1, {ROWS}, row_y}};
    ls_loader_options o = {.size = sizeof o,
                           .batch = 8, .shuffle = true, .no_thread = true};
    ls_source s = {0};
    ls_loader *l = NULL;
    int status = open_series(&s);

    if (status == 0)
        ls_source_close(&s);
    if (status == 0)
        status = ls_source_arrays(&s, 2, a);
    if (status == 0)
        status = ls_source_weigh(&s, row_w, ROWS);
    if (status == 0)
        status = ls_loader_open(&l, t, &s, &o);
    ls_loader_close(l);
    ls_source_close(&s);
    return status;
}

/* Each allocation that fails is LS_ENOMEM, and nothing is kept. */
TEST(shortage)
{
    run r = open_two(4, 1);
    int status = LS_ENOMEM, tries = 0;

    ls_source_close(&(ls_source){0});
    while (status == LS_ENOMEM && tries < 100) {
        int left;

        watch(++tries);
        status = open_all(r.trainer);
        left = atomic_load(&live);
        atomic_store(&watching, false);
        ck_assert_msg(left == 0, "allocation %d: %d are left", tries, left);
    }
    ck_assert_int_eq(status, 0);
    ck_assert_int_gt(tries, 10);
    close_run(&r);
}
#endif

/* ------ Rows that differ by epoch ------ */

static int say_index(void *user, int64_t n, const int64_t *index,
                     void *const *out)
{
    (void)user;
    memset(out[0], 0, (size_t)n * WIDTH * sizeof(float));
    for (int64_t i = 0; i < n; i++)
        ((int32_t *)out[1])[i] = (int32_t)index[i];
    return 0;
}

/* Row r of epoch e is asked for as e * rows + r, in any order of epochs, with
 * the weight of row r; also where an epoch is one batch. */
TEST(by_epoch)
{
    static const ls_array_spec spec[] = {{"x", LS_F32, 1, {WIDTH}},
                                         {"y", LS_I32, 0, {0}}};
    static const int64_t steps[] = {0, 1, 2, 5, 4, 17};
    ls_key key = ls_key_new(3);

    for (int k = 0; k < 4; k++) {
        int64_t batch = k % 2 ? ROWS : 8, batches = k % 2 ? 1 : 2;
        ls_loader_options o = {.size = sizeof o, .batch = batch, .key = key,
                               .shuffle = k > 1, .uneven = LS_UNEVEN_CUT};
        ls_source s = {.rows = ROWS, .n_arrays = 2, .arrays = spec,
                       .by_epoch = true, .fill = say_index};
        int32_t order[ROWS];
        ls_loader *l;
        seen got;
        run r = open_looker(&got, 2);

        arrays_weights();
        OK(ls_source_weigh(&s, row_w, ROWS));
        OK(ls_loader_open(&l, r.trainer, &s, &o));
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
            int64_t e = steps[i] / batches;

            for (int j = 0; j < ROWS; j++)
                order[j] = j;
            if (o.shuffle)
                OK(ls_random_permutation(ls_key_fold_in(key, (uint32_t)e),
                                         ROWS, order));
            fill(l, &r, &got, steps[i]);
            ck_assert_int_eq(got.rows, batch);
            for (int64_t j = 0; j < batch; j++) {
                int32_t row = order[steps[i] % batches * batch + j];

                ck_assert_int_eq(got.y[j], e * ROWS + row);
                ck_assert(got.w[j] == row_w[row]);
            }
        }
        ls_loader_close(l);
        close_run(&r);
    }
}

/* ------ */

MAIN()
