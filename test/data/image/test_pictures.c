/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures in files of their own: what each kind of PNG and JPEG is read as,
 * how a picture becomes another size, to the byte, which files of folders are
 * rows of which class, and that each broken file is refused by its name.  All
 * files are made here.  Meant to be run under the sanitizers as well. */
#define _GNU_SOURCE
#include "calls.h"
#include "folder.h"
#include "models.h"
#include "image/fit.h"
#include "write_pictures.h"

#include <lockstep/images.h>

#include <sys/stat.h>

/* ------ Sizes and channels: the formulas of the header once more ------ */

enum { H = 11, W = 13 };

static uint8_t value(int64_t i)
{
    return (uint8_t)(i * 37 + i * i / 11);
}

static int64_t common(int64_t i, int64_t n, int64_t j, int64_t m)
{
    int64_t from = i * m > j * n ? i * m : j * n;
    int64_t to = (i + 1) * m < (j + 1) * n ? (i + 1) * m : (j + 1) * n;

    return to > from ? to - from : 0;
}

/* Channel c of a pixel of `has` channels, where `wants` are wanted. */
static int channel(const uint8_t *in, int has, int c, int wants)
{
    int alpha = has == 2 || has == 4 ? in[has - 1] : 255, v[3];

    for (int k = 0; k < 3; k++) {
        v[k] = in[has < 3 ? 0 : k];
        if (wants < 4)
            v[k] = (v[k] * alpha + 255 * (255 - alpha) + 127) / 255;
    }
    if (c == 3)
        return alpha;
    if (wants > 1)
        return v[c];
    return has < 3 ? v[0] : (19595 * v[0] + 38470 * v[1] + 7471 * v[2] + 32768)
                                >> 16;
}

/* Pixel (y, x), channel c of a cut of ny x nx pixels from (y0, x0) on that
 * becomes my x mx. */
static uint8_t mean(const ls__picture *p, const int64_t cut[6], int64_t y,
                    int64_t x, int c, int wants)
{
    int64_t s = 0, d = cut[2] * cut[3];

    for (int64_t i = 0; i < cut[2]; i++)
        for (int64_t k = 0; k < cut[3]; k++) {
            const uint8_t *in = p->pixels + ((cut[0] + i) * p->width + cut[1] +
                                             k) * p->channels;

            s += common(i, cut[2], y, cut[4]) * common(k, cut[3], x, cut[5]) *
                 channel(in, p->channels, c, wants);
        }
    return (uint8_t)((2 * s + d) / (2 * d));
}

static int64_t some(int64_t n)
{
    return n > 1 ? n : 1;
}

/* The whole picture. */
static void reference(const ls__picture *p, ls_image_fit fit,
                      const int64_t shape[3], uint8_t *out)
{
    int64_t h = p->height, w = p->width, cut[6] = {0, 0, h, w, shape[0],
                                                   shape[1]};
    bool wide = w * shape[0] > h * shape[1];
    int64_t top, left;

    if (fit == LS_IMAGE_CROP && wide)
        cut[3] = some(h * shape[1] / shape[0]);
    else if (fit == LS_IMAGE_CROP)
        cut[2] = some(w * shape[0] / shape[1]);
    cut[0] = (h - cut[2]) / 2;
    cut[1] = (w - cut[3]) / 2;
    if (fit == LS_IMAGE_FIT && wide)
        cut[4] = some(h * shape[1] / w);
    else if (fit == LS_IMAGE_FIT)
        cut[5] = some(w * shape[0] / h);
    top = (shape[0] - cut[4]) / 2;
    left = (shape[1] - cut[5]) / 2;
    memset(out, 0, (size_t)(shape[0] * shape[1] * shape[2]));
    for (int64_t y = 0; y < cut[4]; y++)
        for (int64_t x = 0; x < cut[5]; x++)
            for (int c = 0; c < shape[2]; c++)
                out[((top + y) * shape[1] + left + x) * shape[2] + c] =
                    mean(p, cut, y, x, c, (int)shape[2]);
}

