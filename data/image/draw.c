/* SPDX-License-Identifier: BSD-3-Clause */
/* See draw.h. */
#include "image/draw.h"
#include "image/real.h"

enum { NUMBERS = 10, PAIRS = 16 };

#define PI 0x1.921fb54442d18p1

/* floor(u n), below n. */
static int64_t below(float u, int64_t n)
{
    int64_t i = (int64_t)((double)u * (double)n);

    return i < n ? i : n - 1;
}

/* A number between max(0, 1 - by) and 1 + by. */
static float factor(float u, double by)
{
    double low = by < 1 ? 1 - by : 0;

    return (float)(low + (double)u * (1 + by - low));
}

static void draw_turn(ls__augmentation *d, const ls_augment_options *o,
                      float angle, float scale)
{
    double a = (2 * (double)angle - 1) * o->rotate * PI / 180;
    double low = o->scale_high > 0 ? o->scale_low : 1;
    double high = o->scale_high > 0 ? o->scale_high : 1;
    double s = low + (double)scale * (high - low);

    d->turns = o->rotate > 0 || o->scale_high > 0;
    d->cos = (float)(ls__real_cos(a) / s);
    d->sin = (float)(ls__real_sin(a) / s);
}

/* Beta(a, a) after Joehnk, by logarithms: for small a both powers may be 0. */
static float draw_share(ls_key key, double a)
{
    float u[2 * PAIRS];

    ls_random_uniform(key, NUMBERS, 2 * PAIRS, 0, 1, u);
    for (int i = 0; i < PAIRS; i++) {
        double v, w;

        if (!(u[2 * i] > 0) || !(u[2 * i + 1] > 0))
            continue;
        v = ls__real_log((double)u[2 * i]) / a;
        w = ls__real_log((double)u[2 * i + 1]) / a;
        if (ls__real_exp(v) + ls__real_exp(w) > 1)
            continue;
        if (v < w)
            return (float)(1 - 1 / (1 + ls__real_exp(v - w)));
        return (float)(1 / (1 + ls__real_exp(w - v)));
    }
    return 0.5f;
}

ls__augmentation ls__augmentation_of(const ls_augment_options *o, int64_t rows,
                                     const int64_t shape[3], int64_t epoch,
                                     int64_t row)
{
    ls_key key = ls_key_fold_in(ls_key_fold_in(o->key, (uint32_t)epoch),
                                (uint32_t)row);
    ls__augmentation d = {.share = 1};
    float u[NUMBERS];

    ls_random_uniform(key, 0, NUMBERS, 0, 1, u);
    d.down = below(u[0], 2 * (int64_t)o->crop + 1) - o->crop;
    d.right = below(u[1], 2 * (int64_t)o->crop + 1) - o->crop;
    draw_turn(&d, o, u[2], u[3]);
    d.flips = o->flip && u[4] < 0.5f;
    d.brightness = factor(u[5], o->brightness);
    d.contrast = factor(u[6], o->contrast);
    d.cut_y = below(u[7], shape[0]) - o->cutout / 2;
    d.cut_x = below(u[8], shape[1]) - o->cutout / 2;
    d.partner = below(u[9], rows);
    if (o->mixup > 0)
        d.share = draw_share(key, o->mixup);
    return d;
}
