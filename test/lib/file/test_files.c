/* SPDX-License-Identifier: BSD-3-Clause */
/* Files: .npy in, safetensors out.  Small files are made here byte by byte, so
 * that the tests need nothing from outside; the hostile ones are those files
 * cut, altered and lying.  Meant to be run under the sanitizers as well. */
#define _GNU_SOURCE
#include "base/little.h"
#include "base/sha.h"
#include "calls.h"
#include "file/safetensors.h"
#include "file/seal.h"
#include "lockstep.h"

#include <lockstep/files.h>
#include <lockstep/table.h>

#include <check.h>
#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------ A folder for each test ------ */

static char folder[64];
static char path[128]; /* of the one file most tests use */

/* Work in memory where there is such a place: 10,000 files cost a disk 20 s. */
static void setup(void)
{
    snprintf(folder, sizeof folder, "%s/lockstep-files-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/x", folder);
}

/* Remove the files left; returns how many there were. */
static int sweep(void)
{
    DIR *d = opendir(folder);
    int n = 0;

    ck_assert_ptr_nonnull(d);
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        unlinkat(dirfd(d), e->d_name, 0);
        n++;
    }
    closedir(d);
    return n;
}

static void teardown(void)
{
    sweep();
    rmdir(folder);
}

static void put(const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");

    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
    ck_assert_int_eq(fclose(f), 0);
}

static char *get(size_t *n)
{
    FILE *f = fopen(path, "rb");
    char *bytes = malloc(1 << 16);

    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_nonnull(bytes);
    *n = fread(bytes, 1, 1 << 16, f);
    fclose(f);
    return bytes;
}

/* ------ .npy files ------ */

enum { NPY_MAX = 4096 };

/* A file of a version around a header's text and data; returns its size.  Data
 * are as the machine has them: where that is the big end first, "<" in the
 * header is ">", and so round. */
static size_t npy(uint8_t out[NPY_MAX], int version, const char *header,
                  const void *data, size_t bytes)
{
    size_t length = strlen(header), lead = version == 1 ? 10 : 12;

    memcpy(out, "\x93NUMPY", 6);
    out[6] = (uint8_t)version;
    out[7] = 0;
    for (size_t i = 8; i < lead; i++)
        out[i] = (uint8_t)(length >> 8 * (i - 8));
    for (size_t i = 0; i < length; i++)
        out[lead + i] = (uint8_t)(LS__IS_LITTLE      ? header[i]
                                  : header[i] == '<' ? '>'
                                  : header[i] == '>' ? '<'
                                                     : header[i]);
    memcpy(out + lead + length, data, bytes);
    return lead + length + bytes;
}

static const char *header(const char *descr, const char *fortran,
                          const char *shape)
{
    static char text[256];

    snprintf(text, sizeof text,
             "{'descr': '%s', 'fortran_order': %s, "
             "'shape': %s, }          \n",
             descr, fortran, shape);
    return text;
}

static void put_npy(const char *head, const void *data, size_t bytes)
{
    uint8_t file[NPY_MAX];

    put(file, npy(file, 1, head, data, bytes));
}

static void reverse(uint8_t *p, int size, int n)
{
    for (int i = 0; i < n; i++, p += size)
        for (int j = 0; j < size / 2; j++) {
            uint8_t t = p[j];

            p[j] = p[size - 1 - j];
            p[size - 1 - j] = t;
        }
}

static const float f4[] = {1, -7, 100};
static const double f8[] = {1, -7, 100};
static const int32_t i4[] = {1, -7, 100};
static const int64_t i8[] = {1, -7, 100};
static const uint8_t u1[] = {1, 249, 100};
static const uint16_t f2[] = {0x3c00, 0xc700, 0x5640};
static const int8_t i1[] = {1, -7, 100};
static const int16_t i2[] = {1, -700, 100};
static const uint16_t u2[] = {1, 65529, 100};
static const uint32_t u4[] = {1, 2147483647, 100};
static const uint64_t u8[] = {1, 2147483647, 100};
static const uint8_t b1[] = {1, 0, 1};

