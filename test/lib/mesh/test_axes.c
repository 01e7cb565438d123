/* SPDX-License-Identifier: BSD-3-Clause */
/* Named axes: which device holds which shard, trainers on meshes with a second
 * axis, and sets of arrays cut along the data axis. */
#include "pool/pool.h"
#include "small_model.h"

static ls_sharding cut(const char *axes, const char *data_axis)
{
    ls_mesh_options o = {.size = sizeof o,
                         .axes = axes, .topology = "core:2 pu:1"};
    ls_mesh *mesh;
    ls_sharding s;

    OK(ls_mesh_open(&mesh, &o));
    OK(ls_sharding_data_parallel(&s, mesh, data_axis));
    ls_mesh_close(mesh);
    return s;
}

/* Devices that differ only along another axis hold the same shard. */
TEST(test_shard_of_device)
{
    static const struct {
        const char *axes, *data;
        int shards, shard[6];
    } row[] = {
        {"data:4", NULL, 4, {0, 1, 2, 3, -1, -1}},
        {"data:2,model:2", "data", 2, {0, 0, 1, 1, -1, -1}},
        {"model:2,data:2", NULL, 2, {0, 1, 0, 1, -1, -1}},
        {"data:3,model:2", "model", 2, {0, 1, 0, 1, 0, 1}},
        {"a:1,data:3,b:2", NULL, 3, {0, 0, 1, 1, 2, 2}},
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        ls_sharding s = cut(row[i].axes, row[i].data);

        ck_assert_int_eq(s.shards, row[i].shards);
        for (int d = 0; d < 6; d++)
            ck_assert_int_eq(ls_sharding_shard(&s, d), row[i].shard[d]);
        ck_assert_int_eq(ls_sharding_shard(&s, -1), -1);
    }
}

/* An unknown axis is an error that names the mesh's axes. */
TEST(test_unknown_axis)
{
    ls_mesh_options o = {.size = sizeof o, .axes = "data:2,model:2"};
    ls_trainer_options t = ls_trainer_defaults();
    ls_sharding s = {.shards = 77};
    ls_trainer *trainer = NULL;
    ls_graph *g = small_graph();
    ls_pool *pool;
    ls_mesh *mesh;

    OK(ls_mesh_open(&mesh, &o));
    FAILS(ls_sharding_data_parallel(&s, mesh, "batch"), LS_ENOTFOUND,
            "no axis \"batch\"; its axes are \"data\" (2), \"model\" (2)");
    ck_assert_int_eq(s.shards, 77);
    ls_mesh_close(mesh);

    pool = open_axes("model:2", 1);
    FAILS(ls_trainer_open(&trainer, pool, g, &t), LS_ENOTFOUND,
            "no axis \"data\"; its axes are \"model\" (2)");
    t.data_axis = "model";
    OK(ls_trainer_open(&trainer, pool, g, &t));
    ls_trainer_close(trainer);
    ls_pool_close(pool);
    ls_graph_free(g);
}

static void train(const char *axes, const char *data_axis, int workers,
                  char hex[65])
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_pool *pool = open_axes(axes, workers);
    ls_graph *g = small_graph();
    ls_trainer *t;
    ls_batch *b;
    ls_result r;

    o.optimizer = ls_adam(1e-2);
    o.data_axis = data_axis;
    OK(ls_trainer_open(&t, pool, g, &o));
    ck_assert_int_eq(ls_trainer_devices(t),
                     ls_mesh_axis_size(ls__pool_mesh(pool),
                                       data_axis ? data_axis : "data"));
    b = small_batch(t);
    for (int i = 0; i < 4; i++)
        OK(ls_step(t, b, &r));
    ck_assert_int_eq(r.rows, ROWS);
    ls_trainer_hash(t, hex);
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
}

/* A second axis changes no bit, wherever it stands and for any number of
 * workers: batches are cut along the data axis only. */
TEST(test_second_axis)
{
    static const struct {
        const char *axes, *data, *same_as;
    } row[] = {
        {"data:2,model:2", NULL, "data:2"},
        {"model:2,data:2", NULL, "data:2"},
        {"data:4,model:2", "data", "data:4"},
        {"data:4,model:2", "model", "data:2"},
    };
    static const int workers[] = {1, 2, 3, 4, 7};

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char expected[65], hex[65];

        train(row[i].same_as, NULL, 1, expected);
        for (size_t w = 0; w < sizeof workers / sizeof *workers; w++) {
            train(row[i].axes, row[i].data, workers[w], hex);
            ck_assert_str_eq(hex, expected);
        }
    }
}

/* ------ sets of arrays ------ */

enum { N = 12 };

static float image[N][2][3];
static int32_t label[N];
static double weight[N][1];
static uint8_t pixel[N][5];
static int64_t id[N][2];

/* Arrays of ranks 1 to 3 and of every type. */
static void fill_set(ls_array set[5], int64_t rows)
{
    uint8_t *bytes[] = {(uint8_t *)image, (uint8_t *)label, (uint8_t *)weight,
                        (uint8_t *)pixel, (uint8_t *)id};
    size_t size[] = {sizeof image, sizeof label, sizeof weight, sizeof pixel,
                     sizeof id};

    set[0] = (ls_array){"image", LS_F32, 3, {rows, 2, 3}, image};
    set[1] = (ls_array){"label", LS_I32, 1, {rows}, label};
    set[2] = (ls_array){"weight", LS_F64, 2, {rows, 1}, weight};
    set[3] = (ls_array){"pixel", LS_U8, 2, {rows, 5}, pixel};
    set[4] = (ls_array){"id", LS_I64, 2, {rows, 2}, id};
    for (int a = 0; a < 5; a++)
        for (size_t i = 0; i < size[a]; i++)
            bytes[a][i] = (uint8_t)(i * 7 + (size_t)a);
}

