/* SPDX-License-Identifier: BSD-3-Clause */
/* Images that change: each change against its formula written once more, what
 * is drawn for a row and what it depends on, the distribution of mixup's share,
 * and functions of one number against the C library's. */
#define _GNU_SOURCE
#include "image/change_image.h"
#include "image/real.h"
#include "calls.h"
#include "models.h"

#include <lockstep/images.h>

#include <math.h>
#include <unistd.h>

enum { H = 6, W = 9, C = 3, SIZE = H * W * C, ROWS = 7 };

static float value(int64_t i)
{
    return (float)((i * 37 + i * i / 5) % 256) / 255;
}

/* ------ Functions of one number ------ */

TEST(real)
{
    for (int i = -4000; i <= 4000; i++) {
        double x = i / 1000.0;

        HOLDS(fabs(ls__real_sin(x) - sin(x)) < 1e-12, "sin %g", x);
        HOLDS(fabs(ls__real_cos(x) - cos(x)) < 1e-12, "cos %g", x);
    }
    for (int i = 1; i < 8000; i++) {
        double x = i / 1000.0 * (i % 3 ? 1 : 1e-9), e = i % 700 / -1.0;

        HOLDS(fabs(ls__real_log(x) - log(x)) < 1e-12, "log %g", x);
        HOLDS(fabs(ls__real_exp(e) / exp(e) - 1) < 1e-12, "exp %g", e);
        HOLDS(fabs(ls__real_exp(-x) / exp(-x) - 1) < 1e-12, "exp %g", -x);
    }
    ck_assert(ls__real_exp(0) == 1);
    ck_assert(ls__real_exp(-1e300) == 0);
}

/* ------ Changes ------ */

static float in[SIZE], is[SIZE], room[SIZE];

static float at(const float *image, int64_t y, int64_t x, int64_t c)
{
    return y < 0 || x < 0 || y >= H || x >= W ? 0 : image[(y * W + x) * C + c];
}

/* What a draw makes of `in`; all else of it is nothing. */
static void change(ls_augment_options *o, ls__augmentation d)
{
    static const int64_t shape[] = {H, W, C};

    for (int64_t i = 0; i < SIZE; i++)
        is[i] = in[i] = value(i);
    o->size = sizeof *o;
    ls__change_image(o, shape, &d, is, room);
}

TEST(places)
{
    ls_augment_options none = {0}, cut = {.cutout = 3};

    change(&none, (ls__augmentation){.share = 1});
    ck_assert_mem_eq(is, in, sizeof in);
    for (int64_t i = 0; i < SIZE; i++) {
        int64_t c = i % C, x = i / C % W, y = i / C / W;

        change(&none, (ls__augmentation){.down = -2, .right = 3});
        HOLDS(is[i] == at(in, y - 2, x + 3, c), "crop, %lld", (long long)i);
        change(&none, (ls__augmentation){.flips = true});
        HOLDS(is[i] == at(in, y, W - 1 - x, c), "flip, %lld", (long long)i);
        change(&cut, (ls__augmentation){.cut_y = -1, .cut_x = 5});
        HOLDS(is[i] == (y < 2 && x >= 5 && x < 8 ? 0 : in[i]), "cutout, %lld",
              (long long)i);
    }
}