/* clang-format off */
static const struct {
    const char *name;
    int size;
    const void *data;
    int32_t want[3];
} types[] = {
    { "f4", 4, f4, { 1, -7, 100 } }, { "f8", 8, f8, { 1, -7, 100 } },
    { "i4", 4, i4, { 1, -7, 100 } }, { "i8", 8, i8, { 1, -7, 100 } },
    { "u1", 1, u1, { 1, 249, 100 } }, { "b1", 1, b1, { 1, 0, 1 } },
    { "f2", 2, f2, { 1, -7, 100 } }, { "i1", 1, i1, { 1, -7, 100 } },
    { "i2", 2, i2, { 1, -700, 100 } }, { "u2", 2, u2, { 1, 65529, 100 } },
    { "u4", 4, u4, { 1, 2147483647, 100 } },
    { "u8", 8, u8, { 1, 2147483647, 100 } },
};
/* clang-format on */
enum { TYPES = sizeof types / sizeof *types };

static void check_values(const int32_t want[3])
{
    ls_array t;

    ck_assert_msg(ls_npy_load(&t, path, LS_F32) == 0, "%s", ls_errmsg());
    ck_assert_int_eq(t.dtype, LS_F32);
    ck_assert_int_eq(t.rank, 1);
    ck_assert_int_eq(t.shape[0], 3);
    for (int i = 0; i < 3; i++)
        ck_assert(((float *)t.data)[i] == (float)want[i]);
    ls_array_free(&t);
    ck_assert_msg(ls_npy_load(&t, path, LS_I32) == 0, "%s", ls_errmsg());
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(((int32_t *)t.data)[i], want[i]);
    ls_array_free(&t);
    ck_assert_ptr_null(t.data);
}

/* Every type in both byte orders and all versions reads as both of ours. */
LOOP_TEST(npy_types, 0, TYPES)
{
    for (int v = 1; v <= 3; v++)
        for (int order = 0; order < 2; order++) {
            uint8_t file[NPY_MAX], data[64];
            char descr[8];
            size_t n = (size_t)types[_i].size * 3;

            memcpy(data, types[_i].data, n);
            if (order)
                reverse(data, types[_i].size, 3);
            snprintf(descr, sizeof descr, "%c%s", "<>"[order], types[_i].name);
            if (types[_i].size == 1)
                descr[0] = '|';
            put(file, npy(file, v, header(descr, "False", "(3,)"), data, n));
            check_values(types[_i].want);
        }
}

/* Fortran order comes out as C order, for two and three axes. */
TEST(npy_fortran)
{
    uint8_t bytes[24];
    ls_array t;

    for (int i = 0; i < 24; i++)
        bytes[i] = (uint8_t)i;
    put_npy(header("|u1", "True", "(2, 3)"), bytes, 6);
    ck_assert_int_eq(ls_npy_load(&t, path, LS_I32), 0);
    ck_assert_mem_eq(t.data, ((int32_t[]){0, 2, 4, 1, 3, 5}), 24);
    ls_array_free(&t);

    put_npy(header("|u1", "True", "(2, 3, 4)"), bytes, 24);
    ck_assert_int_eq(ls_npy_load(&t, path, LS_I32), 0);
    for (int i = 0; i < 24; i++) /* C place i is (i/12, i/4%3, i%4) */
        ck_assert_int_eq(((int32_t *)t.data)[i],
                         i / 12 + i / 4 % 3 * 2 + i % 4 * 6);
    ls_array_free(&t);
}

/* A file larger than the reading chunk keeps every element in its place. */
TEST(npy_large)
{
    enum { N = 5003 };
    char head[128];
    FILE *f = fopen(path, "wb");
    ls_array t;
    int n = snprintf(head, sizeof head, "\x93NUMPY%c%c%c%c", 1, 0, 60, 0);
    const char *text = "{'descr':'<i4','fortran_order':False,'shape':(5003,)}";

    ck_assert_ptr_nonnull(f);
    fwrite(head, 1, (size_t)n, f);
    fprintf(f, "%-60s", text);
    for (int32_t i = 0; i < N; i++) {
        int32_t x = i * 7919;

        ls__little(&x, 1, sizeof x);
        fwrite(&x, sizeof x, 1, f);
    }
    fclose(f);
    ck_assert_msg(ls_npy_load(&t, path, LS_I32) == 0, "%s", ls_errmsg());
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(((int32_t *)t.data)[i], i * 7919);
    ls_array_free(&t);
}

