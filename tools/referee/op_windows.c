/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions and poolings. */
#include "operators.h"

/* A window over an image of `in` lines and columns of c channels: `out` windows
 * come out.  `before`: the padding before line 0, and column 0. */
typedef struct window {
    int64_t k[2], s[2], gap[2], before[2], in[2], out[2];
    int64_t c, taps;
} window;

enum { SAME, VALID, CAUSAL, EXPLICIT };

static int64_t padding_of(int64_t kind, const window *w, int axis,
                          int64_t explicit)
{
    int64_t reach = (w->k[axis] - 1) * w->gap[axis] + 1;
    int64_t missing = (w->out[axis] - 1) * w->s[axis] + reach - w->in[axis];

    switch (kind) {
    case SAME: return missing > 0 ? missing / 2 : 0;
    case CAUSAL: return reach - 1;
    case EXPLICIT: return explicit;
    default: return 0;
    }
}

static int64_t positive(const asked *q, const char *name)
{
    int64_t n = integer(q, name, 1);

    return n > 0 ? n : 1;
}

static bool find_window(const asked *q, window *w)
{
    static const char *const names[2][4] = {
        {"height", "stride_y", "dilation_y", "top"},
        {"width", "stride_x", "dilation_x", "left"}};
    int64_t in[MOST_RANK], out[MOST_RANK];

    if (axes(q->from->shape, in) != 3 || axes(q->n->shape, out) != 3)
        return false;
    for (int a = 0; a < 2; a++) {
        w->k[a] = positive(q, names[a][0]);
        w->s[a] = positive(q, names[a][1]);
        w->gap[a] = positive(q, names[a][2]);
        w->in[a] = in[a];
        w->out[a] = out[a];
        w->before[a] = padding_of(integer(q, "padding", VALID), w, a,
                                  integer(q, names[a][3], 0));
    }
    w->c = in[2];
    w->taps = w->k[0] > (1 << 20) / w->k[1] ? 0 : w->k[0] * w->k[1];
    return w->taps > 0;
}

/* The pixel of tap t of window o, of all images; -1: outside. */
static int64_t pixel(const window *w, int64_t o, int64_t t)
{
    int64_t y = o / w->out[1] % w->out[0] * w->s[0] - w->before[0] +
                t / w->k[1] * w->gap[0];
    int64_t x = o % w->out[1] * w->s[1] - w->before[1] +
                t % w->k[1] * w->gap[1];

    if (y < 0 || y >= w->in[0] || x < 0 || x >= w->in[1])
        return -1;
    return (o / w->out[1] / w->out[0] * w->in[0] + y) * w->in[1] + x;
}

/* The window that has pixel p, of all images, as its tap t; -1: there is
 * none. */
static int64_t window_at(const window *w, int64_t p, int64_t t)
{
    int64_t i = p / w->in[1] % w->in[0] + w->before[0] -
                t / w->k[1] * w->gap[0];
    int64_t j = p % w->in[1] + w->before[1] - t % w->k[1] * w->gap[1];

    if (i < 0 || j < 0 || i % w->s[0] || j % w->s[1] ||
        i / w->s[0] >= w->out[0] || j / w->s[1] >= w->out[1])
        return -1;
    return (p / w->in[1] / w->in[0] * w->out[0] + i / w->s[0]) * w->out[1] +
           j / w->s[1];
}

/* ------ convolution ------ */

/* in, out: channels of a group.  What is multiplied is collected, and then
 * continues the sum, as the kernels do a row of a window or a rectangle. */
typedef struct conv {
    const asked *q;
    window w;
    int64_t in, out, wide; /* wide: all that come out */
    place weight, bias;
    bool has_sum;
    f32 sum, *a, *b;
    int64_t n;
} conv;

/* One group, and windows without gaps. */
static bool is_plain(const conv *v)
{
    return v->in == v->w.c && v->w.gap[0] == 1 && v->w.gap[1] == 1;
}

/* Each channel by itself: what is multiplied may be rounded, and sums are those
 * of f32 in any precision. */
static bool is_depthwise(const conv *v)
{
    return v->w.c > 1 && v->in == 1 && v->out == 1;
}

static void begin(conv *v, int64_t most, const f32 *before)
{
    v->a = room_for(most);
    v->b = room_for(most);
    v->has_sum = before != NULL;
    v->sum = before ? *before : 0;
}

static void push(conv *v, f32 a, f32 b)
{
    bool rounds = is_depthwise(v) && is_bf16();

    v->a[v->n] = rounds ? to_bf16(a) : a;
    v->b[v->n++] = rounds ? to_bf16(b) : b;
}