static float range(float x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

TEST(shades)
{
    ls_augment_options bright = {.brightness = 1}, contrast = {.contrast = 1};
    double grey = 0;
    float mean;

    change(&bright, (ls__augmentation){.brightness = 1.3f});
    for (int64_t i = 0; i < SIZE; i++)
        HOLDS(is[i] == range(in[i] * 1.3f), "brightness, %lld", (long long)i);
    for (int64_t i = 0; i < SIZE; i += C)
        grey += (double)(0.2989f * in[i] + 0.587f * in[i + 1] +
                         0.114f * in[i + 2]);
    mean = (float)(grey / (H * W));
    change(&contrast, (ls__augmentation){.contrast = 1.6f});
    for (int64_t i = 0; i < SIZE; i++)
        HOLDS(is[i] == range(1.6f * in[i] + (1 - 1.6f) * mean),
              "contrast, %lld", (long long)i);
}

/* Turned about its middle and enlarged; a quarter of a turn of a square would
 * be exact, and a whole number of pixels between is. */
TEST(turned)
{
    static const double angles[] = {0, 0.3, -1.2, 3.1};
    static const double scales[] = {1, 0.7, 1.9, 1};

    for (int k = 0; k < 4; k++) {
        ls_augment_options none = {0};
        float cosine = (float)(ls__real_cos(angles[k]) / scales[k]);
        float sine = (float)(ls__real_sin(angles[k]) / scales[k]);

        change(&none, (ls__augmentation){
            .turns = true, .cos = cosine, .sin = sine});
        for (int64_t i = 0; i < SIZE; i++) {
            int64_t c = i % C, x = i / C % W, y = i / C / W;
            float dy = (float)y - (H - 1) / 2.0f;
            float dx = (float)x - (W - 1) / 2.0f;
            float sy = (H - 1) / 2.0f + (cosine * dy - sine * dx);
            float sx = (W - 1) / 2.0f + (cosine * dx + sine * dy);
            int64_t y0 = (int64_t)floor((double)sy);
            int64_t x0 = (int64_t)floor((double)sx);
            float fy = sy - (float)y0, fx = sx - (float)x0;
            float top = at(in, y0, x0, c), low = at(in, y0 + 1, x0, c);

            top = top + fx * (at(in, y0, x0 + 1, c) - top);
            low = low + fx * (at(in, y0 + 1, x0 + 1, c) - low);
            HOLDS(is[i] == top + fy * (low - top), "turn %d, %lld", k,
                  (long long)i);
            if (k == 0)
                HOLDS(is[i] == in[i], "no turn, %lld", (long long)i);
        }
    }
}

/* ------ What is drawn ------ */

TEST(draws)
{
    static const int64_t shape[] = {32, 24, 3};
    ls_augment_options o = {.flip = true, .crop = 2, .rotate = 90,
                            .scale_low = 0.5, .scale_high = 2,
                            .brightness = 0.4, .contrast = 3, .cutout = 8};
    int flips = 0, seen[5] = {0};

    o.key = ls_key_new(5);
    for (int64_t r = 0; r < 4000; r++) {
        ls__augmentation d = ls__augmentation_of(&o, 50, shape, r / 50, r % 50);
        double scale = 1 / hypot((double)d.cos, (double)d.sin);

        flips += d.flips;
        ck_assert(d.down >= -2 && d.down <= 2 && d.right >= -2 && d.right <= 2);
        seen[d.down + 2]++;
        ck_assert(scale > 0.499 && scale < 2.001 && d.cos > -1e-6f);
        ck_assert(d.brightness >= 0.6f && d.brightness <= 1.4f);
        ck_assert(d.contrast >= 0 && d.contrast <= 4);
        ck_assert(d.cut_y >= -4 && d.cut_y < 28);
        ck_assert(d.cut_x >= -4 && d.cut_x < 20);
        ck_assert(d.partner >= 0 && d.partner < 50);
        ck_assert(d.share == 1);
    }
    ck_assert_int_gt(flips, 1850);
    ck_assert_int_lt(flips, 2150);
    for (int i = 0; i < 5; i++)
        ck_assert(seen[i] > 700 && seen[i] < 900);
}

/* Beta(a, a): mean 1/2, variance 1 / (4 (2 a + 1)). */
TEST(shares)
{
    static const int64_t shape[] = {4, 4, 1};
    static const double a[] = {0.01, 0.2, 1};
    enum { N = 20000 };

    for (int k = 0; k < 3; k++) {
        ls_augment_options o = {.mixup = a[k]};
        double mean = 0, square = 0, want = 1 / (8 * a[k] + 4);

        for (int64_t r = 0; r < N; r++) {
            ls__augmentation d = ls__augmentation_of(&o, N, shape, 3, r);

            ck_assert(d.share >= 0 && d.share <= 1);
            mean += (double)d.share / N;
            square += (double)(d.share * d.share) / N;
        }
        ck_assert_msg(fabs(mean - 0.5) < 0.015, "%g: mean %g", a[k], mean);
        ck_assert_msg(fabs(square - mean * mean - want) < 0.01,
                      "%g: variance %g, not %g", a[k], square - mean * mean,
                      want);
    }
}

/* ------ A source ------ */

static float images[ROWS * SIZE];
static int32_t labels[ROWS];

static ls_source open_source(void)
{
    ls_array a[] = {{"x", LS_F32, 4, {ROWS, H, W, C}, images},
                    {"y", LS_I32, 1, {ROWS}, labels}};
    ls_source s;

    for (int64_t i = 0; i < ROWS * SIZE; i++)
        images[i] = value(i);
    for (int i = 0; i < ROWS; i++)
        labels[i] = i;
    OK(ls_source_arrays(&s, 2, a));
    return s;
}

static ls_augment_options all_options(void)
{
    ls_augment_options o = ls_augment_defaults();

    o.key = ls_key_new(11);
    o.flip = true;
    o.crop = 1;
    o.rotate = 20;
    o.scale_low = 0.9;
    o.scale_high = 1.1;
    o.brightness = o.contrast = 0.2;
    o.cutout = 2;
    o.mixup = 0.4;
    o.other = "z";
    o.share = "f";
    return o;
}

/* Rows of the source as they should be: image, label, the label that is mixed
 * in, and the share of the first. */
static void reference(const ls_augment_options *o, int64_t index, float *x,
                      int32_t y[2], float *share)
{
    static const int64_t shape[] = {H, W, C};
    int64_t e = index / ROWS, r = index % ROWS;
    ls__augmentation d = ls__augmentation_of(o, ROWS, shape, e, r);
    ls__augmentation p = ls__augmentation_of(o, ROWS, shape, e, d.partner);
    float other[SIZE];

    memcpy(x, images + r * SIZE, sizeof other);
    memcpy(other, images + d.partner * SIZE, sizeof other);
    ls__change_image(o, shape, &d, x, room);
    ls__change_image(o, shape, &p, other, room);
    for (int64_t i = 0; i < SIZE; i++) {
        x[i] = d.share * x[i] + (1 - d.share) * other[i];
        if (o->channels)
            x[i] = (x[i] - (float)o->mean[i % C]) / (float)o->std[i % C];
    }
    y[0] = labels[r];
    y[1] = labels[o->mixup > 0 ? d.partner : r];
    *share = d.share;
}

/* What a row is depends on its index alone: not on what is asked with it. */
TEST(source)
{
    static const double mean[] = {0.1, 0.2, 0.3}, std[] = {1, 2, 0.5};
    static float x[24 * SIZE], want[SIZE];
    ls_augment_options o = all_options();
    int32_t y[24], z[24], label[2];
    float f[24], share;

    o.channels = C;
    o.mean = mean;
    o.std = std;
    for (o.threads = 1; o.threads < 4; o.threads++) {
        ls_source s = open_source();

        OK(ls_source_augment(&s, &o));
        ck_assert(s.by_epoch && s.rows == ROWS && s.n_arrays == 4);
        ck_assert_str_eq(s.arrays[2].name, "z");
        ck_assert_str_eq(s.arrays[3].name, "f");
        for (int64_t n = 1; n <= 24; n += 23)
            for (int64_t first = 0; first < 30; first += 13) {
                int64_t index[24];

                for (int64_t i = 0; i < n; i++)
                    index[i] = first + i * 5 % 23;
                ck_assert_int_eq(
                    s.fill(s.user, n, index, (void *[]){x, y, z, f}), 0);
                for (int64_t i = 0; i < n; i++) {
                    reference(&o, index[i], want, label, &share);
                    ck_assert_mem_eq(x + i * SIZE, want, sizeof want);
                    ck_assert_int_eq(y[i], label[0]);
                    ck_assert_int_eq(z[i], label[1]);
                    ck_assert(f[i] == share);
                }
            }
        ls_source_close(&s);
    }
}

TEST(epochs)
{
    static float x[SIZE], z[SIZE];
    ls_augment_options o = all_options();
    ls_source s = open_source();
    int32_t y;

    o.mixup = 0;
    o.other = o.share = NULL;
    OK(ls_source_augment(&s, &o));
    ck_assert_int_eq(s.n_arrays, 2);
    ck_assert_int_eq(s.fill(s.user, 1, (int64_t[]){2}, (void *[]){x, &y}), 0);
    ck_assert_int_eq(s.fill(s.user, 1, (int64_t[]){2 + ROWS},
                            (void *[]){z, &y}), 0);
    ck_assert(memcmp(x, z, sizeof x) != 0);
    FAILS(ls_source_augment(&s, &o), LS_EINVAL, "from epoch to epoch");
    FAILS(ls_source_split(&s, 1, (int64_t[]){0}, &(ls_source){0}), LS_EINVAL,
          "from epoch to epoch");
    ls_source_close(&s);
}

/* The names alone: what is evaluated is not mixed, and has the arrays, which
 * stand before its weights. */
TEST(unmixed)
{
    static const float weight[ROWS] = {1, 2, 3, 4, 5, 6, 7};
    static float x[ROWS * SIZE];
    ls_augment_options o = ls_augment_defaults();
    ls_source s = open_source();
    int32_t y[ROWS], z[ROWS];
    float f[ROWS], w[ROWS];
    int64_t index[ROWS];

    for (int i = 0; i < ROWS; i++)
        index[i] = i;
    o.other = "z";
    o.share = "f";
    OK(ls_source_weigh(&s, weight, ROWS));
    OK(ls_source_augment(&s, &o));
    ck_assert(s.weighted && s.n_arrays == 4);
    ck_assert_int_eq(
        s.fill(s.user, ROWS, index, (void *[]){x, y, z, f, w}), 0);
    ck_assert_mem_eq(x, images, sizeof x);
    ck_assert_mem_eq(y, labels, sizeof y);
    ck_assert_mem_eq(z, labels, sizeof z);
    ck_assert_mem_eq(w, weight, sizeof w);
    for (int i = 0; i < ROWS; i++)
        ck_assert(f[i] == 1);
    ls_source_close(&s);
}

/* Cross entropy of the probabilities f of the own label and 1 - f of the other,
 * which is how torchvision's MixUp is trained on. */
TEST(mixed_loss)
{
    enum { N = 5 };
    static const float logits[ROWS * N] = {
        0.5f, -1, 2, 0, 0.25f, 1, 1, 1, 1, 1, -3, 4, 0, 2, -1, 0, 0, 0, 7,
        -7, 0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 9, 8, 7, 6, 5, -1, -2, -3, -4, -5};
    static const int32_t y[ROWS] = {0, 1, 2, 3, 4, 0, 1};
    static const int32_t z[ROWS] = {4, 1, 0, 2, 0, 0, 3};
    static const float f[ROWS] = {0.25f, 1, 0, 0.5f, 0.875f, 0.1f, 0.7f};
    ls_trainer_options o = ls_trainer_defaults();
    ls_node *x, *own, *other, *label, *mixed, *share;
    float one[N * N] = {0};
    double loss = 0;
    ls_result got;
    ls_graph *g = empty_graph();
    run r;

    x = ls_input(g, "x", LS_F32, 1, (int64_t[]){N});
    label = ls_input(g, "y", LS_I32, 0, NULL);
    mixed = ls_input(g, "z", LS_I32, 0, NULL);
    share = ls_input(g, "f", LS_F32, 0, NULL);
    x = ls_dense(x, N, "same");
    own = ls_mul(share, ls_label_terms(x, label, 0));
    other = ls_mul(ls_scale_shift(share, -1, 1), ls_label_terms(x, mixed, 0));
    OK(ls_loss(g, ls_mean_loss(ls_add(own, other), NULL)));
    for (int i = 0; i < ROWS; i++) {
        double sum = 0;

        for (int j = 0; j < N; j++)
            sum += exp((double)logits[i * N + j]);
        for (int j = 0; j < N; j++)
            loss -= ((j == y[i] ? (double)f[i] : 0) +
                     (j == z[i] ? 1 - (double)f[i] : 0)) *
                    ((double)logits[i * N + j] - log(sum)) / ROWS;
    }
    for (int j = 0; j < N; j++)
        one[j * N + j] = 1;
    r = open_run_on(2, 2, g, &o);
    OK(ls_trainer_set(r.trainer, "same.kernel", N * N, one));
    OK(ls_batch_set(r.batch, "x", LS_F32, logits, ROWS));
    OK(ls_batch_set(r.batch, "y", LS_I32, y, ROWS));
    OK(ls_batch_set(r.batch, "z", LS_I32, z, ROWS));
    OK(ls_batch_set(r.batch, "f", LS_F32, f, ROWS));
    OK(ls_evaluate(r.trainer, r.batch, &got));
    ck_assert_msg(fabs((double)got.loss - loss) < 1e-6 * loss, "%g, not %g",
                  (double)got.loss, loss);
    close_run(&r);
}

static void refuse(ls_augment_options o, int status, const char *words)
{
    ls_source s = open_source();

    o.size = sizeof o;
    FAILS(ls_source_augment(&s, &o), status, words);
    ck_assert(!s.by_epoch);
    ls_source_close(&s);
}

TEST(refused)
{
    static const double one[] = {0, 0, 0};

    refuse((ls_augment_options){.image = "z"}, LS_ENOTFOUND, "images z");
    refuse((ls_augment_options){.label = "z", .other = "z", .share = "f"},
           LS_ENOTFOUND, "labels z");
    refuse((ls_augment_options){.mixup = 1}, LS_EINVAL, "the names of");
    refuse((ls_augment_options){.other = "z"}, LS_EINVAL, "the names of");
    refuse((ls_augment_options){.other = "z", .share = "y"}, LS_EINVAL,
           "\"y\"");
    refuse((ls_augment_options){.other = "f", .share = "f"}, LS_EINVAL,
           "\"f\"");
    refuse((ls_augment_options){.crop = -1}, LS_ERANGE, "crop -1");
    refuse((ls_augment_options){.rotate = 181}, LS_ERANGE, "rotate 181");
    refuse((ls_augment_options){.rotate = (double)NAN}, LS_ERANGE, "rotate");
    refuse((ls_augment_options){.scale_low = 2, .scale_high = 1}, LS_ERANGE,
           "scale 2");
    refuse((ls_augment_options){.scale_high = 1}, LS_ERANGE, "scale 0");
    refuse((ls_augment_options){.mixup = 2}, LS_ERANGE, "mixup 2");
    refuse((ls_augment_options){.channels = 2, .mean = one, .std = one},
           LS_ESHAPE, "2 channels");
    refuse((ls_augment_options){.channels = 3, .mean = one, .std = one},
           LS_EINVAL, "std 0");
}

MAIN()