/* A single number has no axes; an empty array has no elements. */
TEST(npy_corners)
{
    ls_array t;

    put_npy(header("<f4", "False", "()"), f4, 4);
    ck_assert_int_eq(ls_npy_load(&t, path, LS_F32), 0);
    ck_assert_int_eq(t.rank, 0);
    ck_assert(*(float *)t.data == 1);
    ls_array_free(&t);
    put_npy(header("<f4", "False", "(0, 3)"), f4, 0);
    ck_assert_int_eq(ls_npy_load(&t, path, LS_F32), 0);
    ck_assert_int_eq(t.shape[1], 3);
    ls_array_free(&t);
    ls_array_free(&t);
    ls_array_free(NULL);
}

/* The header alone tells the shape, and is checked against the file. */
TEST(npy_shape)
{
    static const uint8_t zeros[24];
    int64_t shape[LS_MAX_RANK] = {77};

    put_npy(header("|u1", "True", "(2, 3, 4)"), zeros, 24);
    ck_assert_int_eq(ls_npy_shape(path, shape), 3);
    ck_assert(shape[0] == 2 && shape[1] == 3 && shape[2] == 4);
    put_npy(header("<f4", "False", "()"), f4, 4);
    ck_assert_int_eq(ls_npy_shape(path, shape), 0);
    shape[0] = 77;
    put_npy(header("|u1", "True", "(2, 3, 4)"), zeros, 23);
    ck_assert_int_eq(ls_npy_shape(path, shape), LS_EFORMAT);
    ck_assert_int_eq(ls_npy_shape("/none/none.npy", shape), LS_EIO);
    ck_assert_int_eq(shape[0], 77);
}

static void refused(int status, ls_dtype as, const char *message)
{
    ls_array t = {.rank = 77};
    int got = ls_npy_load(&t, path, as);

    ck_assert_msg(got == status, "status %d, not %d, for %s", got, status,
                  message);
    ck_assert_msg(strstr(ls_errmsg(), message) != NULL, "\"%s\" not in \"%s\"",
                  message, ls_errmsg());
    ck_assert_msg(strncmp(ls_errmsg(), path, strlen(path)) == 0, "%s",
                  ls_errmsg());
    ck_assert_int_eq(t.rank, 77);
}

/* A value the wanted type cannot hold is refused, naming its place. */
TEST(npy_ranges)
{
    const int64_t big[] = {5, 3000000000};
    const uint64_t most[] = {5, UINT64_MAX};
    const double wide[] = {1, 2, 1e300, 4};
    const float parts[] = {1, 1.5f, NAN, INFINITY, 2147483648.f};
    const double edge[] = {-2147483648., 2147483647., HUGE_VAL};
    ls_array t;

    put_npy(header("<i8", "False", "(2,)"), big, sizeof big);
    refused(LS_ERANGE, LS_I32, "element (1)");
    put_npy(header("<u8", "False", "(2,)"), most, sizeof most);
    refused(LS_ERANGE, LS_I32, "element (1)");
    ck_assert_int_eq(ls_npy_load(&t, path, LS_F32), 0);
    ck_assert(((float *)t.data)[1] == 18446744073709551616.f);
    ls_array_free(&t);
    put_npy(header("<f8", "True", "(2, 2)"), wide, sizeof wide);
    refused(LS_ERANGE, LS_F32, "element (0,1)");
    for (int i = 1; i < 5; i++) {
        put_npy(header("<f4", "False", "(1,)"), &parts[i], 4);
        refused(LS_ERANGE, LS_I32, "element (0)");
    }
    put_npy(header("<f8", "False", "(2,)"), edge, 16);
    ck_assert_int_eq(ls_npy_load(&t, path, LS_I32), 0);
    ck_assert_int_eq(((int32_t *)t.data)[0], INT32_MIN);
    ck_assert_int_eq(((int32_t *)t.data)[1], INT32_MAX);
    ls_array_free(&t);
    put_npy(header("<f8", "False", "(3,)"), edge, 24);
    ck_assert_int_eq(ls_npy_load(&t, path, LS_F32), 0);
    ck_assert(isinf(((float *)t.data)[2]));
    ls_array_free(&t);
}

