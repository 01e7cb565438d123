/* SPDX-License-Identifier: BSD-3-Clause */
/* Placement: pieces that cover everything once, the same bits whoever updates,
 * names that work for all of them, and texts that are refused. */
#include "small_model.h"
#include "train/placement.h"

#include <malloc.h>

typedef struct fixture {
    ls_pool *pool;
    ls_trainer *t;
    ls_batch *b;
} fixture;

static fixture open_fixture(const char *axes, int workers, ls_optimizer o)
{
    ls_trainer_options options = ls_trainer_defaults();
    ls_graph *g = small_graph();
    fixture f = {.pool = open_axes(axes, workers)};

    options.optimizer = o;
    OK(ls_trainer_open(&f.t, f.pool, g, &options));
    f.b = small_batch(f.t);
    ls_graph_free(g);
    return f;
}

static void close_fixture(fixture *f)
{
    ls_batch_close(f->b);
    ls_trainer_close(f->t);
    ls_pool_close(f->pool);
}

/* However devices are grouped into workers, every element of an array is in
 * exactly one piece, along any axis, with uneven ends too. */
TEST(test_pieces)
{
    static const ls__slot slots[] = {
        {.rank = 1, .shape = {7}, .size = 7, .offset = 16},
        {.rank = 2, .shape = {5, 8}, .size = 40},
        {.rank = 3, .shape = {4, 3, 2}, .size = 24, .offset = 32},
        {.rank = 3, .shape = {1, 12, 1}, .size = 12},
    };

    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
        for (int axis = 0; axis < slots[i].rank; axis++)
            for (int devices = 1; devices <= 9; devices++)
                for (int step = 1; step <= devices; step++) {
                    int seen[80] = {0};

                    for (int d = 0; d < devices; d += step) {
                        int end = d + step < devices ? d + step : devices;
                        ls__piece p = ls__placement_piece(&slots[i], axis,
                                                          devices, d, end);

                        for (int64_t r = 0; r < p.runs; r++)
                            for (int64_t k = 0; k < p.length; k++)
                                seen[p.first + r * p.stride + k]++;
                    }
                    for (int64_t k = 0; k < 80; k++)
                        ck_assert_int_eq(seen[k],
                                         k >= slots[i].offset &&
                                             k < slots[i].offset +
                                                     slots[i].size);
                }
}

/* Zeroed by any number of workers, under any placement, every float of the
 * layout is touched by exactly one of them, and only worker 0 touches what
 * nobody owns. */
TEST(test_zero)
{
    static const char *const text[] = {"replicate", "shard",
                                       "hidden.bias=0,out.kernel=0"};
    fixture f = open_fixture("data:8", 1, ls_sgd(0.1));
    float array[256];
    int64_t n = f.t->model.params.floats;
    ls__owned all = ls__owned_all(n);

    ck_assert_int_le(n, 256);
    for (int i = 0; i < 3; i++) {
        OK(ls_state_place(f.t, LS_STATE_ALL, text[i]));
        for (int workers = 1; workers <= 9; workers++) {
            int touched[256] = {0};

            for (int w = 0; w < workers; w++) {
                memset(array, 0xff, sizeof array);
                ls__placement_zero(f.t, 8 * w / workers, 8 * (w + 1) / workers,
                                   w == 0, true, &all, array);
                for (int64_t k = 0; k < n; k++) {
                    touched[k] += array[k] == 0;
                    ck_assert(w == 0 || i > 0 || array[k] != 0);
                }
            }
            for (int64_t k = 0; k < n; k++)
                ck_assert_int_eq(touched[k], 1);
        }
    }
    close_fixture(&f);
}

/* Have malloc fill what it hands out; a libc without that tests less. */
static void fill_fresh_memory(int byte)
{
#ifdef M_PERTURB
    mallopt(M_PERTURB, byte);
#else
    (void)byte;
#endif
}