static const size_t row_bytes[] = {24, 4, 8, 5, 16};

/* Each device gets contiguous rows of each array, as views of the data. */
TEST(test_shard_batch)
{
    ls_sharding s = cut("data:4,model:2", NULL);
    ls_array set[5], view;
    ls_shards *shards;

    fill_set(set, N);
    OK(ls_shards_cut(&shards, &s, 5, set, LS_UNEVEN_ERROR));
    ck_assert_int_eq(ls_shards_rows(shards), 3);
    for (int d = 0; d < 8; d++) {
        ck_assert_ptr_null(ls_shards_mask(shards, d));
        for (int a = 0; a < 5; a++) {
            OK(ls_shards_get(shards, set[a].name, d, &view));
            ck_assert_int_eq(view.dtype, set[a].dtype);
            ck_assert_int_eq(view.rank, set[a].rank);
            ck_assert_int_eq(view.shape[0], 3);
            ck_assert_ptr_eq(view.data, (char *)set[a].data +
                                            (size_t)(d / 2) * 3 *
                                                row_bytes[a]);
        }
    }
    FAILS(ls_shards_get(shards, "labels", 0, &view), LS_ENOTFOUND,
            "no array is named \"labels\"");
    FAILS(ls_shards_get(shards, "label", 8, &view), LS_EINVAL,
            "device 8 is not one of the mesh's 8");
    ls_shards_free(shards);
    ls_shards_free(NULL);
}

/* Padding adds rows of zeros and a mask, for every number of rows. */
TEST(test_padding)
{
    static const uint8_t zeros[24];
    ls_sharding s = cut("data:4", NULL);

    for (int64_t n = 1; n <= N; n++) {
        int64_t r = (n + 3) / 4;
        ls_array set[5], view;
        ls_shards *shards;

        fill_set(set, n);
        OK(ls_shards_cut(&shards, &s, 5, set, LS_UNEVEN_PAD));
        ck_assert_int_eq(ls_shards_rows(shards), r);
        for (int64_t row = 0; row < 4 * r; row++) {
            int d = (int)(row / r);

            ck_assert(ls_shards_mask(shards, d)[row % r] == (row < n));
            for (int a = 0; a < 5; a++) {
                size_t bytes = row_bytes[a];
                const char *all = set[a].data;

                OK(ls_shards_get(shards, set[a].name, d, &view));
                ck_assert_mem_eq((char *)view.data + (size_t)(row % r) * bytes,
                                 row < n ? all + (size_t)row * bytes
                                         : (const char *)zeros, bytes);
            }
        }
        ls_shards_free(shards);
    }
}

/* What cannot be cut is refused, and the message names array, rows and
 * devices. */
TEST(test_refused)
{
    ls_sharding s = cut("data:4", NULL);
    ls_shards *shards = NULL;
    ls_array set[5];

    fill_set(set, 10);
    FAILS(ls_shards_cut(&shards, &s, 5, set, LS_UNEVEN_ERROR), LS_ESHAPE,
            "array \"image\": 10 rows do not divide by the 4 devices along "
            "\"data\"");
    set[3].shape[0] = 8;
    FAILS(ls_shards_cut(&shards, &s, 5, set, LS_UNEVEN_PAD), LS_ESHAPE,
            "array \"pixel\" has 8 rows, \"image\" has 10");
    fill_set(set, N);
    set[1].rank = 0;
    FAILS(ls_shards_cut(&shards, &s, 5, set, LS_UNEVEN_PAD), LS_ESHAPE,
            "array \"label\": rank 0 is not 1 to 8");
    fill_set(set, N);
    set[2].shape[1] = INT64_MAX;
    FAILS(ls_shards_cut(&shards, &s, 5, set, LS_UNEVEN_PAD), LS_ESHAPE,
            "array \"weight\": (12,9223372036854775807)");
    fill_set(set, N);
    set[2].dtype = (ls_dtype)9;
    FAILS(ls_shards_cut(&shards, &s, 5, set, LS_UNEVEN_PAD), LS_EINVAL,
            "array \"weight\": the dtype is unknown");
    fill_set(set, N);
    set[4].data = NULL;
    FAILS(ls_shards_cut(&shards, &s, 5, set, LS_UNEVEN_PAD), LS_EINVAL,
            "array \"id\": the data is NULL");
    fill_set(set, 0);
    FAILS(ls_shards_cut(&shards, &s, 5, set, LS_UNEVEN_PAD), LS_ESHAPE,
            "array \"image\": (0,2,3) is empty");
    fill_set(set, N);
    set[4].name = "label";
    FAILS(ls_shards_cut(&shards, &s, 5, set, LS_UNEVEN_PAD), LS_EINVAL,
            "array \"label\" stands there twice");
    FAILS(ls_shards_cut(&shards, &s, 0, set, LS_UNEVEN_PAD), LS_EINVAL,
            "nothing to cut");
    ck_assert_ptr_null(shards);
}

MAIN()