/* A file cut at any byte, or one byte too long, is refused. */
TEST(npy_truncated)
{
    for (int v = 1; v <= 3; v++) {
        uint8_t file[NPY_MAX];
        size_t n = npy(file, v, header("<f4", "False", "(3,)"), f4, 12);

        for (size_t cut = 0; cut < n; cut++) {
            put(file, cut);
            refused(LS_EFORMAT, LS_F32, "at byte");
        }
        file[n] = 0;
        put(file, n + 1);
        refused(LS_EFORMAT, LS_F32, "1 byte too many");
    }
}

/* clang-format off */
static const struct {
    const char *header, *message;
} lies[] = {
    { "", "no {" },
    { "{}", "before all" },
    { "{'descr': '<f4', 'shape': (3,)}", "before all" },
    { "{'descr': '<f4', 'descr': '<f4'}", "given twice" },
    { "{'colour': '<f4'}", "unknown" },
    { "{'descr' '<f4'}", "no :" },
    { "{'descr': <f4}", "quoted" },
    { "{'descr': '<f4", "no end" },
    { "{'descr': '<f4' 'shape': (3,)}", "no }" },
    { "{'descr': 'f4'}", "byte order" },
    { "{'descr': ''}", "byte order" },
    { "{'descr': '<c8'}", "none of" },
    { "{'descr': '<f44'}", "none of" },
    { "{'descr': '|O'}", "none of" },
    { "{'descr': [('a', '<f4')]}", "structured" },
    { "{'fortran_order': 1}", "neither" },
    { "{'fortran_order': Tru", "neither" },
    { "{'shape': 3}", "no (" },
    { "{'shape': (3", "no )" },
    { "{'shape': (3 3)}", "no )" },
    { "{'shape': (-3,)}", "no number" },
    { "{'shape': (,)}", "no number" },
    { "{'shape': (99999999999999999999,)}", "too large" },
    { "{'shape': (1,1,1,1,1,1,1,1,1)}", "more than 8" },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} x", "follows" },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (4,)}", "need more" },
    { "{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}", "need more" },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "too many" },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': "
      "(4611686018427387904, 4)}", "need more" },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': "
      "(9223372036854775807,)}", "need more" },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': "
      "(3037000500, 3037000500)}", "need more" },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': "
      "(0, 4611686018427387904, 4)}", "need more" },
    { "{'descr': '<f4', 'fortran_order': True, 'shape': "
      "(4611686018427387904, 4, 0)}", "need more" },
};
/* clang-format on */
enum { LIES = sizeof lies / sizeof *lies };

/* A header that is malformed or says more than the file holds is refused with
 * a message of its own, before memory is asked for. */
LOOP_TEST(npy_lies, 0, LIES)
{
    put_npy(lies[_i].header, f4, sizeof f4);
    refused(LS_EFORMAT, LS_F32, lies[_i].message);
    refused(LS_EFORMAT, LS_F32, "at byte");
}

/* What Python 2 and other writers wrote is read: 3L, double quotes. */
TEST(npy_variants)
{
    put_npy("{\"shape\":(3L,),\"fortran_order\":False,\"descr\":\"<f4\"}\n", f4,
            sizeof f4);
    check_values((int32_t[]){1, -7, 100});
    put_npy("{'shape':(3),'fortran_order':False,'descr':'<f4',}", f4,
            sizeof f4);
    check_values((int32_t[]){1, -7, 100});
}

/* Wrong magic, version and header length are refused. */
TEST(npy_preamble)
{
    static const struct {
        int at, value;
        const char *message;
    } cases[] = {
        {0, 0x92, "magic"}, {5, 'y', "magic"}, {6, 0, "version"},
        {6, 4, "version"},  {7, 1, "version"}, {9, 255, "header"},
    };
    uint8_t file[NPY_MAX];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = npy(file, 1, header("<f4", "False", "(3,)"), f4, 12);

        file[cases[i].at] = (uint8_t)cases[i].value;
        put(file, n);
        refused(LS_EFORMAT, LS_F32, cases[i].message);
    }
}

/* Ten thousand files with one or two flipped bits: each is refused or loads as
 * an array of which every element may be read. */