/* Fresh parameters and moments are zeros, whatever the memory held before. */
TEST(test_fresh)
{
    static const ls_array_spec spec[] = {
        {"a", LS_F32, 2, {5, 9}}, {"b", LS_F32, 1, {7}}, {"c", LS_F32, 0, {0}}};
    ls_gradient g = {no_gradient, NULL, 1, 3, &spec[1], spec};
    ls_trainer_options o = ls_trainer_defaults();

    fill_fresh_memory(0x5a);
    o.optimizer = ls_adam(0.1);
    for (int state = 0; state < 2; state++)
        for (int workers = 1; workers <= 4; workers++) {
            ls_pool *pool = open_axes("data:4", workers);
            ls_trainer *t;

            o.state = (ls_state)state;
            OK(ls_trainer_open_gradient(&t, pool, &g, &o));
            for (int64_t i = 0; i < t->model.params.floats; i++)
                ck_assert(t->model.value[i] == 0 && t->moments.of[0][i] == 0 &&
                          t->moments.of[1][i] == 0);
            ls_trainer_close(t);
            ls_pool_close(pool);
        }
    fill_fresh_memory(0);
}

/* Device 1 of two owns the second half of an even axis. */
TEST(test_owner)
{
    ls__slot s = {.rank = 2, .shape = {3, 8}, .size = 24, .offset = 48};
    ls__piece p = ls__placement_piece(&s, 1, 2, 1, 2);

    ck_assert_int_eq(p.first, 52);
    ck_assert_int_eq(p.length, 4);
    ck_assert_int_eq(p.stride, 8);
    ck_assert_int_eq(p.runs, 3);
}

/* An axis of a mesh of 2 x 4 devices counts the owners; None leaves things as
 * they are. */
TEST(test_along)
{
    fixture f = open_fixture("data:2,model:4", 3, ls_adam(1e-2));
    static const struct {
        const char *text, *name, *along;
        int axis, owners;
    } row[] = {
        {"hidden.kernel=1:model", "hidden.kernel", "model", 1, 4},
        {"hidden.kernel=1:model", "out.kernel", NULL, -1, 0},
        {"hidden.kernel=1:data", "hidden.kernel", "data", 1, 2},
        {"hidden.kernel=1", "hidden.kernel", "data", 1, 2},
        {"hidden.kernel=model", "hidden.kernel", "model", 1, 4},
        {"*=model", "out.kernel", "model", 0, 4},
        {"*=data", "out.kernel", "data", 0, 2},
        {"hidden.*=replicate,*=model", "hidden.kernel", NULL, -1, 0},
        {"hidden.*=replicate,*=model", "out.kernel", "model", 0, 4},
        {"shard", "out.kernel", "data", 0, 2},
        {NULL, "out.kernel", "data", 0, 2},
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        int axis = 77, owners = 0;
        const char *along;

        OK(ls_state_place(f.t, LS_STATE_ALL, row[i].text));
        OK(ls_state_axis(f.t, LS_STATE_PARAMS, row[i].name, &axis));
        along = ls_state_owners(f.t, LS_STATE_OPTIMIZER, row[i].name, &owners);
        ck_assert_int_eq(axis, row[i].axis);
        ck_assert_int_eq(owners, row[i].owners);
        ck_assert_pstr_eq(along, row[i].along);
    }
    FAILS(ls_state_place(f.t, LS_STATE_ALL, "out.kernel=1:model"), LS_ESHAPE,
          "\"out.kernel\" (8,2): axis 1 does not divide by the 4 devices along "
          "\"model\"");
    FAILS(ls_state_place(f.t, LS_STATE_ALL, "*=0:pipe"), LS_EINVAL,
          "placement \"*=0:pipe\": the mesh has no axis \"pipe\"; its axes are "
          "\"data\" (2), \"model\" (4)");
    OK(ls_state_place(f.t, LS_STATE_ALL, NULL));
    close_fixture(&f);
}

/* Whoever runs a piece along another axis, all workers together update each
 * element once: the bits are those of the caller alone. */
TEST(test_along_bits)
{
    static const char *const text[] = {
        "replicate", "*.kernel=model", "hidden.kernel=1:model,*=replicate",
        "*.kernel=0:side,*=model", "*=model",
    };
    char expected[65], hex[65];

    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        for (int workers = 1; workers <= 5; workers++) {
            fixture f = open_fixture("data:2,side:1,model:4", workers,
                                     ls_adam(1e-2));
            ls_result r;

            OK(ls_state_place(f.t, LS_STATE_OPTIMIZER, text[i]));
            for (int k = 0; k < 5; k++)
                OK(ls_step(f.t, f.b, &r));
            ls_trainer_hash(f.t, i == 0 && workers == 1 ? expected : hex);
            if (i > 0 || workers > 1)
                ck_assert_str_eq(hex, expected);
            close_fixture(&f);
        }
}

