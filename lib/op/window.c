/* The arithmetic of windows (JAX's padding), and images with zeros around
 * them. */
#include "op/window.h"

#include <string.h>

enum { MOST = 4096 }; /* pixels of a window or stride: nothing overflows */

const char *const ls__padding_words[] = {
    [LS_SAME] = "same", [LS_VALID] = "valid", [LS_CAUSAL] = "causal", NULL};

ls__window ls__window_new(const ls_window *given)
{
    return (ls__window){.kh = given->height,
                        .kw = given->width,
                        .sy = given->stride_y ? given->stride_y : 1,
                        .sx = given->stride_x ? given->stride_x : 1,
                        .padding = given->padding};
}

/* One axis: what comes out, and the padding before. */
static void fit(int64_t in, int64_t k, int64_t s, ls_padding padding,
                int64_t *out, int64_t *low)
{
    int64_t missing;

    if (padding == LS_VALID) {
        *out = in < k ? 0 : (in - k) / s + 1;
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

static int check(const ls_node *n)
{
    const ls__window *w = &n->window;
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
        (int)w->padding > LS_CAUSAL)
        return ls__fail(LS_EINVAL, "%s \"%s\": window %lld by %lld, strides "
                        "%lld and %lld, padding %d: sizes must be 1..%d, "
                        "padding LS_SAME, LS_VALID or LS_CAUSAL", n->op->name,
                        n->name,
                        (long long)w->kh, (long long)w->kw, (long long)w->sy,
                        (long long)w->sx, (int)w->padding, MOST);
    return 0;
}

int ls__window_fit(ls_node *n, int64_t channels)
{
    const int64_t *x = n->in[0]->shape;
    ls__window *w = &n->window;
    int status = check(n);

    if (status < 0)
        return status;
    fit(x[0], w->kh, w->sy, w->padding, &w->h, &w->top);
    fit(x[1], w->kw, w->sx, w->padding, &w->w, &w->left);
    if (!w->h || !w->w)
        return ls__fail(LS_ESHAPE, "%s \"%s\": a window of %lld by %lld does "
                        "not fit into an image of %lld by %lld",
                        n->op->name, n->name, (long long)w->kh,
                        (long long)w->kw, (long long)x[0], (long long)x[1]);
    return ls__node_set_shape(n, LS_F32, 3,
                              (int64_t[]){w->h, w->w, channels ? channels
                                                               : x[2]});
}

ls__frame ls__frame_of_x(const ls_node *n)
{
    const ls__window *w = &n->window;
    const int64_t *x = n->in[0]->shape;

    return (ls__frame){.h = x[0], .w = x[1], .c = x[2],
                       .top = w->top, .left = w->left, .sy = 1, .sx = 1,
                       .rows = (w->h - 1) * w->sy + w->kh,
                       .cols = (w->w - 1) * w->sx + w->kw};
}

ls__frame ls__frame_of_dy(const ls_node *n)
{
    const ls__window *w = &n->window;
    const int64_t *x = n->in[0]->shape;

    return (ls__frame){.h = w->h, .w = w->w, .c = ls__width(n),
                       .top = w->kh - 1 - w->top, .left = w->kw - 1 - w->left,
                       .sy = w->sy, .sx = w->sx,
                       .rows = x[0] + w->kh - 1, .cols = x[1] + w->kw - 1};
}

int64_t ls__frame_size(const ls__frame *f)
{
    return f->rows * f->cols * f->c;
}

static void zero(float *out, int64_t n)
{
    if (n > 0)
        memset(out, 0, (size_t)n * sizeof *out);
}

/* One row of pixels between its zeros; those beyond the frame are left out. */
static void fill_row(const ls__frame *f, const float *x, float *out)
{
    int64_t c = f->c, room = (f->cols - f->left + f->sx - 1) / f->sx;
    int64_t n = f->w < room ? f->w : room;

    if (f->sx == 1) {
        zero(out, f->left * c);
        memcpy(out + f->left * c, x, (size_t)(n * c) * sizeof *x);
        zero(out + (f->left + n) * c, (f->cols - f->left - n) * c);
        return;
    }
    zero(out, f->cols * c);
    for (int64_t j = 0; j < n; j++)
        memcpy(out + (f->left + j * f->sx) * c, x + j * c,
               (size_t)c * sizeof *x);
}

const float *ls__frame_fill(const ls__frame *f, const float *x, float *out)
{
    if (f->rows == f->h && f->cols == f->w)
        return x;
    for (int64_t r = 0; r < f->rows; r++) {
        int64_t i = (r - f->top) / f->sy;
        float *row = out + r * f->cols * f->c;

        if (r >= f->top && (r - f->top) % f->sy == 0 && i < f->h)
            fill_row(f, x + i * f->w * f->c, row);
        else
            zero(row, f->cols * f->c);
    }
    return out;
}

ls__pooling ls__pooling_of(const ls__window *w, int64_t in_h, int64_t in_w,
                           int64_t c)
{
    return (ls__pooling){.in_h = in_h, .in_w = in_w, .c = c, .kh = w->kh,
                         .kw = w->kw, .sy = w->sy, .sx = w->sx, .top = w->top,
                         .left = w->left, .h = w->h, .w = w->w};
}