TEST(npy_flips)
{
    uint64_t random = 1;
    int loaded = 0;

    for (int i = 0; i < 10000; i++) {
        uint8_t file[NPY_MAX];
        size_t n =
            npy(file, 1 + i % 3, header("<f4", "True", "(1, 3)"), f4, 12);
        ls_array t;

        for (int k = 0; k <= i % 2; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            file[(random >> 33) % n] ^= (uint8_t)(1 << (random >> 30 & 7));
        }
        put(file, n);
        if (ls_npy_load(&t, path, i & 4 ? LS_F32 : LS_I32) == 0) {
            int64_t count = 1;
            uint32_t sum = 0;

            for (int k = 0; k < t.rank; k++)
                count *= t.shape[k];
            for (int64_t k = 0; k < count; k++)
                sum += ((uint32_t *)t.data)[k];
            ck_assert_msg(count <= 12, "%u", sum);
            loaded++;
            ls_array_free(&t);
        }
    }
    ck_assert_int_gt(loaded, 100);
    ck_assert_int_lt(loaded, 9900);
}

/* What is no file, or wanted as no type, is refused by name. */
TEST(npy_no_file)
{
    refused(LS_EIO, LS_F32, "No such file");
    refused(LS_EINVAL, (ls_dtype)9, "neither");
    strcpy(path, folder);
    refused(LS_EIO, LS_F32, "not a regular file");
    strcpy(path, "/dev/null");
    refused(LS_EIO, LS_F32, "not a regular file");
    snprintf(path, sizeof path, "%s/pipe", folder);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    refused(LS_EIO, LS_F32, "not a regular file: write what the pipe gives");
    unlink(path);
}

/* ------ What files are that somebody takes for others ------ */

/* The name of a ZIP archive's first member, of 99 bytes at the most. */
#define ZIP(name) "PK\3\4aaaaaaaaaaaaaaaaaaaaaa" name
#define TORCH "\x80\2\x8a\x0al\xfc\x9c\x46\xf9 j"

/* clang-format off */
static const struct {
    const char *begins;
    size_t n;
    const char *is; /* in the message */
} foreign[] = {
#define OF(begins) begins, sizeof begins - 1
    { OF(ZIP("\x10\0\0\0archive/data.pkl")), "a checkpoint of PyTorch, and" },
    { OF(TORCH), "safetensors.torch.save_file" },
    { OF(ZIP("\x13\0\0\0[Content_Types].xml")), "a workbook of" },
    { OF(ZIP("\x0c\0\0\0xl/a/bcd.xml")), "a workbook of" },
    { OF(ZIP("\x08\0\0\0mimetypeapplication/vnd.oasis")), "a workbook of" },
    { OF(ZIP("\x05\0\0\0a.txt")), "a ZIP archive" },
    { OF(ZIP("\xff\xff\0\0a.txt")), "a ZIP archive" },
    { OF(ZIP("\x05\0\0\0x.npy")), "an .npz archive" },
    { OF("\x80\4\x95\0"), "a pickle" },
    { OF("GGUF\3\0\0\0"), "a GGUF model" },
    { OF("\x89HDF\r\n\x1a\n\0"), "an HDF5 file" },
    { OF("\x08\x09\x12\x07pytorch"), "an ONNX model" },
    { OF("PAR1\x15\0"), "Parquet" },
    { OF("ARROW1\0\0"), "Arrow table" },
    { OF("SQLite format 3\0"), "sqlite3 -header -csv" },
    { OF("BZh91AY&SY\0"), "bunzip2" },
    { OF("RIFF\1\2\3\0WEBPVP8 "), "a WebP picture" },
    { OF("BM\1\2\3\4\0\0\0\0"), "a BMP picture" },
    { OF("\xff\xfe" "a\0,\0"), "iconv -f utf-16" },
    { OF("version https://git-lfs.github.com/spec/v1\n"), "git lfs pull" },
    { OF("<!DOCTYPE html>\n"), "a page of the web" },
    { OF("[\n {\"a\": 1}]\n"), "JSON, and not" },
    { OF("{\"bits\":1}\n"), "a transcript of lockstep" },
    { OF("% of iris\n\n@RELATION iris\n"), "ARFF, and not" },
    { OF("+1 3:0.5 7:-2e-3\n"), "LIBSVM" },
#undef OF
};
/* clang-format on */
enum { FOREIGN = sizeof foreign / sizeof *foreign };

/* A file of another kind is named by all readers, and what to type; a table may
 * begin with the letters of another kind. */