static void flush(conv *v)
{
    const f32 *before = v->has_sum ? &v->sum : NULL;

    if (v->n)
        v->sum = is_depthwise(v) ? f32_product(before, v->a, v->b, v->n)
                                 : multiplied(before, v->a, v->b, v->n);
    v->has_sum = v->has_sum || v->n;
    v->n = 0;
}

/* In bf16 each row of a window is filled up with zeros to whole steps. */
static void end_row(conv *v)
{
    if (is_bf16() && is_plain(v))
        flush(v);
}

/* The sum over the taps of what a window reads, or back, in reverse order, of
 * what windows gave to a pixel. */
static void see_taps(conv *v, bool back)
{
    const asked *q = v->q;
    int64_t from = back ? v->wide : v->w.c, n = back ? v->out : v->in;
    int64_t c = q->at % (back ? v->w.c : v->wide);
    int64_t at = q->at / (back ? v->w.c : v->wide);
    int64_t first = c / (back ? v->in : v->out) * n;

    begin(v, v->w.taps * n, NULL);
    for (int64_t k = 0; k < v->w.taps; k++) {
        int64_t t = back ? v->w.taps - 1 - k : k;
        int64_t p = (back ? window_at : pixel)(&v->w, at, t);

        for (int64_t i = 0; i < n; i++)
            push(v, p < 0 ? 0 : word((back ? q->dy : q->x) + p * from + first +
                                     i),
                 word(v->weight + (t * v->in + (back ? c % v->in : i)) *
                                      v->wide + (back ? first + i : c)));
        if ((k + 1) % v->w.k[1] == 0)
            end_row(v);
    }
    flush(v);
}

static f32 conv_y(conv *v)
{
    see_taps(v, false);
    return after_layer(v->bias ? f_add(v->sum, word(v->bias + v->q->at %
                                                                 v->wide))
                               : v->sum);
}

/* Add what window o gives to a weight, or to a bias (k -1). */
static void see(conv *v, int64_t o, int64_t k)
{
    const asked *q = v->q;
    int64_t c = q->at % v->wide, p = k < 0 ? 0 : pixel(&v->w, o, k / v->in);

    push(v, k < 0   ? F(1.0f)
            : p < 0 ? 0
                    : word(q->x + p * v->w.c + c / v->out * v->in + k % v->in),
         word(q->dy + o * v->wide + c));
}

/* The windows of a rectangle, in blocks of two by two. */
static void see_rectangle(conv *v, int64_t image, int64_t y, int64_t x,
                          int64_t high, int64_t wide, int64_t k)
{
    const window *w = &v->w;
    int64_t across = (wide + 1) / 2;

    for (int64_t p = 0; p < high * (wide + 1); p++) {
        int64_t i = y + p / 4 / across * 2 + p % 4 / 2;
        int64_t j = x + p / 4 % across * 2 + p % 2;

        if (i < y + high && i < w->out[0] && j < x + wide && j < w->out[1])
            see(v, (image * w->out[0] + i) * w->out[1] + j, k);
    }
}

/* The order of a weight's sum: rectangles of an image, each at most 256 pixels
 * in an even number of whole rows. */
static void see_all(conv *v, int64_t k, bool is_column)
{
    const window *w = &v->w;
    int64_t wide = w->out[1] < 128 ? w->out[1] : 128, high = 256 / wide / 2 * 2;

    for (int64_t image = 0; image < v->q->rows; image++)
        for (int64_t i = 0; i < w->out[0]; i += high)
            for (int64_t j = 0; j < w->out[1]; j += wide) {
                see_rectangle(v, image, i, j, high, wide, k);
                if (!is_column) {
                    flush(v);
                    continue;
                }
                v->sum = column(v->has_sum ? &v->sum : NULL, v->b, v->n);
                v->has_sum = true;
                v->n = 0;
            }
}

/* That of bf16: the pixels two rows at a time.  Of two blocks of two by two
 * pixels beside each other the left one has the even places, the right one the
 * odd ones. */
static void see_twos(conv *v, int64_t k)
{
    const window *w = &v->w;
    int64_t two = (w->out[1] + 3) / 4, twos = (w->out[0] + 1) / 2;

    for (int64_t p = 0; p < v->q->rows * twos * two * 8; p++) {
        int64_t i = p / 8 / two % twos * 2 + p % 8 / 4;
        int64_t j = p / 8 % two * 4 + p % 2 * 2 + p % 4 / 2;

        if (i < w->out[0] && j < w->out[1])
            see(v, (p / 8 / two / twos * w->out[0] + i) * w->out[1] + j, k);
        else
            push(v, 0, 0);
        if ((p + 1) % (8 * two) == 0)
            flush(v);
    }
}

