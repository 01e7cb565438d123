/* SPDX-License-Identifier: BSD-3-Clause */
/* Images from files: CIFAR-10, IDX (plain and gzip'd) and .npy.  Small files
 * are made here byte by byte, so that the tests need nothing from outside; the
 * hostile ones are those files cut, altered and lying, and each is refused with
 * its name or loads as rows that may all be read.  Meant to be run under the
 * sanitizers as well. */
#define _GNU_SOURCE
#include "calls.h"
#include "models.h"

#include <lockstep/images.h>

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <zlib.h>

/* ------ Files ------ */

static char folder[64];

/* Work in memory where there is such a place. */
static void setup(void)
{
    snprintf(folder, sizeof folder, "%s/lockstep-images-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void sweep(void)
{
    DIR *d = opendir(folder);

    ck_assert_ptr_nonnull(d);
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.')
            unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
}

static void teardown(void)
{
    sweep();
    rmdir(folder);
}

/* A path in the folder; good until the fourth one after it. */
static const char *at(const char *name)
{
    static char room[4][160];
    static int next;
    char *path = room[next++ % 4];

    snprintf(path, sizeof room[0], "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const void *bytes, size_t n)
{
    FILE *f = fopen(at(name), "wb");

    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
    ck_assert_int_eq(fclose(f), 0);
}

enum { MOST = 16384 };

typedef struct bytes {
    size_t n;
    uint8_t b[MOST];
} bytes;

static void add(bytes *f, const void *p, size_t n)
{
    ck_assert_uint_le(f->n + n, MOST);
    memcpy(f->b + f->n, p, n);
    f->n += n;
}

static void add_byte(bytes *f, int byte)
{
    add(f, &(uint8_t){(uint8_t)byte}, 1);
}

/* Element i of every file made here. */
static uint8_t pixel(int64_t i)
{
    return (uint8_t)(i * 37 + i / 11);
}

static int label(int64_t i)
{
    return (int)(i * 7 % 10);
}

static void make_idx(bytes *f, int rank, const int64_t *shape)
{
    int64_t n = 1;

    f->n = 0;
    add(f, (uint8_t[]){0, 0, 8, (uint8_t)rank}, 4);
    for (int k = 0; k < rank; k++) {
        for (int b = 24; b >= 0; b -= 8)
            add_byte(f, (int)(shape[k] >> b & 255));
        n *= shape[k];
    }
    for (int64_t i = 0; i < n; i++)
        add_byte(f, rank == 1 ? label(i) : pixel(i));
}

static void make_cifar(bytes *f, int64_t first, int64_t rows)
{
    f->n = 0;
    for (int64_t r = first; r < first + rows; r++) {
        add_byte(f, label(r));
        for (int64_t i = 0; i < 3072; i++)
            add_byte(f, pixel(r * 3072 + i));
    }
}

static void start_npy(bytes *f, const char *descr, bool fortran,
                      const char *shape)
{
    char text[119];

    f->n = 0;
    snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': %s, "
             "'shape': %s, }", descr, fortran ? "True" : "False", shape);
    add(f, "\x93NUMPY\1\0\x76\0", 10);
    for (size_t i = strlen(text); i < 118; i++)
        text[i] = ' ';
    add(f, text, 118);
}

static void compress_file(bytes *f)
{
    static uint8_t out[2 * MOST];
    z_stream z = {.next_in = f->b, .avail_in = (unsigned)f->n,
                  .next_out = out, .avail_out = sizeof out};

    ck_assert_int_eq(deflateInit2(&z, 6, Z_DEFLATED, MAX_WBITS + 16, 8,
                                  Z_DEFAULT_STRATEGY), Z_OK);
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    f->n = 0;
    add(f, out, z.total_out);
    deflateEnd(&z);
}

static void put_file(const char *name, const bytes *f)
{
    put(name, f->b, f->n);
}

/* ------ Reading all of a source ------ */

static float image[64 * 32 * 32 * 3];
static int32_t labels[64];

/* All rows, backwards when asked; returns their number. */
static int64_t read_all(ls_source *s, bool backwards)
{
    void *out[] = {image, labels};
    int64_t index[64];

    ck_assert_int_eq(s->n_arrays, 2);
    ck_assert_int_le(s->rows, 64);
    for (int64_t i = 0; i < s->rows; i++)
        index[i] = backwards ? s->rows - 1 - i : i;
    ck_assert_int_eq(s->fill(s->user, s->rows, index, out), 0);
    return s->rows;
}

static ls_source open_images(const char *name, bool test)
{
    ls_images_options o = ls_images_defaults();
    ls_source s;

    o.test = test;
    OK(ls_source_images(&s, at(name), &o));
    return s;
}

static void refuse(const char *name, int status, const char *words)
{
    ls_source s = {.rows = 77};

    FAILS(ls_source_images(&s, at(name), NULL), status, words);
    ck_assert_int_eq(s.rows, 77);
}

static void check_shape(const ls_source *s, int64_t rows, int64_t h, int64_t w,
                        int64_t c)
{
    ck_assert_int_eq(s->rows, rows);
    ck_assert_int_eq(s->arrays[0].rank, 3);
    ck_assert_int_eq(s->arrays[0].shape[0], h);
    ck_assert_int_eq(s->arrays[0].shape[1], w);
    ck_assert_int_eq(s->arrays[0].shape[2], c);
    ck_assert_int_eq(s->arrays[0].dtype, LS_F32);
    ck_assert_int_eq(s->arrays[1].rank, 0);
    ck_assert_int_eq(s->arrays[1].dtype, LS_I32);
}

/* ------ What is read ------ */

/* CIFAR-10's planes become (H,W,C) in [0,1]; a folder's training set is all of
 * its files in order, its test set another, and a file stands alone. */
TEST(cifar)
{
    static const struct {
        const char *name;
        bool test;
        int64_t first, rows;
    } sets[] = {{"", false, 0, 5}, {"", true, 9, 1}, {"data_batch_2.bin",
                false, 3, 2}, {"test_batch.bin", true, 9, 1}};
    bytes f;

    make_cifar(&f, 0, 3);
    put_file("data_batch_1.bin", &f);
    make_cifar(&f, 3, 2);
    put_file("data_batch_2.bin", &f);
    make_cifar(&f, 9, 1);
    put_file("test_batch.bin", &f);
    for (int k = 0; k < 4; k++) {
        ls_source s = open_images(sets[k].name, sets[k].test);

        check_shape(&s, sets[k].rows, 32, 32, 3);
        ck_assert_int_eq(s.classes, 10);
        read_all(&s, true);
        for (int64_t i = 0; i < sets[k].rows; i++) {
            int64_t r = sets[k].first + sets[k].rows - 1 - i;

            ck_assert_int_eq(labels[i], label(r));
            for (int64_t p = 0; p < 1024; p++)
                for (int64_t c = 0; c < 3; c++)
                    HOLDS(image[(i * 1024 + p) * 3 + c] ==
                              (float)pixel(r * 3072 + c * 1024 + p) / 255.0f,
                          "image %lld, pixel %lld, channel %lld", (long long)i,
                          (long long)p, (long long)c);
        }
        ls_source_close(&s);
        ck_assert_ptr_null(s.user);
    }
}

static void put_idx(const char *images, const char *label_file, bool gzip,
                    int rank, const int64_t *shape)
{
    bytes f;

    make_idx(&f, rank, shape);
    if (gzip)
        compress_file(&f);
    put_file(images, &f);
    make_idx(&f, 1, shape);
    if (gzip)
        compress_file(&f);
    put_file(label_file, &f);
}

/* IDX, plain and gzip'd, as a file and by MNIST's names in a folder; the
 * labels are found beside it, and the classes counted. */
TEST(idx)
{
    static const struct {
        const char *images, *labels, *open;
        bool gzip, test;
        int rank;
        int64_t shape[4];
    } sets[] = {
        {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "", 0, 0, 3,
         {7, 5, 3, 1}},
        {"t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz", "", 1, 1, 3,
         {5, 28, 28, 1}},
        {"train-images.idx3-ubyte", "train-labels.idx1-ubyte", "", 0, 0, 3,
         {2, 3, 3, 1}},
        {"some-images-idx4-ubyte.gz", "some-labels-idx1-ubyte.gz",
         "some-images-idx4-ubyte.gz", 1, 0, 4, {4, 5, 2, 3}},
        {"x.idx", "y.idx", "x.idx", 0, 0, 3, {1, 1, 1, 1}},
    };

    for (int k = 0; k < 5; k++) {
        const int64_t *shape = sets[k].shape;
        int64_t n;
        ls_source s;

        put_idx(sets[k].images, sets[k].labels, sets[k].gzip, sets[k].rank,
                shape);
        s = open_images(sets[k].open, sets[k].test);
        check_shape(&s, shape[0], shape[1], shape[2], shape[3]);
        n = read_all(&s, false) * shape[1] * shape[2] * shape[3];
        for (int64_t i = 0; i < n; i++)
            HOLDS(image[i] == (float)pixel(i) / 255.0f, "number %lld",
                  (long long)i);
        for (int64_t i = 0; i < shape[0]; i++) {
            ck_assert_int_eq(labels[i], label(i));
            ck_assert_int_gt(s.classes, labels[i]);
        }
        ls_source_close(&s);
        sweep();
    }
}

/* An element of each type in both byte orders; u1 is scaled, others are not. */
TEST(npy)
{
    static const char *const types[] = {"|u1", "<f4", ">f4", "<f8", ">f8",
                                        "<i4", ">i4", "<i8", ">i8"};

    for (int k = 0; k < 9; k++)
        for (int fortran = 0; fortran < 2; fortran++) {
            bytes f;
            ls_source s;
            int size = types[k][2] - '0';

            start_npy(&f, types[k], fortran, "(4, 2, 3)");
            for (int i = 0; i < 24; i++) {
                uint8_t raw[8] = {0};
                int j = fortran ? i % 4 * 6 + i / 4 % 2 * 3 + i / 8 : i;

                if (types[k][1] == 'f' && size == 4)
                    memcpy(raw, &(float){(float)pixel(j)}, 4);
                else if (types[k][1] == 'f')
                    memcpy(raw, &(double){pixel(j)}, 8);
                else
                    raw[0] = pixel(j);
                for (int b = 0; b < size; b++)
                    add_byte(&f, raw[types[k][0] == '>' ? size - 1 - b : b]);
            }
            put_file("train-images.npy", &f);
            start_npy(&f, types[k], false, "(4,)");
            if (k == 0) {
                add(&f, "\3\1\4\1", 4);
                put_file("train-labels.npy", &f);
            }
            s = open_images("", false);
            check_shape(&s, 4, 2, 3, 1);
            ck_assert_int_eq(s.classes, 5);
            read_all(&s, false);
            for (int i = 0; i < 24; i++)
                ck_assert(image[i] == (float)pixel(i) / (k ? 1 : 255.0f));
            ck_assert_int_eq(labels[2], 4);
            ls_source_close(&s);
        }
}

/* (x - mean) / std in floats, for each channel or all, of bytes and floats. */
TEST(normalised)
{
    const double mean[] = {0.5, 0.25, -0.125}, std[] = {0.3, 1, 7};
    bytes f;

    put_idx("a-images-idx4", "a-labels-idx1", false, 4,
            (int64_t[]){2, 2, 2, 3});
    start_npy(&f, "<f4", false, "(2, 2, 2, 3)");
    for (int i = 0; i < 24; i++)
        add(&f, &(float){(float)i / 8}, 4);
    put_file("b-images.npy", &f);
    for (int k = 0; k < 4; k++) {
        ls_images_options o = {.size = sizeof o,
                               .channels = k & 1 ? 3 : 1, .mean = mean,
                               .std = std, .labels = at("a-labels-idx1"),
                               .image = "pixels", .label = "class"};
        ls_source s;

        OK(ls_source_images(&s, at(k & 2 ? "b-images.npy" : "a-images-idx4"),
                            &o));
        ck_assert_str_eq(s.arrays[0].name, "pixels");
        ck_assert_str_eq(s.arrays[1].name, "class");
        read_all(&s, false);
        for (int i = 0; i < 24; i++) {
            float x = k & 2 ? (float)i / 8 : (float)pixel(i) / 255.0f;
            int c = k & 1 ? i % 3 : 0;

            ck_assert(image[i] == (x - (float)mean[c]) / (float)std[c]);
        }
        ls_source_close(&s);
    }
}

/* A folder's sets are found by a variation of the known names, unless there are
 * two; plain and gzip'd is one. */
TEST(variations)
{
    ls_images_options test = {.size = sizeof test, .test = true};
    ls_source s;

    put_idx("train3-images-idx3-ubyte", "train3-labels-idx1-ubyte", false, 3,
            (int64_t[]){3, 2, 2});
    put_idx("train3-images-idx3-ubyte.gz", "train3-labels-idx1-ubyte.gz", true,
            3, (int64_t[]){3, 2, 2});
    OK(ls_source_images(&s, folder, NULL));
    ck_assert_int_eq(s.rows, 3);
    ls_source_close(&s);
    FAILS(ls_source_images(&s, folder, &test), LS_ENOTFOUND, "no test set");
    put_idx("t10k-images.gz", "t10k-labels.gz", true, 3,
            (int64_t[]){5, 2, 2});
    OK(ls_source_images(&s, folder, &test));
    ck_assert_int_eq(s.rows, 5);
    ls_source_close(&s);
    put("train4-images-idx3-ubyte", "", 0);
    refuse("", LS_EINVAL, "holds several training sets, train");
}

/* Proves that images can be had alone where there are no labels for them. */
TEST(unlabelled)
{
    ls_images_options o = ls_images_defaults();
    int64_t last = 2;
    void *out[] = {image};
    ls_source s;
    bytes f;

    put_idx("pic", "elsewhere", false, 3, (int64_t[]){3, 2, 2});
    refuse("pic", LS_ENOTFOUND, "where are its labels?");
    o.unlabelled = true;
    OK(ls_source_images(&s, at("pic"), &o));
    ck_assert(s.n_arrays == 1 && s.rows == 3 && s.classes == 0);
    ck_assert_int_eq(s.fill(s.user, 1, &last, out), 0);
    for (int64_t i = 0; i < 4; i++)
        ck_assert(image[i] == (float)pixel(8 + i) / 255.0f);
    ls_source_close(&s);
    make_cifar(&f, 0, 1);
    put_file("data_batch_1.bin", &f);
    OK(ls_source_images(&s, at("data_batch_1.bin"), &o));
    ck_assert(s.n_arrays == 1 && s.rows == 1);
    ls_source_close(&s);
}

/* CIFAR-100 has a coarse label before each fine one, which counts unless 20
 * classes are asked for; files of CIFAR-10, too, are no set. */
TEST(cifar_100)
{
    enum { RECORD = 2 + 3072 };
    ls_images_options o = ls_images_defaults();
    ls_source s;
    bytes ten, all = {.n = 0};

    make_cifar(&ten, 0, 2);
    for (int r = 0; r < 2; r++) {
        add_byte(&all, (uint8_t)(7 + r));
        add_byte(&all, (uint8_t)(90 + r));
        for (int64_t i = 0; i < 3072; i++)
            add_byte(&all, pixel(r * 3072 + i));
    }
    put_file("train.bin", &all);
    s = open_images("", false);
    check_shape(&s, 2, 32, 32, 3);
    ck_assert_int_eq(s.classes, 100);
    read_all(&s, true);
    for (int64_t i = 0; i < 2; i++) {
        ck_assert_int_eq(labels[i], 91 - i);
        ck_assert(image[i * 3072 + 1] ==
                  (float)pixel((1 - i) * 3072 + 1024) / 255);
    }
    ls_source_close(&s);
    o.n_classes = 20;
    OK(ls_source_images(&s, at("train.bin"), &o));
    ck_assert_int_eq(s.classes, 20);
    ck_assert(ls_images_label(&s, 1, &labels[0]));
    ck_assert_int_eq(labels[0], 8);
    ls_source_close(&s);
    put_file("data_batch_1.bin", &ten);
    put_file("data_batch_2.bin", &all);
    refuse("", LS_EFORMAT, "data_batch_2.bin: records of CIFAR-100, and other");
    all.b[RECORD + 1] = 100;
    put_file("train.bin", &all);
    refuse("train.bin", LS_EFORMAT, "the label at byte 3075 is 100; CIFAR-100");
    all.n--;
    put_file("train.bin", &all);
    refuse("train.bin", LS_EFORMAT, "CIFAR-10, of 3073, or CIFAR-100, of 3074");
}

/* ------ What is refused ------ */

/* Each refusal has its status and names what is wrong. */
TEST(refused)
{
    ls_images_options o = {.size = sizeof o,
                           .channels = 2, .mean = (double[]){0, 0},
                           .std = (double[]){1, 0}};
    ls_source s;
    bytes f;

    refuse("none", LS_EIO, "No such file");
    refuse("", LS_ENOTFOUND, "holds no training set");
    put("pic", "hello, world", 12);
    refuse("pic", LS_ENOTFOUND, "where are its labels?");
    put("images", "hello, world", 12);
    refuse("images", LS_EFORMAT, "is a text, and not images as .npy or IDX");
    put("images", "", 0);
    refuse("images", LS_EFORMAT, "begins neither");
    put("data_batch_1.bin", "", 0);
    refuse("data_batch_1.bin", LS_EFORMAT, "0 bytes are no whole number");
    make_cifar(&f, 0, 2);
    f.b[3073] = 10;
    put_file("data_batch_1.bin", &f);
    refuse("", LS_EFORMAT, "the label at byte 3073 is 10");
    put_idx("images", "labels", false, 3, (int64_t[]){3, 2, 2});
    put_idx("unused", "labels", false, 3, (int64_t[]){4, 2, 2});
    refuse("images", LS_ESHAPE, "labels (4) for 3 images");
    put_idx("images", "labels", false, 2, (int64_t[]){3, 2});
    refuse("images", LS_ESHAPE, "not (3,2)");
    put_idx("images", "labels", false, 3, (int64_t[]){0, 2, 2});
    refuse("images", LS_ESHAPE, "no images");
    put_idx("images", "labels", false, 3, (int64_t[]){3, 2, 2});
    start_npy(&f, "<i4", false, "(3,)");
    add(&f, "\1\0\0\0\xff\xff\xff\xff\1\0\0\0", 12);
    put_file("labels", &f);
    refuse("images", LS_ERANGE, "the label of row 1 is -1");
    put_idx("images", "labels", false, 4, (int64_t[]){3, 2, 2, 2});
    FAILS(ls_source_images(&s, at("images"), &o), LS_EINVAL, "channel 1");
    o.channels = 3;
    FAILS(ls_source_images(&s, at("images"), &o), LS_ESHAPE,
          "3 channels, the images 2");
    o.channels = 2;
    o.mean = NULL;
    FAILS(ls_source_images(&s, at("images"), &o), LS_EINVAL, "mean is NULL");
    make_cifar(&f, 0, 2);
    put_file("a.bin", &f);
    o = (ls_images_options){.size = sizeof(ls_images_options),
                            .labels = at("labels")};
    FAILS(ls_source_images(&s, at("a.bin"), &o), LS_EINVAL, "one too many");
    mkfifo(at("images-pipe"), 0600);
    refuse("images-pipe", LS_EIO, "not a regular file");
}

/* Headers that say more, or less, than there is; the largest say exabytes. */
TEST(lies)
{
    static const struct {
        int64_t shape[4];
        int rank;
        const char *words, *zipped; /* NULL: the same */
    } lie[] = {
        {{3, 4, 4}, 3, "(3,4,4) bytes by the header, 36 follow", NULL},
        {{3, 3, 3}, 3, "(3,3,3) bytes by the header, 36 follow",
         "holds more than its header"},
        {{UINT32_MAX, 3, 4}, 3, "36 follow", "bytes of gzip hold at most"},
        {{UINT32_MAX, UINT32_MAX, UINT32_MAX}, 3, "more than memory can hold",
         NULL},
        {{65536, 65536, 65536, 32767}, 4, "follow", "of gzip hold at most"},
        {{20, 50, 50}, 3, "36 follow", NULL}, /* gzip could hold as much */
        {{1, 1, 1, 1}, 5, "5 axes", NULL},
        {{1}, 0, "0 axes", NULL},
    };
    struct rlimit limit = {(rlim_t)1 << 32, (rlim_t)1 << 32};

    if (!UNDER_SANITIZER)
        ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    for (int k = 0; k < 16; k++) {
        int i = k / 2;
        bytes f = {0};

        add(&f, (uint8_t[]){0, 0, 8, (uint8_t)lie[i].rank}, 4);
        for (int a = 0; a < lie[i].rank && a < 4; a++)
            for (int b = 24; b >= 0; b -= 8)
                add_byte(&f, (int)(lie[i].shape[a] >> b & 255));
        for (int j = 0; j < 36; j++)
            add_byte(&f, pixel(j));
        if (k % 2)
            compress_file(&f);
        put_file("images", &f);
        refuse("images", LS_EFORMAT,
               k % 2 && lie[i].zipped ? lie[i].zipped : lie[i].words);
    }
    put("images", "\0\0\15\1\0\0\0\1\0\0\0\0", 12);
    refuse("images", LS_ENOTSUP, "IDX type 13");
}

/* ------ Hostile files ------ */

static void make_plain(bytes *f)
{
    make_idx(f, 3, (int64_t[]){12, 19, 21});
}

static void make_gzip(bytes *f)
{
    make_plain(f);
    compress_file(f);
}

static void make_records(bytes *f)
{
    make_cifar(f, 0, 3);
}

static void make_array(bytes *f)
{
    start_npy(f, "<i8", true, "(12, 8, 7, 2)");
    for (int64_t i = 0; i < 12 * 8 * 7 * 2; i++)
        add(f, &(int64_t){i * 1001}, 8);
}

/* These two stay in their files. */
static void make_bytes(bytes *f)
{
    start_npy(f, "|u1", false, "(12, 8, 7, 2)");
    for (int i = 0; i < 12 * 8 * 7 * 2; i++)
        add_byte(f, i);
}

static void make_floats(bytes *f)
{
    start_npy(f, "<f4", false, "(12, 8, 7, 2)");
    for (int i = 0; i < 12 * 8 * 7 * 2; i++)
        add(f, &(float){(float)i}, 4);
}

static const struct {
    const char *name;
    void (*make)(bytes *f);
    bool header; /* what a cut file says is known to be wrong */
} formats[] = {
    {"images-plain", make_plain, true},
    {"images.gz", make_gzip, true},
    {"data.bin", make_records, false},
    {"images.npy", make_array, true},
    {"bytes-images.npy", make_bytes, true},
    {"floats-images.npy", make_floats, true},
};
enum { FORMATS = sizeof formats / sizeof *formats };

/* Load the file and read all of it; true when it was not refused. */
static bool survive(const char *name)
{
    static float room[MOST];
    ls_images_options o = {.size = sizeof o,
                           .labels = strstr(name, ".bin") ? NULL
                                                          : at("labels")};
    void *out[] = {room, labels};
    int64_t size;
    ls_source s;
    int status = ls_source_images(&s, at(name), &o);

    if (status < 0) {
        ck_assert_msg(strstr(ls_errmsg(), folder) != NULL, "%s", ls_errmsg());
        return false;
    }
    size = s.arrays[0].shape[0] * s.arrays[0].shape[1] * s.arrays[0].shape[2];
    ck_assert_int_le(size, MOST);
    for (int64_t i = 0; i < s.rows; i++) {
        ck_assert_int_eq(s.fill(s.user, 1, &i, out), 0);
        ck_assert(labels[0] >= 0 && labels[0] < s.classes);
    }
    ls_source_close(&s);
    return true;
}

static void put_labels(void)
{
    bytes f;

    make_idx(&f, 1, (int64_t[]){12});
    put_file("labels", &f);
}

/* A file cut at every 512th byte, and at the bytes beside them, is refused;
 * CIFAR-10 cut between records is a shorter one. */
LOOP_TEST(truncated, 0, FORMATS)
{
    bytes f;

    put_labels();
    formats[_i].make(&f);
    put_file(formats[_i].name, &f);
    ck_assert_msg(survive(formats[_i].name), "%s", ls_errmsg());
    for (size_t cut = 0; cut < f.n; cut += 512)
        for (size_t n = cut ? cut - 1 : 0; n <= cut + 1 && n < f.n; n++) {
            put(formats[_i].name, f.b, n);
            ck_assert_int_eq(survive(formats[_i].name),
                             !formats[_i].header && n && n % 3073 == 0);
        }
    add_byte(&f, 0);
    put_file(formats[_i].name, &f);
    ck_assert(!survive(formats[_i].name));
}

/* A large file, which stays on disk, becomes shorter while it is open: a row is
 * had, or the source fails and says at which byte.  (A mapped file would end
 * the program.)  A small one is in memory by then. */
LOOP_TEST(shrinks, 0, 3)
{
    enum { LARGE = 22000, ROW = 3072 };
    static const struct {
        const char *name, *start;
        int64_t row; /* bytes */
    } kind[] = {
        {"images-idx4", "\0\0\10\4\0\0\125\360\0\0\0\40\0\0\0\40\0\0\0\3", ROW},
        {"data.bin", "", ROW + 1},
        {"images.npy", "(22000, 32, 32, 3)", ROW},
    };
    char beside[256];
    ls_images_options o = {.size = sizeof o, .labels = _i == 1 ? NULL : beside};
    void *out[] = {image, labels};
    int64_t last = LARGE - 1, first = 0, half = LARGE / 2;
    ls_source s;
    bytes f = {0};

    snprintf(beside, sizeof beside, "%s", at("labels"));
    add(&f, "\0\0\10\1\0\0\125\360", 8);
    put_file("labels", &f);
    ck_assert_int_eq(truncate(at("labels"), 8 + LARGE), 0);
    f.n = 0;
    if (_i == 2)
        start_npy(&f, "|u1", false, kind[2].start);
    else
        add(&f, kind[_i].start, _i ? 0 : 20);
    put_file(kind[_i].name, &f);
    ck_assert_int_eq(truncate(at(kind[_i].name),
                              (off_t)f.n + LARGE * kind[_i].row), 0);
    OK(ls_source_images(&s, at(kind[_i].name), &o));
    ck_assert_int_eq(s.fill(s.user, 1, &last, out), 0);
    ck_assert_int_eq(truncate(at(kind[_i].name),
                              (off_t)f.n + half * kind[_i].row - 5), 0);
    ck_assert_int_eq(s.fill(s.user, 1, &first, out), 0);
    for (int64_t row = half - 1; row <= half; row++) {
        ck_assert_int_eq(s.fill(s.user, 1, &row, out), LS_EIO);
        ck_assert_msg(strstr(ls_errmsg(), kind[_i].name) &&
                          strstr(ls_errmsg(), "became shorter"),
                      "%s", ls_errmsg());
    }
    ls_source_close(&s);
}

/* Small files are in memory once they are open. */
LOOP_TEST(kept, 0, FORMATS)
{
    static float room[MOST];
    ls_images_options o = {.size = sizeof o,
                           .labels = _i == 2 ? NULL : at("labels")};
    void *out[] = {room, labels};
    ls_source s;
    bytes f;

    put_labels();
    formats[_i].make(&f);
    put_file(formats[_i].name, &f);
    OK(ls_source_images(&s, at(formats[_i].name), &o));
    ck_assert_int_eq(truncate(at(formats[_i].name), 0), 0);
    for (int64_t i = 0; i < s.rows; i++)
        ck_assert_int_eq(s.fill(s.user, 1, &i, out), 0);
    ls_source_close(&s);
}

enum { FLIPS = UNDER_SANITIZER ? 2500 : 10000 };

/* Ten thousand files with one or two flipped bits. */
LOOP_TEST(flipped, 0, FORMATS)
{
    static bytes good, bad;
    uint64_t random = 1;
    int loaded = 0;

    put_labels();
    formats[_i].make(&good);
    for (int i = 0; i < FLIPS; i++) {
        /* Half of the flips where the header is. */
        size_t n = i % 4 < 2 || good.n < 160 ? good.n : 160;

        bad = good;
        for (int k = 0; k <= i % 2; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            bad.b[(random >> 33) % n] ^= (uint8_t)(1 << (random >> 30 & 7));
        }
        put_file(formats[_i].name, &bad);
        loaded += survive(formats[_i].name);
    }
    ck_assert_int_lt(loaded, FLIPS);
    if (!strstr(formats[_i].name, ".gz")) /* it has a checksum */
        ck_assert_int_gt(loaded, FLIPS / 10);
}

/* ------ */

MAIN(.setup = setup, .teardown = teardown)
