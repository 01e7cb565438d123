/* SPDX-License-Identifier: BSD-3-Clause */
/* The arithmetic of windows (JAX's padding), and images with padding. */
#include "op/window.h"
#include "base/assert.h"

enum { MOST = 4096 }; /* pixels of a window or stride: nothing overflows */

const char *const ls__padding_words[] = {
    [LS_SAME] = "same", [LS_VALID] = "valid", [LS_CAUSAL] = "causal",
    [LS_EXPLICIT] = "explicit", NULL};

_Static_assert(sizeof ls__padding_words / sizeof *ls__padding_words ==
               LS_EXPLICIT + 2, "a word for each");

ls__window ls__window_new(const ls_window *given)
{
    return (ls__window){.kh = given->height, .kw = given->width,
                        .sy = given->stride_y, .sx = given->stride_x,
                        .padding = given->padding};
}

/* Pixels that a window covers, the gaps between its taps included. */
static int64_t reach(int64_t k, int64_t dilation)
{
    return (k - 1) * dilation + 1;
}

/* The number of windows of `reach` pixels, s apart, before `end`; with ceil one
 * more for the pixels left over, if it begins before the image ends. */
static int64_t fitting(int64_t end, int64_t image, int64_t reach, int64_t s,
                       bool ceil)
{
    int64_t room = end - reach + (ceil ? s - 1 : 0);
    int64_t n = room < 0 ? 0 : room / s + 1;

    return ceil && (n - 1) * s >= image ? n - 1 : n;
}

/* One axis, with padding that is not given by numbers: what comes out, and the
 * padding before; reach, stride. */
static void fit(int64_t in, int64_t k, int64_t s, const ls__window *w,
                int64_t *out, int64_t *low)
{
    ls_padding padding = w->padding;
    int64_t missing;

    if (padding == LS_VALID) {
        *out = fitting(in, in, k, s, w->ceil);
        *low = 0;
        return;
    }
    *out = (in + s - 1) / s;
    if (padding == LS_CAUSAL) {
        *low = k - 1;
        return;
    }
    missing = (*out - 1) * s + k - in;
    *low = missing > 0 ? missing / 2 : 0;
}

static bool is_size(int64_t n)
{
    return n >= 1 && n <= MOST;
}

static bool is_padding(int64_t n)
{
    return n >= 0 && n <= MOST;
}

/* Padding by numbers. */
static int check_given(const ls_node *n)
{
    const ls__window *w = ls__window_of(n);
    bool explicit = w->padding == LS_EXPLICIT;

    if (!explicit && (w->pixels.top || w->pixels.bottom || w->pixels.left ||
                      w->pixels.right))
        return ls__fail(LS_EINVAL, "%s \"%s\": pixels of padding are given, "
                        "but the padding is \"%s\", not LS_EXPLICIT",
                        n->op->name, n->name, ls__padding_words[w->padding]);
    if (!is_padding(w->pixels.top) || !is_padding(w->pixels.bottom) ||
        !is_padding(w->pixels.left) || !is_padding(w->pixels.right))
        return ls__fail(LS_EINVAL, "%s \"%s\": padding of %lld pixels at the "
                        "top, %lld at the bottom, %lld left, %lld right: each "
                        "must be 0..%d", n->op->name, n->name,
                        (long long)w->pixels.top, (long long)w->pixels.bottom,
                        (long long)w->pixels.left, (long long)w->pixels.right,
                        MOST);
    return 0;
}

static int check(const ls_node *n, ls_padding last)
{
    const ls__window *w = ls__window_of(n);
    char text[LS__SHAPE_TEXT];

    if (ls__want(n, 0, LS_F32, 3) < 0)
        return LS_ESHAPE;
    if (n->in[0]->rank != 3)
        return ls__fail(LS_ESHAPE, "%s \"%s\": x is %s; an image has height, "
                        "width and channels", n->op->name, n->name,
                        ls__shape_text(text, n->in[0]->rank,
                                       n->in[0]->shape));
    if (!is_size(w->kh) || !is_size(w->kw) || !is_size(w->sy) ||
        !is_size(w->sx) || (int)w->padding < LS_SAME ||
        (int)w->padding > (int)last)
        return ls__fail(LS_EINVAL, "%s \"%s\": window %lld by %lld, strides "
                        "%lld and %lld, padding %d: sizes must be 1..%d, "
                        "padding LS_SAME, LS_VALID, LS_CAUSAL or "
                        "LS_EXPLICIT", n->op->name,
                        n->name,
                        (long long)w->kh, (long long)w->kw, (long long)w->sy,
                        (long long)w->sx, (int)w->padding, MOST);
    if (!is_size(w->dy) || !is_size(w->dx))
        return ls__fail(LS_EINVAL, "%s \"%s\": dilations %lld and %lld: they "
                        "must be 1..%d", n->op->name, n->name,
                        (long long)w->dy, (long long)w->dx, MOST);
    return check_given(n);
}