TEST(sizes)
{
    static const int64_t shapes[][2] = {{11, 13}, {5, 5}, {30, 7}, {7, 40},
                                        {1, 1}, {1, 9}, {64, 64}};
    static const int wants[] = {1, 3, 4};
    static uint8_t pixels[H * W * 4], is[64 * 64 * 4], should[64 * 64 * 4];

    for (int64_t i = 0; i < H * W * 4; i++)
        pixels[i] = value(i);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int k = 0; k < 3 * 3 * 4; k++) {
            int64_t shape[3] = {shapes[s][0], shapes[s][1], wants[k % 3]};
            ls_image_fit fit = (ls_image_fit)(k / 3 % 3);
            ls__picture p = {H, W, 1 + k / 9, pixels};
            size_t n = (size_t)(shape[0] * shape[1] * shape[2]);

            OK(ls__picture_fit(&p, fit, shape, is));
            reference(&p, fit, shape, should);
            HOLDS(memcmp(is, should, n) == 0, "%d channels become (%d,%d,%d), "
                  "fit %d", p.channels, (int)shape[0], (int)shape[1],
                  (int)shape[2], (int)fit);
        }
}

/* ------ Orientations ------ */

/* Where pixel (y, x) of the result of H x W is in the picture. */
static int64_t place(int orientation, int64_t y, int64_t x)
{
    switch (orientation) {
    case 2: return y * W + W - 1 - x;
    case 3: return (H - 1 - y) * W + W - 1 - x;
    case 4: return (H - 1 - y) * W + x;
    case 5: return x * W + y;
    case 6: return (H - 1 - x) * W + y;
    case 7: return (H - 1 - x) * W + W - 1 - y;
    case 8: return x * W + W - 1 - y;
    default: return y * W + x;
    }
}

TEST(orientations)
{
    for (int o = 1; o <= 8; o++) {
        ls__picture p = {H, W, 3, malloc(H * W * 3)};

        for (int64_t i = 0; i < H * W * 3; i++)
            p.pixels[i] = value(i);
        OK(ls__picture_turn(&p, o));
        ck_assert_int_eq(p.height, o < 5 ? H : W);
        ck_assert_int_eq(p.width, o < 5 ? W : H);
        for (int64_t i = 0; i < H * W * 3; i++)
            HOLDS(p.pixels[i] == value(3 * place(o, i / 3 / p.width,
                                                 i / 3 % p.width) + i % 3),
                  "orientation %d, byte %lld", o, (long long)i);
        ls__picture_free(&p);
    }
}

/* Any bytes are no reason to read beyond them. */
TEST(exif)
{
    static const uint8_t big[] = "Exif\0\0MM\0*\0\0\0\10\0\1\1\22\0\3\0\0\0\1"
                                 "\0\6\0\0";
    static const uint8_t little[] = "Exif\0\0II*\0\10\0\0\0\1\0\22\1\3\0\1\0\0"
                                    "\0\10\0\0\0";
    size_t n = sizeof big - 1;

    ck_assert_int_eq(ls__picture_orientation(big, n), 6);
    ck_assert_int_eq(ls__picture_orientation(little, sizeof little - 1), 8);
    for (size_t i = 0; i < n; i++) {
        uint8_t *cut = malloc(i + 1);

        memcpy(cut, big, i);
        ck_assert_int_eq(ls__picture_orientation(cut, i), 1);
        free(cut);
    }
    for (size_t i = 0; i < n * 8; i++) {
        uint8_t *bad = malloc(n);
        int is;

        memcpy(bad, big, n);
        bad[i / 8] ^= (uint8_t)(1 << i % 8);
        is = ls__picture_orientation(bad, n);
        ck_assert(is >= 1 && is <= 8);
        free(bad);
    }
}

#ifdef WITH_PICTURES

/* ------ PNG ------ */

/* What a sample of so many bits is as a byte. */
static int byte_of(int v, int bits)
{
    return bits == 16 ? (v * 255 + 32895) >> 16 : v * (255 / ((1 << bits) - 1));
}

static int sample(const uint8_t *row, int64_t i, int bits)
{
    if (bits == 16)
        return row[2 * i] << 8 | row[2 * i + 1];
    return row[i * bits / 8] >> (8 - bits - i * bits % 8) & ((1 << bits) - 1);
}

static int palette(int v, int c)
{
    return (c == 0 ? 3 * v : c == 1 ? 255 - v : 7 * v) & 255;
}

