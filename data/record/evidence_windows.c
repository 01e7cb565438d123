/* SPDX-License-Identifier: BSD-3-Clause */
/* Evidence of convolutions and poolings. */
#include "record/evidence_rules.h"

#include <string.h>

/* A window, as op/window.h has it, over an image (in_h,in_w,c): h by w windows
 * come out. */
typedef struct window {
    int64_t kh, kw, sy, sx, dy, dx, top, left;
    int64_t in_h, in_w, c, h, w;
    bool inside, ceil;
} window;

enum { SAME, VALID, CAUSAL, EXPLICIT };

/* The pixels of padding before an axis. */
static int64_t padding_of(int64_t kind, int64_t in, int64_t out, int64_t k,
                          int64_t gap, int64_t s, int64_t given)
{
    int64_t reach = (k - 1) * gap + 1, missing = (out - 1) * s + reach - in;

    switch (kind) {
    case SAME: return missing > 0 ? missing / 2 : 0;
    case CAUSAL: return reach - 1;
    case EXPLICIT: return given;
    default: return 0;
    }
}

static int64_t or_one(int64_t x)
{
    return x > 0 ? x : 1;
}

static bool find_window(const ls__asked *q, window *w)
{
    int64_t in[LS_MAX_RANK], out[LS_MAX_RANK];
    int64_t kind = ls__asked_of(q, "padding", VALID);

    if (ls__evidence_axes(q->from->shape, in) != 3 ||
        ls__evidence_axes(q->n->shape, out) != 3)
        return false;
    *w = (window){
        .kh = or_one(ls__asked_of(q, "height", 1)),
        .kw = or_one(ls__asked_of(q, "width", 1)),
        .sy = or_one(ls__asked_of(q, "stride_y", 1)),
        .sx = or_one(ls__asked_of(q, "stride_x", 1)),
        .dy = or_one(ls__asked_of(q, "dilation_y", 1)),
        .dx = or_one(ls__asked_of(q, "dilation_x", 1)),
        .inside = ls__asked_of(q, "inside", 0) != 0,
        .ceil = ls__asked_of(q, "ceil", 0) != 0,
        .in_h = in[0], .in_w = in[1], .c = in[2], .h = out[0], .w = out[1]};
    if (w->kh > LS__EVIDENCE_MOST / w->kw)
        return false;
    w->top = padding_of(kind, w->in_h, w->h, w->kh, w->dy, w->sy,
                        ls__asked_of(q, "top", 0));
    w->left = padding_of(kind, w->in_w, w->w, w->kw, w->dx, w->sx,
                         ls__asked_of(q, "left", 0));
    return true;
}

/* Find where the first channel of tap t of window (i,j) stands; -1: outside. */
static int64_t pixel(const window *w, int64_t image, int64_t i, int64_t j,
                     int64_t t)
{
    int64_t y = i * w->sy - w->top + t / w->kw * w->dy;
    int64_t x = j * w->sx - w->left + t % w->kw * w->dx;

    if (y < 0 || y >= w->in_h || x < 0 || x >= w->in_w)
        return -1;
    return ((image * w->in_h + y) * w->in_w + x) * w->c;
}

/* ------ convolution ------ */

/* in, out: channels of a group. */
typedef struct conv {
    window w;
    int64_t in, out, wide; /* wide: all that come out */
    const uint32_t *weight, *bias;
} conv;

/* Take a number of the record, or of padding. */
static void take_or_zero(const ls__asked *q, const uint32_t *x, bool there)
{
    if (there)
        ls__evidence_take(q->e, x);
    else
        ls__evidence_say(q->e, 0);
}

/* One group, and windows without gaps. */
static bool is_plain(const conv *v)
{
    return v->in == v->w.c && v->w.dy == 1 && v->w.dx == 1;
}

/* Each channel by itself: what is multiplied may be rounded, and sums are those
 * of f32 in any precision. */
static bool is_depthwise(const conv *v)
{
    return v->w.c > 1 && v->in == 1 && v->out == 1;
}

static void conv_product(const ls__asked *q, const conv *v)
{
    if (is_depthwise(v))
        ls__asked_rule(q, ls__asked_is_bf16(q) ? "product.rounded" : "product");
    else
        ls__asked_product(q);
}

/* Fill K up with zeros to whole steps of 32, as bf16 has it. */
static void fill(const ls__asked *q, int64_t n)
{
    for (; n % 32; n++)
        ls__evidence_say(q->e, 0);
}

static void fill_row(const ls__asked *q, const conv *v, int64_t n)
{
    if (ls__asked_is_bf16(q) && is_plain(v))
        fill(q, n);
}

