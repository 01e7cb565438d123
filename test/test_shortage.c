/* Shortage of memory: shards, collectives, ls_pmap, placement and the check of
 * gradient functions, with each of their allocations failing in turn.  Each
 * call fails with LS_ENOMEM, keeps nothing, and works when asked again.
 *
 * malloc's family is ours here, before the C library's.  Sanitizers bring their
 * own, and then this program has nothing to do. */
#include "small.h"

#include <stdatomic.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#endif

#if defined(__GLIBC__) && !defined(SANITIZED)

/* Counted while `watching`; number `failing` is refused. */
static atomic_bool watching;
static atomic_int count, live, failing;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *p);

#define VISIBLE __attribute__((visibility("default")))

static bool granted(void)
{
    if (!atomic_load(&watching))
        return true;
    if (atomic_fetch_add(&count, 1) + 1 == atomic_load(&failing))
        return false;
    atomic_fetch_add(&live, 1);
    return true;
}

VISIBLE void *malloc(size_t size)
{
    return granted() ? __libc_malloc(size) : NULL;
}

VISIBLE void *calloc(size_t n, size_t size)
{
    return granted() ? __libc_calloc(n, size) : NULL;
}

VISIBLE void *aligned_alloc(size_t align, size_t size)
{
    return granted() ? __libc_memalign(align, size) : NULL;
}

VISIBLE void free(void *p)
{
    if (p && atomic_load(&watching))
        atomic_fetch_sub(&live, 1);
    __libc_free(p);
}

/* ------ what is called ------ */

static ls_pool *pool;
static ls_trainer *trainer;
static ls_graph *graph;
static float numbers[4][16];
static void *buffer[] = {numbers[0], numbers[1], numbers[2], numbers[3]};

static int shard(void)
{
    static const ls_sharding four = {"data", 4, 1, 4};
    ls_array set[] = {{"a", LS_F32, 2, {7, 2}, numbers},
                      {"b", LS_U8, 1, {7}, numbers}};
    ls_shards *shards;
    int status = ls_batch_shard(&shards, &four, 2, set, LS_UNEVEN_PAD);

    if (status == 0)
        ls_shards_free(shards);
    return status;
}

static int reduce(void)
{
    ls_buffers b = {"b", LS_F32, 16, buffer, NULL};

    return ls_all_reduce(pool, NULL, LS_SUM, 1, &b);
}

static int nothing(void *user, int device, const void *const *in,
                   void *const *out)
{
    (void)user, (void)device, (void)in, (void)out;
    return 0;
}

static int pmap(void)
{
    ls_array a = {"a", LS_F32, 2, {4, 16}, numbers};

    return ls_pmap(pool, nothing, NULL, 1, &a, 1, &a);
}

static int place(void)
{
    return ls_state_place(trainer, LS_STATE_ALL, "out.bias=0,*=1");
}

static int open_checked(void)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_trainer *t;
    int status;

    o.check_divergence = true;
    status = ls_trainer_open(&t, pool, graph, &o);
    if (status == 0)
        ls_trainer_close(t);
    return status;
}

static int (*const calls[])(void) = {shard, reduce, pmap, place,
                                     open_checked};
enum { CALLS = sizeof calls / sizeof *calls };

/* The call with allocation number n refused; asserts come afterwards, because
 * Check allocates too. */
static int call_with(int i, int n)
{
    int status;

    atomic_store(&count, 0);
    atomic_store(&live, 0);
    atomic_store(&failing, n);
    atomic_store(&watching, true);
    status = calls[i]();
    atomic_store(&watching, false);
    return status;
}

/* Every allocation is checked, and nothing is kept after a failure. */
START_TEST(test_each_fails)
{
    int n = 0, expected;

    pool = open_pool("data:2,model:2", 2);
    graph = small_graph();
    works(ls_trainer_open(&trainer, pool, graph, NULL));
    /* "hidden.bias" has no axis 1: a failure of another kind. */
    expected = calls[_i] == place ? LS_EINVAL : 0;
    ck_assert_int_eq(call_with(_i, 0), expected);
    ck_assert_int_gt(atomic_load(&count), 0);
    ck_assert_int_eq(atomic_load(&live), 0);
    for (int total = atomic_load(&count); n < total; n++) {
        ck_assert_int_eq(call_with(_i, n + 1), LS_ENOMEM);
        ck_assert_int_eq(atomic_load(&live), 0);
    }
    ck_assert_int_eq(call_with(_i, 0), expected);
    ls_trainer_close(trainer);
    ls_graph_free(graph);
    ls_pool_close(pool);
}
END_TEST

/* A step allocates nothing while it is checked, however state is placed. */
START_TEST(test_step)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_result r;
    ls_batch *b;
    int status = 0;

    o.check_divergence = true;
    o.state = LS_SHARD;
    pool = open_pool("data:4", 2);
    graph = small_graph();
    works(ls_trainer_open(&trainer, pool, graph, &o));
    b = small_batch(trainer);
    works(ls_step(trainer, b, &r));
    atomic_store(&count, 0);
    atomic_store(&watching, true);
    for (int i = 0; i < 5 && status == 0; i++)
        status = ls_step(trainer, b, &r);
    atomic_store(&watching, false);
    works(status);
    ck_assert_int_eq(atomic_load(&count), 0);
    ls_batch_close(b);
    ls_trainer_close(trainer);
    ls_graph_free(graph);
    ls_pool_close(pool);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("shortage");
    TCase *t = tcase_create("shortage");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, test_each_fails, 0, CALLS);
    tcase_add_test(t, test_step);
    suite_add_tcase(s, t);
    return run_suite(s);
}

#else

/* Skipped: malloc is the sanitizer's, or not glibc's. */
int main(void)
{
    return 77;
}

#endif