/* Channel c of pixel x of a row. */
static int wanted(const png_form *f, const uint8_t *row, int channels,
                  int64_t x, int c)
{
    int v;

    if (!f->colors)
        return byte_of(sample(row, x * channels + c, f->bits), f->bits);
    v = sample(row, x, f->bits);
    if (c == 3)
        return v < f->clear ? 40 * v : 255;
    return palette(v, c);
}

static const struct {
    png_form form;
    int channels;
} pngs[] = {
    {{PNG_COLOR_TYPE_GRAY, 1, false, 0, 0}, 1},
    {{PNG_COLOR_TYPE_GRAY, 2, true, 0, 0}, 1},
    {{PNG_COLOR_TYPE_GRAY, 4, false, 0, 0}, 1},
    {{PNG_COLOR_TYPE_GRAY, 8, true, 0, 0}, 1},
    {{PNG_COLOR_TYPE_GRAY, 16, false, 0, 0}, 1},
    {{PNG_COLOR_TYPE_GRAY_ALPHA, 8, false, 0, 0}, 2},
    {{PNG_COLOR_TYPE_GRAY_ALPHA, 16, true, 0, 0}, 2},
    {{PNG_COLOR_TYPE_RGB, 8, false, 0, 0}, 3},
    {{PNG_COLOR_TYPE_RGB, 16, true, 0, 0}, 3},
    {{PNG_COLOR_TYPE_RGB_ALPHA, 8, true, 0, 0}, 4},
    {{PNG_COLOR_TYPE_RGB_ALPHA, 16, false, 0, 0}, 4},
    {{PNG_COLOR_TYPE_PALETTE, 8, false, 256, 0}, 3},
    {{PNG_COLOR_TYPE_PALETTE, 4, true, 16, 0}, 3},
    {{PNG_COLOR_TYPE_PALETTE, 2, false, 4, 3}, 4},
};
enum { PNGS = sizeof pngs / sizeof *pngs };

LOOP_TEST(png, 0, PNGS)
{
    const png_form *f = &pngs[_i].form;
    int channels = pngs[_i].channels;
    size_t stride = f->colors ? (size_t)(W * f->bits + 7) / 8
                              : (size_t)(W * channels * f->bits + 7) / 8;
    static uint8_t rows[H * W * 8];
    ls__picture p, q;

    for (size_t i = 0; i < sizeof rows; i++)
        rows[i] = value((int64_t)i);
    write_png(in_folder("a.png"), H, W, f, rows);
    OK(ls__picture_read(&p, in_folder("a.png")));
    OK(ls__picture_look(&q, in_folder("a.png")));
    ck_assert_int_eq(p.height, H);
    ck_assert_int_eq(p.width, W);
    ck_assert_int_eq(p.channels, channels);
    ck_assert(q.height == H && q.width == W && q.channels == channels);
    ck_assert_ptr_null(q.pixels);
    for (int64_t i = 0; i < H * W * channels; i++) {
        int64_t y = i / channels / W, x = i / channels % W;
        int c = (int)(i % channels);

        HOLDS(p.pixels[i] == wanted(f, rows + (size_t)y * stride, channels, x,
                                    c),
              "form %d: (%lld,%lld), channel %d: %d", _i, (long long)y,
              (long long)x, c, p.pixels[i]);
    }
    ls__picture_free(&p);
}

/* ------ JPEG ------ */

/* A ramp, which a transform hardly changes. */
static uint8_t ramp(int64_t y, int64_t x, int c)
{
    return (uint8_t)(40 + 5 * y + 7 * x + 20 * c);
}

static void make_ramp(uint8_t *out, int channels)
{
    for (int64_t i = 0; i < H * W * channels; i++)
        out[i] = ramp(i / channels / W, i / channels % W, (int)(i % channels));
}

LOOP_TEST(jpeg, 0, 8)
{
    static uint8_t rows[H * W * 4];
    jpeg_form f = {.quality = 100, .whole = true, .channels = _i % 4 + 1,
                   .progressive = _i > 3};
    ls__picture p;

    if (f.channels == 2)
        return;
    make_ramp(rows, f.channels);
    write_jpeg(in_folder("a.jpg"), H, W, &f, rows);
    OK(ls__picture_read(&p, in_folder("a.jpg")));
    ck_assert_int_eq(p.channels, f.channels == 1 ? 1 : 3);
    for (int64_t i = 0; i < H * W * p.channels; i++) {
        int64_t y = i / p.channels / W, x = i / p.channels % W;
        int want = ramp(y, x, (int)(i % p.channels)), black = ramp(y, x, 3);

        if (f.channels == 4) /* libjpeg writes Adobe's marker */
            want = (want * black + 127) / 255;
        HOLDS(abs(p.pixels[i] - want) < 6, "channel %d of %d: %d, not %d",
              (int)(i % p.channels), f.channels, p.pixels[i], want);
    }
    ls__picture_free(&p);
}