static int conv_y(const ls__asked *q, const conv *v)
{
    const window *w = &v->w;
    int64_t o = q->at % v->wide, p = q->at / v->wide, first;
    int64_t taps = w->kh * w->kw;

    first = o / v->out * v->in;
    conv_product(q, v);
    ls__evidence_begin(q->e, "a");
    for (int64_t t = 0; t < taps; t++) {
        int64_t at = pixel(w, p / w->w / w->h, p / w->w % w->h, p % w->w, t);

        for (int64_t i = first; i < first + v->in; i++)
            take_or_zero(q, q->x + at + i, at >= 0);
        if ((t + 1) % w->kw == 0)
            fill_row(q, v, w->kw * v->in);
    }
    ls__evidence_end(q->e);
    ls__evidence_begin(q->e, "b");
    for (int64_t t = 0; t < taps; t++) {
        for (int64_t i = 0; i < v->in; i++)
            ls__evidence_take(q->e, v->weight + (t * v->in + i) * v->wide + o);
        if ((t + 1) % w->kw == 0)
            fill_row(q, v, w->kw * v->in);
    }
    ls__evidence_end(q->e);
    if (v->bias)
        ls__evidence_number(q->e, "bias", &v->bias[o]);
    ls__asked_round(q);
    return 0;
}

/* The window whose tap t is pixel (y,x) of an image: where its first channel
 * stands in dy; -1: there is none. */
static int64_t window_at(const window *w, int64_t image, int64_t y, int64_t x,
                         int64_t t, int64_t wide)
{
    int64_t i = y + w->top - t / w->kw * w->dy;
    int64_t j = x + w->left - t % w->kw * w->dx;

    if (i < 0 || j < 0 || i % w->sy || j % w->sx || i / w->sy >= w->h ||
        j / w->sx >= w->w)
        return -1;
    return ((image * w->h + i / w->sy) * w->w + j / w->sx) * wide;
}

/* Go through the taps in reverse order. */
static int conv_dx(const ls__asked *q, const conv *v)
{
    const window *w = &v->w;
    int64_t c = q->at % w->c, p = q->at / w->c, y = p / w->in_w % w->in_h;
    int64_t first = c / v->in * v->out, taps = w->kh * w->kw;

    conv_product(q, v);
    ls__evidence_begin(q->e, "a");
    for (int64_t t = taps - 1; t >= 0; t--) {
        int64_t at = window_at(w, p / w->in_w / w->in_h, y, p % w->in_w, t,
                               v->wide);

        for (int64_t o = first; o < first + v->out; o++)
            take_or_zero(q, q->dy + at + o, at >= 0);
        if (t % w->kw == 0)
            fill_row(q, v, w->kw * v->out);
    }
    ls__evidence_end(q->e);
    ls__evidence_begin(q->e, "b");
    for (int64_t t = taps - 1; t >= 0; t--) {
        for (int64_t o = first; o < first + v->out; o++)
            ls__evidence_take(q->e, v->weight +
                                        (t * v->in + c % v->in) * v->wide + o);
        if (t % w->kw == 0)
            fill_row(q, v, w->kw * v->out);
    }
    ls__evidence_end(q->e);
    ls__asked_addend(q);
    return 0;
}

/* The pixels that come out, in the order of a weight's sum: rectangles of an
 * image, each at most 256 pixels in an even number of whole rows, and in each
 * blocks of two by two.  see() is given image, row, column. */
typedef void saw_pixel(const ls__asked *q, const conv *v, int64_t image,
                       int64_t i, int64_t j);

static int64_t see_rectangle(const ls__asked *q, const conv *v, int64_t image,
                             int64_t y, int64_t x, saw_pixel *see)
{
    const window *w = &v->w;
    int64_t wide = w->w < 128 ? w->w : 128, high = 256 / wide / 2 * 2;
    int64_t across = (wide + 1) / 2, n = 0;

    for (int64_t p = 0; p < high * (wide + 1); p++) {
        int64_t i = y + p / 4 / across * 2 + p % 4 / 2;
        int64_t j = x + p / 4 % across * 2 + p % 2;

        if (i >= y + high || i >= w->h || j >= x + wide || j >= w->w)
            continue;
        if (see)
            see(q, v, image, i, j);
        n++;
    }
    return n;
}