static void set_usual(int64_t *n)
{
    if (*n == 0)
        *n = 1;
}

static int does_not_fit(const ls_node *n)
{
    const ls__window *w = ls__window_of(n);
    const int64_t *x = n->in[0]->shape;

    return ls__fail(LS_ESHAPE, "%s \"%s\": a window of %lld by %lld does not "
                    "fit into an image of %lld by %lld", n->op->name, n->name,
                    (long long)reach(w->kh, w->dy),
                    (long long)reach(w->kw, w->dx),
                    (long long)(x[0] + w->pixels.top + w->pixels.bottom),
                    (long long)(x[1] + w->pixels.left + w->pixels.right));
}

/* Size, padding before and what comes out, from what is given. */
static void fit_both(const int64_t *x, ls__window *w)
{
    int64_t ry = reach(w->kh, w->dy), rx = reach(w->kw, w->dx);

    if (w->padding == LS_EXPLICIT) {
        w->top = w->pixels.top;
        w->left = w->pixels.left;
        w->h = fitting(w->top + x[0] + w->pixels.bottom, w->top + x[0], ry,
                       w->sy, w->ceil);
        w->w = fitting(w->left + x[1] + w->pixels.right, w->left + x[1], rx,
                       w->sx, w->ceil);
        return;
    }
    fit(x[0], ry, w->sy, w, &w->h, &w->top);
    fit(x[1], rx, w->sx, w, &w->w, &w->left);
}

int ls__window_fit(ls_node *n, ls_padding last, int64_t channels)
{
    const int64_t *x = n->in[0]->shape;
    ls__window *w = n->of;
    int status;

    LS__ASSERT(n->op->of >= sizeof *w);
    set_usual(&w->sy);
    set_usual(&w->sx);
    set_usual(&w->dy);
    set_usual(&w->dx);
    if ((status = check(n, last)) < 0)
        return status;
    fit_both(x, w);
    if (!w->h || !w->w)
        return does_not_fit(n);
    return ls__node_set_shape(n, LS_F32, 3,
                              (int64_t[]){w->h, w->w, channels ? channels
                                                               : x[2]});
}

ls__halo ls__halo_of_x(const ls_node *n)
{
    const ls__window *w = ls__window_of(n);
    const int64_t *x = n->in[0]->shape;

    return (ls__halo){.h = x[0], .w = x[1], .c = x[2],
                       .top = w->top, .left = w->left, .sy = 1, .sx = 1,
                       .rows = (w->h - 1) * w->sy + reach(w->kh, w->dy),
                       .cols = (w->w - 1) * w->sx + reach(w->kw, w->dx)};
}

ls__halo ls__halo_of_dy(const ls_node *n)
{
    const ls__window *w = ls__window_of(n);
    const int64_t *x = n->in[0]->shape;
    int64_t above = reach(w->kh, w->dy) - 1, before = reach(w->kw, w->dx) - 1;

    return (ls__halo){.h = w->h, .w = w->w, .c = ls__width(n),
                       .top = above - w->top, .left = before - w->left,
                       .sy = w->sy, .sx = w->sx,
                       .rows = x[0] + above, .cols = x[1] + before};
}

int64_t ls__halo_size(const ls__halo *f)
{
    return f->rows * f->cols * f->c;
}

static void fill(const ls__halo *f, int64_t n, const void *way,
                 const float *x, void *out)
{
    const ls__fill *by = way;

    if (by->norm) {
        float *y = by->round ? by->pixels : out;
        ls__batch_norm norm = *by->norm;

        norm.rows = 1;
        norm.each = n;
        norm.x = x;
        ls__kernels()->batch_norm(&norm, y);
        x = y;
    }
    if (by->round)
        by->round(n * f->c, x, out);
}

const float *ls__halo_make(const ls__halo *f, const float *x,
                           const ls__fill *by, float *out)
{
    ls__halo as = *f;

    as.bf16 = by->round;
    return ls__halo_fill(&as, x, by->norm || by->round ? fill : NULL, by, out);
}

ls__pooling ls__pooling_of(const ls__window *w, int64_t in_h, int64_t in_w,
                           int64_t c)
{
    return (ls__pooling){.in_h = in_h, .in_w = in_w, .c = c, .kh = w->kh,
                         .kw = w->kw, .sy = w->sy, .sx = w->sx, .top = w->top,
                         .left = w->left, .h = w->h, .w = w->w,
                         .dy = w->dy, .dx = w->dx, .inside = w->inside,
                         .end_y = in_h + (w->ceil ? w->pixels.bottom
                                                  : reach(w->kh, w->dy)),
                         .end_x = in_w + (w->ceil ? w->pixels.right
                                                  : reach(w->kw, w->dx))};
}