/* A file that says how it was held is read as one that does not, turned. */
TEST(turned)
{
    static uint8_t rows[H * W * 3];
    jpeg_form f = {.quality = 90, .channels = 3};
    ls__picture p, q, look;

    make_ramp(rows, 3);
    write_jpeg(in_folder("a.jpg"), H, W, &f, rows);
    for (f.orientation = 1; f.orientation <= 8; f.orientation++) {
        write_jpeg(in_folder("b.jpg"), H, W, &f, rows);
        OK(ls__picture_read(&p, in_folder("a.jpg")));
        OK(ls__picture_turn(&p, f.orientation));
        OK(ls__picture_read(&q, in_folder("b.jpg")));
        OK(ls__picture_look(&look, in_folder("b.jpg")));
        ck_assert(p.height == q.height && p.width == q.width);
        ck_assert(p.height == look.height && p.width == look.width);
        ck_assert_mem_eq(p.pixels, q.pixels, H * W * 3);
        ls__picture_free(&p);
        ls__picture_free(&q);
    }
}

/* ------ What is refused ------ */

static void refuse(const char *name, int status, const char *words)
{
    ls__picture p;

    FAILS(ls__picture_read(&p, in_folder(name)), status, words);
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), name));
    ck_assert_ptr_null(p.pixels);
}

static size_t load(const char *name, uint8_t *bytes, size_t room)
{
    FILE *f = fopen(in_folder(name), "rb");
    size_t n = f ? fread(bytes, 1, room, f) : 0;

    ck_assert(n > 0 && n < room);
    fclose(f);
    return n;
}