/* see NULL: say how many each rectangle has. */
static void see_all(const ls__asked *q, const conv *v, const char *name,
                    saw_pixel *see)
{
    const window *w = &v->w;
    int64_t wide = w->w < 128 ? w->w : 128, high = 256 / wide / 2 * 2;

    ls__evidence_begin(q->e, name);
    for (int64_t image = 0; image < q->rows; image++)
        for (int64_t i = 0; i < w->h; i += high)
            for (int64_t j = 0; j < w->w; j += wide) {
                int64_t n = see_rectangle(q, v, image, i, j, see);

                if (!see)
                    ls__evidence_say(q->e, (uint32_t)n);
                else if (ls__asked_is_bf16(q) && !is_depthwise(v))
                    fill(q, n);
            }
    ls__evidence_end(q->e);
}

static void see_d(const ls__asked *q, const conv *v, int64_t image, int64_t i,
                  int64_t j)
{
    int64_t at = (image * v->w.h + i) * v->w.w + j;

    ls__evidence_take(q->e, q->dy + at * v->wide + q->at % v->wide);
}

static void see_x(const ls__asked *q, const conv *v, int64_t image, int64_t i,
                  int64_t j)
{
    int64_t o = q->at % v->wide, k = q->at / v->wide;
    int64_t at = pixel(&v->w, image, i, j, k / v->in);

    take_or_zero(q, q->x + at + o / v->out * v->in + k % v->in, at >= 0);
}

static void see_one(const ls__asked *q, const conv *v, int64_t image, int64_t i,
                    int64_t j)
{
    (void)v, (void)image, (void)i, (void)j;
    ls__evidence_say(q->e, LS__ONE);
}

/* Go through the pixels two rows at a time.  Of two blocks of two by two pixels
 * beside each other the left one has the even places, the right one the odd
 * ones. */
static void see_twos(const ls__asked *q, const conv *v, const char *name,
                     saw_pixel *see)
{
    const window *w = &v->w;
    int64_t two = (w->w + 3) / 4, twos = (w->h + 1) / 2;

    ls__evidence_begin(q->e, name);
    for (int64_t p = 0; p < q->rows * twos * two * 8; p++) {
        int64_t i = p / 8 / two % twos * 2 + p % 8 / 4;
        int64_t j = p / 8 % two * 4 + p % 2 * 2 + p % 4 / 2;

        if (i < w->h && j < w->w)
            see(q, v, p / 8 / two / twos, i, j);
        else
            ls__evidence_say(q->e, 0);
        if ((p + 1) % (8 * two) == 0)
            fill(q, p % (8 * two) + 1);
    }
    ls__evidence_end(q->e);
}

/* Give sums of bf16 layers: a bias is the product of a window that sees a 1. */
static int bf16_dparam(const ls__asked *q, const conv *v, bool bias)
{
    void (*all)(const ls__asked *, const conv *, const char *, saw_pixel *) =
        is_plain(v) ? see_twos : see_all;

    ls__asked_product(q);
    ls__asked_before(q);
    all(q, v, "a", bias ? see_one : see_x);
    all(q, v, "b", see_d);
    return 0;
}

static int conv_dparam(const ls__asked *q, const conv *v, bool bias)
{
    bool rounded = ls__asked_is_bf16(q);

    if (rounded && !is_depthwise(v))
        return bf16_dparam(q, v, bias);
    if (bias && !rounded)
        ls__asked_rule(q, "column");
    else
        conv_product(q, v);
    ls__asked_before(q);
    see_all(q, v, "a", !bias ? see_x : rounded ? see_one : see_d);
    if (!bias || rounded)
        see_all(q, v, "b", see_d);
    see_all(q, v, "parts", NULL);
    return 0;
}

int ls__evidence_conv(const ls__asked *q)
{
    int64_t groups = or_one(ls__asked_of(q, "groups", 1));
    conv v = {.wide = q->width, .in = q->in / groups, .out = q->width / groups,
              .bias = ls__asked_param(q, 1, q->width)};
    bool has_bias = ls__evidence_param(q->e, q->n, 1);

    if (!find_window(q, &v.w) || v.in < 1 || v.out < 1 ||
        v.wide > LS__ATTRIBUTE / v.in / v.w.kh / v.w.kw)
        return ls__asked_unknown("conv2d");
    v.weight = ls__asked_param(q, 0, v.w.kh * v.w.kw * v.in * v.wide);
    if (!v.weight || (has_bias && !v.bias))
        return ls__asked_unknown("conv2d");
    if (ls__asked_y(q))
        return conv_y(q, &v);
    if (ls__asked_dx(q, 0))
        return conv_dx(q, &v);
    return ls__asked_dparam(q, 0) || ls__asked_dparam(q, 1)
               ? conv_dparam(q, &v, q->e->of->place.index == 1)
               : ls__asked_unknown("conv2d");
}

/* ------ poolings ------ */

/* Add the pixels of a window that are in the image to the list; returns how
 * many.  Which of them is `of`, -1: none, goes to *spot. */