LOOP_TEST(named_formats, 0, FOREIGN)
{
    const char *is = foreign[_i].is;
    ls__safetensors in;
    ls_table *table;
    FILE *f;

    put((const uint8_t *)foreign[_i].begins, foreign[_i].n);
    refused(LS_EFORMAT, LS_F32, is);
    FAILS(ls__safetensors_read(&in, path), LS_EFORMAT, is);
    FAILS(ls_table_open(&table, path), LS_EFORMAT, is);
    ck_assert_ptr_nonnull(f = fopen(path, "w"));
    fputs(&"PAR1,y\n1,2\n\0GIF8,y\n1,2\n\0BMI,y\n1,2\n"[_i % 3 * 12], f);
    fclose(f);
    OK(ls_table_open(&table, path));
    ls_table_close(table);
    refused(LS_EFORMAT, LS_F32, "and not a .npy array");
}

/* A tensor of a type that is not computed with is no reason to refuse all. */
TEST(exotic_types)
{
    static const char text[] = "\x42\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"C64\","
                               "\"shape\":[1],\"data_offsets\":[0,8]}}      "
                               "      01234567";
    ls__safetensors in;

    put(text, sizeof text - 1);
    OK(ls__safetensors_read(&in, path));
    ck_assert(in.count == 1 && in.entry[0].bytes == 8);
    ls__safetensors_free(&in);
}

/* A safetensors file that is cut off is no other kind of file, and a short one
 * is read to its end only. */
TEST(unnamed_formats)
{
    static const char cut[] = "\xff\0\0\0\0\0\0\0{\"a\"";
    ls__safetensors in;

    put((const uint8_t *)cut, sizeof cut - 1);
    FAILS(ls__safetensors_read(&in, path), LS_EFORMAT, "cut off");
    for (size_t n = 0; n < 8; n++) {
        put((const uint8_t *)"\x89HDF\r\n\x1a\n", n);
        FAILS(ls__safetensors_read(&in, path), LS_EFORMAT, "safetensors file");
    }
}

/* ------ safetensors ------ */

static const float kernel[] = {1, -2, 3.5f, 1e-40f, -0.0f, 6};
static const float step[] = {42};

static const ls__safetensor tensors[] = {
    {"b.kernel", 2, {2, 3}, kernel},
    {"a \"quoted\" \xc3\xa9", 0, {0}, step},
    {"empty", 2, {0, 5}, kernel},
};
enum { TENSORS = sizeof tensors / sizeof *tensors };

/* The header of a file in memory, checked for length and padding. */
static json_t *parse(const char *bytes, size_t n, const char **data)
{
    uint64_t length;
    json_t *root;

    ck_assert_uint_ge(n, 8);
    memcpy(&length, bytes, 8);
    ls__little(&length, 1, 8);
    ck_assert_uint_eq(length % 8, 0);
    ck_assert_uint_le(8 + length, n);
    root = json_loadb(bytes + 8, length, 0, NULL);
    ck_assert_ptr_nonnull(root);
    *data = bytes + 8 + length;
    return root;
}

static void check_entry(json_t *root, const ls__safetensor *t, int64_t first,
                        int64_t last)
{
    json_t *e = json_object_get(root, t->name);
    json_t *at = json_object_get(e, "data_offsets");
    json_t *shape = json_object_get(e, "shape");

    ck_assert_ptr_nonnull(e);
    ck_assert_str_eq(json_string_value(json_object_get(e, "dtype")), "F32");
    ck_assert_int_eq(json_integer_value(json_array_get(at, 0)), first);
    ck_assert_int_eq(json_integer_value(json_array_get(at, 1)), last);
    ck_assert_uint_eq(json_array_size(shape), (size_t)t->rank);
    for (int i = 0; i < t->rank; i++)
        ck_assert_int_eq(json_integer_value(json_array_get(shape, (size_t)i)),
                         t->shape[i]);
}

static void check_floats(const char *data, const float *want, size_t n)
{
    float got[6];

    memcpy(got, data, n * sizeof *got);
    ls__little(got, n, sizeof *got);
    ck_assert_mem_eq(got, want, n * sizeof *got);
}

/* A written file parses back: names, shapes, offsets, bytes, checksum, in the
 * order given. */