/* Put the checksum of a chunk's name and n bytes of data behind them. */
static void seal_chunk(uint8_t *chunk, size_t n)
{
    uint32_t crc = 0xffffffff;

    for (size_t i = 0; i < n + 4; i++) {
        crc ^= chunk[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    for (int k = 0; k < 4; k++)
        chunk[n + 4 + (size_t)k] = (uint8_t)(~crc >> (24 - 8 * k));
}

/* A PNG that says how large it is, and ends where its pixels should begin. */
static void put_bomb(const char *name, const char *size)
{
    uint8_t b[41] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR........\10\2\0\0\0"
                    "....\0\0\0\1IDAT";

    memcpy(b + 16, size, 8);
    seal_chunk(b + 12, 13);
    put_file(in_folder(name), b, sizeof b);
}

/* A PNG whose chunk eXIf says how it was held is turned like a JPEG. */
TEST(turned_png)
{
    static uint8_t bytes[1 << 14];
    enum { HEAD = 33, CHUNK = 4 + 4 + 26 + 4 };
    uint8_t chunk[CHUNK] = "\0\0\0\x1a" "eXIfMM\0*\0\0\0\10\0\1\1\22\0\3\0"
                           "\0\0\1\0.\0\0\0\0\0\0";
    uint8_t pixels[2 * 3] = {10, 20, 30, 40, 50, 60};
    ls__picture p, q, look;
    FILE *f;
    size_t n;

    write_png(in_folder("a.png"), 2, 3,
              &(png_form){PNG_COLOR_TYPE_GRAY, 8, false, 0, 0}, pixels);
    n = load("a.png", bytes, sizeof bytes);
    for (int o = 1; o <= 8; o++) {
        chunk[8 + 19] = (uint8_t)o;
        seal_chunk(chunk + 4, 26);
        ck_assert_ptr_nonnull(f = fopen(in_folder("b.png"), "wb"));
        fwrite(bytes, 1, HEAD, f);
        fwrite(chunk, 1, CHUNK, f);
        fwrite(bytes + HEAD, 1, n - HEAD, f);
        fclose(f);
        OK(ls__picture_read(&p, in_folder("a.png")));
        OK(ls__picture_turn(&p, o));
        OK(ls__picture_read(&q, in_folder("b.png")));
        OK(ls__picture_look(&look, in_folder("b.png")));
        ck_assert(p.height == q.height && p.width == q.width);
        ck_assert(p.height == look.height && p.width == look.width);
        ck_assert_mem_eq(p.pixels, q.pixels, sizeof pixels);
        ls__picture_free(&p);
        ls__picture_free(&q);
    }
}

TEST(refused)
{
    static uint8_t rows[H * W * 3], bytes[1 << 14];
    size_t n;

    make_ramp(rows, 3);
    put_file(in_folder("empty.png"), "", 0);
    refuse("empty.png", LS_EFORMAT, "is empty");
    put_file(in_folder("text.jpg"), "<html></html>", 13);
    refuse("text.jpg", LS_EFORMAT, "is a page of the web, and not a PNG or");
    put_file(in_folder("w.png"), "RIFF\1\2\3\0WEBPVP8 ", 16);
    refuse("w.png", LS_EFORMAT, "is a WebP picture, and not a PNG or JPEG");
    refuse("none.png", LS_EIO, "No such file");
    put_bomb("wide.png", "\0\0\xff\xff\0\0\xff\xff");
    refuse("wide.png", LS_ENOTSUP, "65535x65535 is too large");
    put_bomb("wider.png", "\0\0\0\1\0\1\0\0");
    refuse("wider.png", LS_EFORMAT, "PNG");
    put_bomb("none.png", "\0\0\0\0\0\0\0\1");
    refuse("none.png", LS_EFORMAT, "PNG");
    write_jpeg(in_folder("b.jpg"), H, W,
               &(jpeg_form){.channels = 3, .quality = 90},
               rows);
    n = load("b.jpg", bytes, sizeof bytes);
    for (size_t i = 0; i + 9 < n; i++) /* the size in the frame's header */
        if (bytes[i] == 0xff && bytes[i + 1] == 0xc0)
            memset(bytes + i + 5, 0xf0, 4);
    put_file(in_folder("b.jpg"), bytes, n);
    refuse("b.jpg", LS_ENOTSUP, "is too large");
}

/* Each beginning of a file, and it with each byte changed: refused by name, or
 * a whole picture. */
static void damage(const char *name, const uint8_t *good, size_t n)
{
    static uint8_t bad[1 << 14];
    ls__picture p;

    for (size_t i = 0; i < n - 2; i++) { /* JPEG's end mark is not needed */
        put_file(in_folder(name), good, i);
        HOLDS(ls__picture_read(&p, in_folder(name)) < 0,
              "%zu of %zu bytes", i, n);
        ck_assert_ptr_nonnull(strstr(ls_errmsg(), name));
    }
    for (size_t i = 0; i < n; i++) {
        memcpy(bad, good, n);
        bad[i] ^= (uint8_t)(1 << i % 8);
        put_file(in_folder(name), bad, n);
        if (ls__picture_read(&p, in_folder(name)) == 0)
            ck_assert_int_gt(p.height * p.width, 0);
        else
            ck_assert_ptr_nonnull(strstr(ls_errmsg(), name));
        ls__picture_free(&p);
    }
}

LOOP_TEST(damaged, 0, 2)
{
    static uint8_t rows[H * W * 8], bytes[1 << 14];

    make_ramp(rows, 3);
    write_png(in_folder("a.png"), H, W, &pngs[8 + _i].form, rows);
    damage("a.png", bytes, load("a.png", bytes, sizeof bytes));
    write_jpeg(in_folder("a.jpg"), H, W,
               &(jpeg_form){.channels = 3, .quality = 70,
               .orientation = 6, .progressive = _i}, rows);
    damage("a.jpg", bytes, load("a.jpg", bytes, sizeof bytes));
}

/* ------ Folders ------ */

static void put_picture(const char *name, int side, int shade)
{
    uint8_t rows[64 * 64];

    memset(rows, shade, sizeof rows);
    write_png(in_folder(name), side, side,
              &(png_form){PNG_COLOR_TYPE_GRAY, 8, false,
              0, 0}, rows);
}

/* a: 10, 20; b: 30, 40, 50; one of each to test on. */
static void make_folders(const char *train)
{
    char name[64];

    for (int k = 0; k < 5; k++) {
        snprintf(name, sizeof name, "%s%s", train, k < 2 ? "a" : "b");
        mkdir(in_folder(name), 0777);
        snprintf(name, sizeof name, "%s%s/%d.png", train, k < 2 ? "a" : "b", k);
        put_picture(name, 8, 10 * (k + 1));
    }
}

static void make_sets(void)
{
    mkdir(in_folder("train"), 0777);
    mkdir(in_folder("test"), 0777);
    mkdir(in_folder("test/b"), 0777);
    make_folders("train/");
    put_picture("test/b/0.png", 8, 60);
}

static void check_rows(ls_source *s, int rows, const int *shade,
                       const int *label)
{
    int64_t index[8];
    float x[8 * 64];
    int32_t y[8] = {0};
    void *out[] = {x, y};

    ck_assert_int_eq(s->rows, rows);
    for (int i = 0; i < rows; i++)
        index[i] = rows - 1 - i;
    for (int again = 0; again < 2; again++) { /* decoded, and kept */
        ck_assert_int_eq(s->fill(s->user, rows, index, out), 0);
        for (int i = 0; i < rows; i++) {
            ck_assert(x[64 * i] == (float)shade[rows - 1 - i] / 255);
            ck_assert_int_eq(y[i], label[rows - 1 - i]);
        }
    }
}

TEST(folders)
{
    static const int shade[] = {10, 20, 30, 40, 50}, label[] = {0, 0, 1, 1, 1};
    static const char *const both[] = {"a", "b"}, *const one[] = {"a"};
    ls_images_options o = ls_images_defaults();
    ls_source s, t;
    int32_t last;

    make_sets();
    OK(ls_source_images(&s, in_folder(""), NULL));
    ck_assert_int_eq(s.classes, 2);
    ck_assert_int_eq(s.arrays[0].shape[0], 8);
    ck_assert_int_eq(s.arrays[0].shape[2], 1);
    ck_assert_str_eq(ls_images_class(&s, 0), "a");
    ck_assert_str_eq(ls_images_class(&s, 1), "b");
    ck_assert_ptr_null(ls_images_class(&s, 2));
    ck_assert_ptr_nonnull(strstr(ls_images_file(&s, 2), "train/b/2.png"));
    ck_assert_ptr_null(ls_images_file(&s, 5));
    check_rows(&s, 5, shade, label);
    ck_assert(ls_images_label(&s, 1, &last) && last == 0);
    ck_assert(ls_images_label(&s, 4, &last) && last == 1);
    ck_assert(!ls_images_label(&s, 5, &last));
    ls_source_close(&s);
    o.test = true;
    o.n_classes = 2;
    o.class_names = both;
    OK(ls_source_images(&t, in_folder(""), &o));
    check_rows(&t, 1, (int[]){60}, (int[]){1});
    ls_source_close(&t);
    o.n_classes = 1;
    o.class_names = one;
    FAILS(ls_source_images(&t, in_folder(""), &o), LS_ERANGE, "test/b");
    o = ls_images_defaults();
    o.test = true;
    FAILS(ls_source_images(&t, in_folder("train"), &o), LS_ENOTFOUND, "train");
}

/* Files that are no pictures are refused by name, or left out and counted. */
TEST(left_out)
{
    ls_images_options o = ls_images_defaults();
    ls_source s;

    make_folders("");
    put_file(in_folder("a/notes.txt"), "x", 1);
    FAILS(ls_source_images(&s, in_folder(""), NULL), LS_EFORMAT, "a/notes.txt");
    o.skip_broken = true;
    OK(ls_source_images(&s, in_folder(""), &o));
    ck_assert_int_eq(ls_images_left_out(&s), 1);
    ls_source_close(&s);
    remove(in_folder("a/notes.txt"));
    put_file(in_folder("b/0.png"), "\x89PNG\r\n\x1a\nxxxxxxxx", 16);
    mkdir(in_folder("b/c"), 0777);
    put_picture("beside.png", 8, 0);
    FAILS(ls_source_images(&s, in_folder(""), NULL), LS_EFORMAT, "beside.png");
    OK(ls_source_images(&s, in_folder(""), &o));
    ck_assert_int_eq(ls_images_left_out(&s), 3);
    check_rows(&s, 5, (int[]){10, 20, 30, 40, 50}, (int[]){0, 0, 1, 1, 1});
    ls_source_close(&s);
}

/* Counts by reason, with the first name of each; what holds a picture is one
 * under any name, what systems leave beside them is nobody's, and a class
 * without pictures is none. */
TEST(why_left_out)
{
    static const char webp[] = "RIFF\1\2\3\0WEBPVP8 ";
    ls_images_options o = ls_images_defaults();
    const char *first;
    int64_t files;
    ls_source s;

    make_folders("");
    mkdir(in_folder("__MACOSX"), 0777);
    put_file(in_folder("a/Thumbs.db"), "x", 1);
    put_file(in_folder("b/desktop.ini"), "x", 1);
    rename(in_folder("b/2.png"), in_folder("b/2"));
    OK(ls_source_images(&s, in_folder(""), &o));
    check_rows(&s, 5, (int[]){10, 20, 30, 40, 50}, (int[]){0, 0, 1, 1, 1});
    ck_assert_ptr_null(ls_images_left_out_why(&s, 0, &files));
    ls_source_close(&s);
    put_file(in_folder("a/v.webp"), webp, sizeof webp);
    put_file(in_folder("a/w.png"), webp, sizeof webp);
    FAILS(ls_source_images(&s, in_folder(""), &o), LS_EFORMAT,
          "a/v.webp: is a WebP picture");
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "skip_broken"));
    mkdir(in_folder("aa"), 0777);
    mkdir(in_folder("ab"), 0777);
    put_file(in_folder("ab/notes"), "x", 1);
    FAILS(ls_source_images(&s, in_folder(""), &o), LS_EFORMAT,
          "aa: holds no pictures");
    o.skip_broken = true;
    OK(ls_source_images(&s, in_folder(""), &o));
    check_rows(&s, 5, (int[]){10, 20, 30, 40, 50}, (int[]){0, 0, 1, 1, 1});
    ck_assert_str_eq(ls_images_class(&s, 1), "b");
    ck_assert_ptr_null(ls_images_class(&s, 2));
    ck_assert_int_eq(ls_images_left_out(&s), 5);
    ck_assert_ptr_nonnull(first = ls_images_left_out_why(&s, 0, &files));
    ck_assert_ptr_nonnull(strstr(first, "a/v.webp: is a WebP picture"));
    ck_assert_int_eq(files, 2);
    ck_assert_ptr_nonnull(first = ls_images_left_out_why(&s, 1, &files));
    ck_assert_ptr_nonnull(strstr(first, "ab/notes: is a text"));
    ck_assert_ptr_nonnull(first = ls_images_left_out_why(&s, 2, &files));
    ck_assert_str_eq(first, "aa: a folder without pictures");
    ck_assert_int_eq(files, 2);
    ck_assert_ptr_null(ls_images_left_out_why(&s, 3, &files));
    ls_source_close(&s);
}