static int64_t take_window(const ls__asked *q, const window *w, int64_t image,
                           int64_t o, int64_t channel, bool take,
                           int64_t *spot)
{
    int64_t n = 0;

    *spot = -1;
    for (int64_t t = 0; t < w->kh * w->kw; t++) {
        int64_t at = pixel(w, image, o / w->w, o % w->w, t);

        if (at < 0)
            continue;
        if (at + channel == q->at)
            *spot = n;
        if (take)
            ls__evidence_take(q->e, q->x + at + channel);
        n++;
    }
    return n;
}

/* Count those of k taps, `gap` apart from `at` on, that are before `end`;
 * inside: and not before 0. */
static int64_t taps_before(int64_t at, int64_t gap, int64_t k, int64_t end,
                           bool inside)
{
    int64_t n = 0;

    for (int64_t i = 0; i < k; i++)
        n += at + i * gap < end && (!inside || at + i * gap >= 0);
    return n;
}

/* Find what the mean of a window divides by. */
static uint32_t divisor(const ls__asked *q, const window *w, int64_t o)
{
    int64_t reach_y = (w->kh - 1) * w->dy + 1, reach_x = (w->kw - 1) * w->dx +
                                                         1;
    int64_t end_y = w->inside ? w->in_h
                              : w->in_h + (w->ceil ? ls__asked_of(q, "bottom",
                                                                  0)
                                                   : reach_y);
    int64_t end_x = w->inside ? w->in_w
                              : w->in_w + (w->ceil ? ls__asked_of(q, "right", 0)
                                                   : reach_x);

    return (uint32_t)(taps_before(o / w->w * w->sy - w->top, w->dy, w->kh,
                                  end_y, w->inside) *
                      taps_before(o % w->w * w->sx - w->left, w->dx, w->kw,
                                  end_x, w->inside));
}

static int pool_y(const ls__asked *q, const window *w, bool is_max)
{
    int64_t o = q->at / w->c, spot;

    ls__asked_rule(q, is_max ? "max" : "avg_pool");
    ls__evidence_begin(q->e, "x");
    take_window(q, w, o / w->w / w->h, o % (w->h * w->w), q->at % w->c, true,
                &spot);
    ls__evidence_end(q->e);
    if (!is_max)
        ls__evidence_word(q->e, "size", divisor(q, w, o % (w->h * w->w)));
    return 0;
}

/* Numbers of each window that the pixel is in, by what they are. */
enum { DY, SIZE, PARTS, IN, X };

static int64_t each_window(const ls__asked *q, const window *w, int what)
{
    static const char *const names[] = {"dy", "size", "parts", "in", "x"};
    int64_t image = q->at / q->in_size, c = q->at % w->c, spot, count = 0;

    if (what <= X)
        ls__evidence_begin(q->e, names[what]);
    for (int64_t o = 0; o < w->h * w->w; o++) {
        int64_t n = take_window(q, w, image, o, c, false, &spot);

        if (spot < 0)
            continue;
        count++;
        if (what == DY)
            ls__evidence_take(q->e,
                              q->dy + (image * w->h * w->w + o) * w->c + c);
        else if (what == X)
            take_window(q, w, image, o, c, true, &spot);
        else if (what < X)
            ls__evidence_say(q->e, what == SIZE ? divisor(q, w, o)
                                                : (uint32_t)(what == PARTS
                                                                 ? n : spot));
    }
    if (what <= X)
        ls__evidence_end(q->e);
    return count;
}

/* Give a pixel that is in no window nothing but what others gave. */
static int pool_dx(const ls__asked *q, const window *w, bool is_max)
{
    if (each_window(q, w, X + 1) == 0) {
        ls__asked_rule(q, "adds");
        ls__evidence_word(q->e, "a", 0);
    } else {
        ls__asked_rule(q, is_max ? "max_pool.back" : "avg_pool.back");
        each_window(q, w, DY);
        if (!is_max)
            each_window(q, w, SIZE);
        for (int i = PARTS; i <= X && is_max; i++)
            each_window(q, w, i);
    }
    ls__asked_addend(q);
    return 0;
}

int ls__evidence_pool(const ls__asked *q)
{
    bool is_max = strcmp(q->n->op, "max_pool") == 0;
    window w;

    if (!find_window(q, &w))
        return ls__asked_unknown(q->n->op);
    if (ls__asked_y(q))
        return pool_y(q, &w, is_max);
    if (ls__asked_what(q, "kept"))
        return ls__asked_unknown("which of a window is its largest number: "
                                 "that is no float");
    return ls__asked_dx(q, 0) ? pool_dx(q, &w, is_max)
                              : ls__asked_unknown(q->n->op);
}