static f32 conv_dparam(conv *v, bool bias)
{
    int64_t k = bias ? -1 : v->q->at / v->wide, row = 8 * (v->w.out[1] / 4 + 1);

    begin(v, row > 256 ? row : 256, sum_before(v->q));
    if (is_bf16() && is_plain(v) && !is_depthwise(v))
        see_twos(v, k);
    else
        see_all(v, k, bias && !is_bf16());
    return v->sum;
}

f32 conv_makes(const asked *q)
{
    int64_t groups = positive(q, "groups");
    conv v;

    memset(&v, 0, sizeof v);
    v.q = q;
    v.wide = q->width;
    v.in = q->in / groups;
    v.out = q->width / groups;
    v.bias = param_of(q, 1, q->width);
    if (!find_window(q, &v.w) || v.in < 1 || v.out < 1 ||
        v.wide > ATTRIBUTE / v.in / v.w.k[0] / v.w.k[1])
        return unknown("conv2d");
    v.weight = param_of(q, 0, v.w.taps * v.in * v.wide);
    if (!v.weight || (param(q->n, 1) && !v.bias))
        return unknown("conv2d");
    if (is_y())
        return conv_y(&v);
    if (is_dx(q, 0))
        return see_taps(&v, true), plus_others(q, v.sum);
    return is_dparam(q, 0) || is_dparam(q, 1) ? conv_dparam(&v, of->index == 1)
                                              : unknown("conv2d");
}

/* ------ poolings ------ */

/* The sum of the pixels of window o that are in the image; *top: the tap of the
 * first of the largest, or of the last NaN, and its number. */
static f32 window_sum(const asked *q, const window *w, int64_t o, int64_t c,
                      int64_t *tap, f32 *top)
{
    f32 sum = 0;

    spend(w->taps);
    *tap = -1;
    for (int64_t t = 0; t < w->taps; t++) {
        int64_t p = pixel(w, o, t);
        f32 x = p < 0 ? 0 : word(q->x + p * w->c + c);

        if (p < 0)
            continue;
        sum = f_add(sum, x);
        if (*tap < 0 || f_lt(*top, x) || f_nan(x)) {
            *tap = t;
            *top = x;
        }
    }
    return sum;
}

/* 1 / what the mean of window o divides by: pixels outside are left out where
 * they are beyond the padding, and where it says so. */
static f32 share(const asked *q, const window *w, int64_t o)
{
    static const char *const behind[] = {"bottom", "right"};
    bool inside = integer(q, "inside", 0), ceil = integer(q, "ceil", 0);
    int64_t nth[2] = {o / w->out[1] % w->out[0], o % w->out[1]}, n[2] = {0, 0};

    spend(w->k[0] + w->k[1]);
    for (int a = 0; a < 2; a++) {
        int64_t more = ceil ? integer(q, behind[a], 0)
                            : (w->k[a] - 1) * w->gap[a] + 1;
        int64_t end = w->in[a] + (inside ? 0 : more);
        int64_t at = nth[a] * w->s[a] - w->before[a];

        for (int64_t i = 0; i < w->k[a]; i++, at += w->gap[a])
            n[a] += at < end && (!inside || at >= 0);
    }
    return f_div(F(1.0f), f_int(n[0] * n[1]));
}

/* The value, or which tap of a window is the largest. */
static f32 pool_y(const asked *q, const window *w, bool is_max)
{
    int64_t o = q->at / w->c, tap;
    f32 top = 0, sum = window_sum(q, w, o, q->at % w->c, &tap, &top);

    return !is_max  ? f_mul(sum, share(q, w, o))
           : is_y() ? top : f_int(tap);
}

/* Add what each window that the pixel is in gives to it, in their order. */
static f32 pool_dx(const asked *q, const window *w, bool is_max)
{
    int64_t c = q->at % w->c, tap;
    f32 sum = 0, top = 0;

    for (int64_t t = w->taps - 1; t >= 0; t--) {
        int64_t o = window_at(w, q->at / w->c, t);
        f32 d = o < 0 ? 0 : word(q->dy + o * w->c + c);

        if (o < 0)
            continue;
        if (is_max)
            window_sum(q, w, o, c, &tap, &top);
        sum = f_add(sum, !is_max    ? f_mul(d, share(q, w, o))
                         : tap == t ? d : 0);
    }
    return plus_others(q, sum);
}

f32 pool_makes(const asked *q)
{
    bool is_max = strcmp(q->n->op, "max_pool") == 0;
    window w;

    if (!find_window(q, &w))
        return unknown(q->n->op);
    if (is_y() || (is_what("kept") && has_rows(of, q->rows, q->size)))
        return pool_y(q, &w, is_max);
    return is_dx(q, 0) ? pool_dx(q, &w, is_max) : unknown(q->n->op);
}