static const struct {
    const char *params, *optimizer; /* NULL: as it is opened */
} placements[] = {
    {NULL, NULL}, {"shard", "shard"}, {"replicate", "shard"},
    {"shard", "replicate"}, {"*.kernel=1", NULL}, {NULL, "out.*=0"},
    {"hidden.kernel=1,out.*=0", "out.kernel=0"},
};

static void hash_with(size_t placement, int workers, ls_optimizer o,
                      char hex[65])
{
    fixture f = open_fixture("data:2", workers, o);
    ls_result r;

    if (placements[placement].params)
        OK(ls_state_place(f.t, LS_STATE_PARAMS,
                             placements[placement].params));
    if (placements[placement].optimizer)
        OK(ls_state_place(f.t, LS_STATE_OPTIMIZER,
                             placements[placement].optimizer));
    for (int i = 0; i < 5; i++)
        OK(ls_step(f.t, f.b, &r));
    ls_trainer_hash(f.t, hex);
    close_fixture(&f);
}

/* Every placement, of parameters, optimizer state or both, gives the same bits
 * on any number of workers with every optimizer. */
LOOP_TEST(test_same_bits, 0, 5)
{
    static const int workers[] = {1, 2, 3, 7};
    const ls_optimizer rules[] = {ls_sgd(0.1), ls_momentum(0.1, 0.9),
                                  ls_nesterov(0.1, 0.9), ls_adam(1e-2),
                                  ls_adamw(1e-2)};
    char expected[65], hex[65];

    hash_with(0, 1, rules[_i], expected);
    for (size_t p = 0; p < sizeof placements / sizeof *placements; p++)
        for (size_t w = 0; w < sizeof workers / sizeof *workers; w++) {
            hash_with(p, workers[w], rules[_i], hex);
            ck_assert_str_eq(hex, expected);
        }
}

/* The trainer's option is the same as placing afterwards; placing back and
 * forth between steps changes nothing. */
TEST(test_change_between_steps)
{
    fixture a = open_fixture("data:4", 2, ls_adam(1e-2));
    fixture b = open_fixture("data:4", 3, ls_adam(1e-2));
    static const char *const texts[] = {"shard", "replicate", "*.kernel=1,*=0"};
    char ha[65], hb[65];
    ls_result r;

    for (int i = 0; i < 6; i++) {
        int status = ls_state_place(b.t, LS_STATE_ALL, texts[i % 3]);

        ck_assert_int_eq(status, i % 3 == 2 ? LS_ESHAPE : 0);
        OK(ls_step(a.t, a.b, &r));
        OK(ls_step(b.t, b.b, &r));
    }
    ls_trainer_hash(a.t, ha);
    ls_trainer_hash(b.t, hb);
    ck_assert_str_eq(ha, hb);
    close_fixture(&a);
    close_fixture(&b);
}

/* "shard" cuts along the biggest axis; patterns place what they match, the
 * first that matches counts, and a refusal leaves all as it was. */
TEST(test_axes_chosen)
{
    fixture f = open_fixture("data:2", 1, ls_adam(1e-2));
    static const struct {
        const char *text, *name;
        int axis;
    } row[] = {
        {"shard", "hidden.kernel", 1}, {"shard", "out.kernel", 0},
        {"shard", "out.bias", 0}, {"replicate", "out.bias", -1},
        {"*.bias=0", "hidden.bias", 0}, {"*.bias=0", "hidden.kernel", -1},
        {"out.kernel=1,*kernel=1,*=0", "out.kernel", 1},
        {"[ho]*.kernel=1", "hidden.kernel", 1},
    };
    int axis = 77;

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        OK(ls_state_place(f.t, LS_STATE_ALL, row[i].text));
        OK(ls_state_axis(f.t, LS_STATE_PARAMS, row[i].name, &axis));
        ck_assert_int_eq(axis, row[i].axis);
        OK(ls_state_axis(f.t, LS_STATE_OPTIMIZER, row[i].name, &axis));
        ck_assert_int_eq(axis, row[i].axis);
    }
    OK(ls_state_place(f.t, LS_STATE_PARAMS, "shard"));
    OK(ls_state_place(f.t, LS_STATE_OPTIMIZER, "replicate"));
    FAILS(ls_state_place(f.t, LS_STATE_ALL, "hidden.kernel=0"), LS_ESHAPE,
            "parameter \"hidden.kernel\" (3,8): axis 0 does not divide by the "
            "2 devices");
    OK(ls_state_axis(f.t, LS_STATE_PARAMS, "hidden.kernel", &axis));
    ck_assert_int_eq(axis, 1);
    OK(ls_state_axis(f.t, LS_STATE_OPTIMIZER, "hidden.kernel", &axis));
    ck_assert_int_eq(axis, -1);
    close_fixture(&f);
}