TEST(unlike)
{
    ls_images_options o = ls_images_defaults();
    ls_source s;

    make_folders("");
    put_picture("b/9.png", 9, 0);
    FAILS(ls_source_images(&s, in_folder(""), NULL), LS_ESHAPE,
          "b/9.png 9 and 9");
    o.shape[0] = o.shape[1] = 4;
    FAILS(ls_source_images(&s, in_folder(""), &o), LS_EINVAL, "4x4x0");
    o.shape[2] = 2;
    FAILS(ls_source_images(&s, in_folder(""), &o), LS_EINVAL, "2 channels");
    o.shape[2] = 3;
    OK(ls_source_images(&s, in_folder(""), &o));
    ck_assert_int_eq(s.rows, 6);
    ls_source_close(&s);
}

/* Bytes do not depend on how many threads decode, and rows may repeat; of
 * several that fail the first is told. */
TEST(threads)
{
    enum { ROWS = 40, SIZE = 16 * 16 * 3 };
    static float one[ROWS * SIZE], many[ROWS * SIZE];
    ls_images_options o = ls_images_defaults();
    char name[32];
    const char *path[ROWS];
    int64_t index[ROWS];
    ls_source s;

    o.shape[0] = o.shape[1] = 16;
    o.shape[2] = 3;
    for (int i = 0; i < ROWS; i++) {
        snprintf(name, sizeof name, "%d.png", i);
        put_picture(name, 20 + i, 5 * i);
        path[i] = strdup(in_folder(name));
        index[i] = i % 5 ? i : 0;
    }
    for (o.threads = 1; o.threads <= 8; o.threads += 7) {
        void *out[] = {o.threads == 1 ? one : many};

        OK(ls_source_pictures(&s, ROWS, path, &o));
        ck_assert_int_eq(s.fill(s.user, ROWS, index, out), 0);
        ls_source_close(&s);
    }
    ck_assert_mem_eq(one, many, sizeof one);
    o.threads = 8;
    OK(ls_source_pictures(&s, ROWS, path, &o));
    for (int i = 21; i < ROWS; i++)
        put_file(path[i], "\x89PNG\r\n\x1a\n", 8);
    ck_assert_int_lt(s.fill(s.user, ROWS, index, (void *[]){one}), 0);
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "/21.png"));
    ls_source_close(&s);
    for (int i = 0; i < ROWS; i++)
        free((char *)path[i]);
}