TEST(safetensors_round)
{
    const ls_setting extra[] = {{"step", "7"}};
    char hex[65], sum[65];
    ls__sha256 sha;
    const char *data;
    size_t n;

    ck_assert_msg(ls__safetensors_write(path, TENSORS, tensors, 1, extra) == 0,
                  "%s", ls_errmsg());
    char *bytes = get(&n);
    json_t *root = parse(bytes, n, &data);
    json_t *meta = json_object_get(root, "__metadata__");

    check_entry(root, &tensors[0], 0, 24);
    check_entry(root, &tensors[1], 24, 28);
    check_entry(root, &tensors[2], 28, 28);
    ck_assert_int_eq(bytes + n - data, 28);
    check_floats(data, kernel, 6);
    check_floats(data + 24, step, 1);
    ck_assert(strstr(bytes + 8, "b.kernel") < strstr(bytes + 8, "quoted"));
    ls__sha256_init(&sha);
    ls__sha256_update(&sha, data, 28);
    ls__sha256_hex(&sha, hex);
    ls__safetensors_sha256(TENSORS, tensors, sum);
    ck_assert_str_eq(sum, hex);
    ck_assert(ls__seal_holds(bytes, n, NULL, 0));
    ck_assert_str_eq(json_string_value(json_object_get(meta, "step")), "7");
    ck_assert_str_eq(json_string_value(json_object_get(meta, "lockstep")),
                     ls_version());
    json_decref(root);
    free(bytes);
    ck_assert_int_eq(sweep(), 1);
}

/* Names that cannot stand in a header are refused and no file appears. */
TEST(safetensors_names)
{
    const ls__safetensor twice[] = {tensors[0], tensors[0]};
    const ls__safetensor taken = {"__metadata__", 0, {0}, step};
    const ls__safetensor bytes = {"\xff\xfe", 0, {0}, step};

    ck_assert_int_eq(ls__safetensors_write(path, 2, twice, 0, NULL), LS_EINVAL);
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "b.kernel"));
    ck_assert_int_eq(ls__safetensors_write(path, 1, &taken, 0, NULL),
                     LS_EINVAL);
    ck_assert_int_eq(ls__safetensors_write(path, 1, &bytes, 0, NULL),
                     LS_EINVAL);
    ck_assert_int_eq(sweep(), 0);
}

static void fails(const char *message)
{
    ck_assert_int_eq(ls__safetensors_write(path, TENSORS, tensors, 0, NULL),
                     LS_EIO);
    ck_assert_msg(strstr(ls_errmsg(), message) != NULL, "%s", ls_errmsg());
}

/* A folder that is missing, a path that is a folder or a device: refused, and
 * the device is still one. */
TEST(safetensors_no_place)
{
    struct stat info;

    strcat(path, "/missing/file");
    fails("No such file");
    strcpy(path, folder);
    fails("not a regular file");
    strcpy(path, "/dev/null");
    fails("not a regular file");
    ck_assert_int_eq(stat("/dev/null", &info), 0);
    ck_assert(S_ISCHR(info.st_mode));
    ck_assert_int_eq(sweep(), 0);
}

/* When there is no room for the new file, the old one stays as it was and
 * nothing is left beside it. */
TEST(safetensors_no_room)
{
    struct rlimit old, small;
    size_t n;
    char *bytes;

    put("the old file", 12);
    getrlimit(RLIMIT_FSIZE, &old);
    small = (struct rlimit){64, old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    fails("File too large");
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_DFL);
    bytes = get(&n);
    ck_assert_uint_eq(n, 12);
    ck_assert_mem_eq(bytes, "the old file", 12);
    free(bytes);
    ck_assert_int_eq(sweep(), 1);
}

/* A second save replaces the first. */
TEST(safetensors_replace)
{
    const char *data;
    size_t n;

    ck_assert_int_eq(ls__safetensors_write(path, 3, tensors, 0, NULL), 0);
    ck_assert_int_eq(ls__safetensors_write(path, 1, tensors, 0, NULL), 0);
    char *bytes = get(&n);
    json_t *root = parse(bytes, n, &data);

    ck_assert_uint_eq(json_object_size(root), 2);
    json_decref(root);
    free(bytes);
    ck_assert_int_eq(sweep(), 1);
}

MAIN(.setup = setup, .teardown = teardown)