/* What makes no sense is refused by name. */
TEST(test_place_refused)
{
    fixture f = open_fixture("data:2", 1, ls_sgd(0.1));
    static const struct {
        const char *text;
        int status;
        const char *message;
    } row[] = {
        {"", LS_EINVAL, "\"\" is none of replicate, shard and PATTERN=AXIS"},
        {"sharded", LS_EINVAL, "\"sharded\" is none of"},
        {"*=0,", LS_EINVAL, "\"\" is none of"},
        {"=0", LS_EINVAL, "\"=0\" is none of"},
        {"*=", LS_EINVAL, "\"\" of \"*\" is not the number of an axis"},
        {"*=-1", LS_EINVAL, "\"-1\" of \"*\" is not the number"},
        {"*=x", LS_EINVAL,
         "the mesh has no axis \"x\"; its axes are \"data\" (2)"},
        {"*=0:", LS_EINVAL, "the mesh has no axis \"\""},
        {"*=0:1", LS_EINVAL, "the mesh has no axis \"1\""},
        {"*=0x", LS_EINVAL, "is not the number of an axis, nor an axis of the "
                            "mesh, nor replicate"},
        {"*=replicated", LS_EINVAL, "no axis \"replicated\""},
        {"*=00", LS_EINVAL, "is not the number of an axis"},
        {"*=99999999999999999999", LS_EINVAL, "is not the number"},
        {"*.bias=1", LS_EINVAL, "parameter \"hidden.bias\" (8) has no axis 1"},
        {"conv*=0,*.bias=0", LS_ENOTFOUND, "\"conv*\" matches no parameter; "
                                           "the first is \"hidden.bias\""},
        {"[=0", LS_ENOTFOUND, "matches no parameter"},
    };
    int axis = 5;

    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        FAILS(ls_state_place(f.t, LS_STATE_ALL, row[i].text), row[i].status,
                row[i].message);
    FAILS(ls_state_place(f.t, (ls_state_part)0, "shard"), LS_EINVAL,
            "part 0: there is no such part");
    FAILS(ls_state_place(f.t, (ls_state_part)4, "shard"), LS_EINVAL, "4");
    FAILS(ls_state_axis(f.t, LS_STATE_ALL, "out.bias", &axis), LS_EINVAL,
            "not one of the two");
    FAILS(ls_state_axis(f.t, LS_STATE_PARAMS, "bias", &axis), LS_ENOTFOUND,
            "\"bias\"");
    ck_assert_int_eq(axis, 5);
    close_fixture(&f);
}

/* Parameters and optimizer state are gathered and set by name in every
 * placement. */
TEST(test_names)
{
    static const char *const texts[] = {"replicate", "shard", "*.kernel=1"};
    static const char *const names[] = {"out.kernel", "mu.out.kernel",
                                        "nu.out.kernel"};
    fixture f = open_fixture("data:2", 2, ls_adam(1e-2));
    float in[16], out[16];
    ls_result r;

    for (size_t i = 0; i < 3; i++) {
        OK(ls_state_place(f.t, LS_STATE_ALL, texts[i]));
        OK(ls_step(f.t, f.b, &r));
        for (size_t n = 0; n < 3; n++) {
            for (int k = 0; k < 16; k++)
                in[k] = (float)(k + 100 * (int)n + 1);
            OK(ls_trainer_get(f.t, names[n], 16, out));
            ck_assert(memcmp(in, out, sizeof in) != 0);
            OK(ls_trainer_set(f.t, names[n], 16, in));
            OK(ls_trainer_get(f.t, names[n], 16, out));
            ck_assert_mem_eq(in, out, sizeof in);
        }
        OK(ls_trainer_get(f.t, "out.kernel", 16, out));
        ck_assert(out[0] == 1); /* the moments are arrays of their own */
    }
    FAILS(ls_trainer_get(f.t, "mu.out.kernel", 15, out), LS_ESHAPE,
            "\"mu.out.kernel\" has 16 elements, not 15");
    FAILS(ls_trainer_get(f.t, "trace.out.kernel", 16, out), LS_ENOTFOUND,
            "\"trace.out.kernel\"");
    close_fixture(&f);
}

MAIN()