#else

/* A build without libpng and libjpeg refuses a picture, and says why. */
TEST(none)
{
    ls__picture p;

    put_file(in_folder("a.png"), "\x89PNG\r\n\x1a\n", 8);
    FAILS(ls__picture_read(&p, in_folder("a.png")), LS_ENOTSUP,
          "without libpng");
    put_file(in_folder("a.jpg"), "\xff\xd8\xff", 3);
    FAILS(ls__picture_look(&p, in_folder("a.jpg")), LS_ENOTSUP,
          "without libpng");
}
#endif

/* ------ A source in two ------ */

TEST(split)
{
    static const float x[] = {0, 1, 2, 3, 4, 5};
    ls_array array = {.name = "x", .dtype = LS_F32, .rank = 1, .shape = {6},
                      .data = (void *)x};
    float is[4];
    void *out[] = {is};
    ls_source s, held = {.rows = 7};

    OK(ls_source_arrays(&s, 1, &array));
    FAILS(ls_source_split(&s, 2, (int64_t[]){1, 1}, &held), LS_EINVAL, "twice");
    FAILS(ls_source_split(&s, 2, (int64_t[]){1, 6}, &held), LS_EINVAL, "none");
    FAILS(ls_source_split(&s, 0, (int64_t[]){1}, &held), LS_EINVAL, "0 rows");
    FAILS(ls_source_split(&s, 6, (int64_t[]){0}, &held), LS_EINVAL, "6 rows");
    ck_assert_int_eq(held.rows, 7);
    OK(ls_source_split(&s, 2, (int64_t[]){4, 1}, &held));
    ck_assert_int_eq(s.rows, 4);
    ck_assert_int_eq(held.rows, 2);
    ck_assert_int_eq(s.fill(s.user, 4, (int64_t[]){0, 1, 2, 3}, out), 0);
    ck_assert(is[0] == 0 && is[1] == 2 && is[2] == 3 && is[3] == 5);
    ls_source_close(&s);
    ck_assert_int_eq(held.fill(held.user, 2, (int64_t[]){0, 1}, out), 0);
    ck_assert(is[0] == 4 && is[1] == 1);
    OK(ls_source_split(&held, 1, (int64_t[]){0}, &s));
    ck_assert_int_eq(held.fill(held.user, 1, (int64_t[]){0}, out), 0);
    ck_assert(is[0] == 1);
    ls_source_close(&held);
    ls_source_close(&s);
}

/* Two sources of all rows, of which one goes on when the other is closed. */
TEST(share)
{
    static const float x[] = {3, 4, 5};
    ls_array array = {.name = "x", .dtype = LS_F32, .rank = 1, .shape = {3},
                      .data = (void *)x};
    int32_t label;
    float is[3];
    ls_source s, again;

    OK(ls_source_arrays(&s, 1, &array));
    OK(ls_source_share(&s, &again));
    ck_assert_int_eq(again.rows, 3);
    ck_assert(!ls_images_label(&again, 0, &label));
    ls_source_close(&s);
    ck_assert_int_eq(again.fill(again.user, 3, (int64_t[]){2, 0, 1},
                                (void *[]){is}), 0);
    ck_assert(is[0] == 5 && is[1] == 3 && is[2] == 4);
    ls_source_close(&again);
}

int main(void)
{
#ifndef WITH_PICTURES
    puts("skipped: this lockstep is built without libpng and libjpeg");
#endif
    return RUN_TESTS(.setup = folder_open, .teardown = folder_close);
}
