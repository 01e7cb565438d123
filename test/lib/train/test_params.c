/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters: their order, getting and setting them by name, and the file that
 * saves them. */
#include "base/sha.h"
#include "regression.h"

#include <jansson.h>
#include <unistd.h>

/* Proves that parameters stand by path, bytewise at each level, whatever the
 * order they were declared in, and keep their shapes. */
TEST(canonical_order)
{
    static const ls_array_spec input = {"x", LS_F32, 0, {0}};
    static const ls_array_spec param[] = {
        {"pos_emb", LS_F32, 2, {5, 4}}, {"blocks_2.w", LS_F32, 1, {2}},
        {"blocks_10.w", LS_F32, 1, {10}}, {"blocks_1.w", LS_F32, 1, {1}},
        {"blocks.z", LS_F32, 1, {1}}, {"blocks-x", LS_F32, 1, {1}},
        {"blocks_1", LS_F32, 0, {0}}, {"Zebra", LS_F32, 1, {3}}};
    static const char *const want[] = {
        "Zebra", "blocks.z", "blocks-x", "blocks_1", "blocks_1.w",
        "blocks_10.w", "blocks_2.w", "pos_emb"};
    ls_gradient g = {nothing, NULL, 1, COUNT(param), &input, param};
    ls_pool *pool = open_pool(1, 1);
    int64_t shape[LS_MAX_RANK];
    ls_trainer *t;

    OK(ls_trainer_open_gradient(&t, pool, &g, NULL));
    ck_assert_int_eq(ls_trainer_params(t), COUNT(want));
    for (size_t i = 0; i < COUNT(want); i++)
        ck_assert_str_eq(ls_trainer_param_name(t, (int)i), want[i]);
    ck_assert_int_eq(ls_trainer_param_shape(t, 3, shape), 0);
    ck_assert_int_eq(ls_trainer_param_shape(t, 5, shape), 1);
    ck_assert_int_eq(shape[0], 10);
    ck_assert_int_eq(ls_trainer_param_shape(t, 7, shape), 2);
    ck_assert(shape[0] == 5 && shape[1] == 4);
    ck_assert_ptr_null(ls_trainer_param_name(t, -1));
    ck_assert_ptr_null(ls_trainer_param_name(t, COUNT(want)));
    ls_trainer_close(t);
    ls_pool_close(pool);
}

/* Proves that values come back as they went in, that setting one parameter
 * touches no other, and that a wrong name or size is refused with the nearest
 * name or both sizes. */
TEST(get_and_set)
{
    static const float values[33] = {1, -0.0f, 0x1p-149f, 3e38f};
    run r = open_run_on(DEVICES, 2, mlp_graph(), NULL);
    float got[33], scale[33];

    OK(ls_trainer_get(r.trainer, "norm.scale", 33, scale));
    OK(ls_trainer_set(r.trainer, "norm.bias", 33, values));
    OK(ls_trainer_get(r.trainer, "norm.bias", 33, got));
    ck_assert_mem_eq(got, values, sizeof got);
    OK(ls_trainer_get(r.trainer, "norm.scale", 33, got));
    ck_assert_mem_eq(got, scale, sizeof got);
    FAILS(ls_trainer_get(r.trainer, "norm.biass", 33, got), LS_ENOTFOUND,
          "\"norm.biass\"; the nearest is \"norm.bias\"");
    FAILS(ls_trainer_set(r.trainer, "hidden.kern", 33, got), LS_ENOTFOUND,
          "the nearest is \"hidden.kernel\"");
    FAILS(ls_trainer_set(r.trainer, "norm.bias", 32, got), LS_ESHAPE,
          "\"norm.bias\" has 33 elements, not 32");
    FAILS(ls_trainer_get(r.trainer, "out.kernel", 33, got), LS_ESHAPE,
          "has 165 elements, not 33");
    ck_assert_mem_eq(got, scale, sizeof got);
    close_run(&r);
}

/* ------ The saved file ------ */

/* A whole file; the test frees it. */
static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(1 << 20);

    ck_assert(file && bytes);
    *size = fread(bytes, 1, 1 << 20, file);
    ck_assert(*size > 8 && *size < 1 << 20);
    fclose(file);
    return bytes;
}

static uint64_t little_endian(const char *bytes)
{
    uint64_t n = 0;

    for (int i = 7; i >= 0; i--)
        n = n << 8 | (uint8_t)bytes[i];
    return n;
}

static size_t integer_at(json_t *array, size_t i)
{
    json_t *n = json_array_get(array, i);

    ck_assert(json_is_integer(n));
    return (size_t)json_integer_value(n);
}

/* Entry of parameter i: dtype, shape, and its bytes in data. */
static void check_entry(const ls_trainer *t, int i, json_t *header,
                        const char *data, size_t size)
{
    const char *name = ls_trainer_param_name(t, i);
    json_t *entry = json_object_get(header, name);
    json_t *shape = json_object_get(entry, "shape");
    json_t *at = json_object_get(entry, "data_offsets");
    int64_t want[LS_MAX_RANK], n = 1;
    int rank = ls_trainer_param_shape(t, i, want);
    float values[1024];

    ck_assert_str_eq(json_string_value(json_object_get(entry, "dtype")),
                     "F32");
    ck_assert_int_eq(json_array_size(shape), rank);
    for (int k = 0; k < rank; k++) {
        ck_assert_int_eq(integer_at(shape, (size_t)k), want[k]);
        n *= want[k];
    }
    ck_assert_int_eq(integer_at(at, 1) - integer_at(at, 0), 4 * n);
    ck_assert_uint_le(integer_at(at, 1), size);
    OK(ls_trainer_get(t, name, n, values));
    ck_assert_mem_eq(data + integer_at(at, 0), values, 4 * (size_t)n);
}

/* Proves that what a trainer saves is a safetensors file with all its
 * parameters and the checksum of their bytes. */
TEST(saved_file)
{
    run r = open_run_on(DEVICES, 2, mlp_graph(), NULL);
    char path[] = "/tmp/lockstep-test-XXXXXX", hex[65], *bytes;
    int fd = mkstemp(path);
    size_t size, head;
    json_t *header, *meta;
    ls__sha256 sha;

    ck_assert_int_ge(fd, 0);
    close(fd);
    OK(ls_trainer_save(r.trainer, path));
    bytes = read_file(path, &size);
    head = little_endian(bytes);
    ck_assert(head % 8 == 0 && head < size - 8);
    header = json_loadb(bytes + 8, head, 0, NULL);
    ck_assert_int_eq(json_object_size(header), ls_trainer_params(r.trainer)
                     + 1);
    head += 8;
    for (int i = 0; i < ls_trainer_params(r.trainer); i++)
        check_entry(r.trainer, i, header, bytes + head, size - head);
    ls__sha256_init(&sha);
    ls__sha256_update(&sha, bytes + head, size - head);
    ls__sha256_hex(&sha, hex);
    meta = json_object_get(header, "__metadata__");
    ck_assert_str_eq(json_string_value(json_object_get(meta, "sha256")), hex);
    json_decref(header);
    free(bytes);
    unlink(path);
    FAILS(ls_trainer_save(r.trainer, "/nowhere/at.all"), LS_EIO,
          "/nowhere/at.all");
    close_run(&r);
}

MAIN()
