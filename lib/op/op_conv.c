/* Convolution of images (H,W,C) with weights (kh,kw,C,n), image by image.
 *
 *     y = patches w + bias, relu and so on, as a dense layer on the patches:
 *         what a window sees, in the order (row, pixel, channel)
 *     dw = patches^T d, dbias = sums of d over pixels
 *     dx = patches of d, w rotated: where windows of x overlap, those of d
 *         gather what they left
 *
 * d is dy once it went through the slopes of what the plan folded: an
 * activation, and a max pooling whose y is then the node's.  Neither patches
 * nor what a folded pooling read is kept: d is made again from dy and the
 * numbers of the largest.
 *
 * The native backends' kernels read patches from the image (kernel/k_conv.h);
 * for a backend that only multiplies they are written out, a few output rows at
 * a time, and multiplied.  Same bits; where K is cut kernel/k_conv.h says. */
#include "backend/backend.h"
#include "op/op_table.h"
#include "op/window.h"

#include <string.h>

static int conv_shape(ls_node *n)
{
    return ls__window_fit(n, n->features);
}

/* Floats of one image's y before a pooling. */
static int64_t full_size(const ls_node *n)
{
    return n->window.h * n->window.w * ls__width(n);
}

/* With a pooling the numbers of the largest, else what an activation wants. */
static int64_t conv_stash(const ls_node *n)
{
    return n->pooled || n->activation ? n->size : 0;
}

static double conv_flops(const ls_node *n)
{
    const ls__window *w = &n->window;

    return 2.0 * (double)(w->h * w->w) * (double)(w->kh * w->kw) *
           (double)ls__width(n->in[0]) * (double)ls__width(n);
}

/* Windows in one image, n columns of B from (taps in,n) weights. */
static ls__conv windows(const ls__frame *f, const ls__window *w, int64_t n)
{
    int64_t row = f->cols * f->c;

    return (ls__conv){.c = f->c, .row = row, .step_y = w->sy * row,
                      .step_x = w->sx * f->c, .kh = w->kh,
                      .run = w->kw * f->c, .h = w->h, .w = w->w,
                      .out = {.m = w->h * w->w, .n = n,
                              .k = w->kh * w->kw * f->c, .b_row = n,
                              .b_col = 1, .c_row = n, .scale = 1}};
}

static ls__conv windows_of_x(const ls_node *n)
{
    ls__frame f = ls__frame_of_x(n);

    return windows(&f, &n->window, ls__width(n));
}

static ls__conv windows_of_dy(const ls_node *n)
{
    const ls_node *x = n->in[0];
    ls__frame f = ls__frame_of_dy(n);
    ls__window w = {.kh = n->window.kh, .kw = n->window.kw, .sy = 1, .sx = 1,
                    .h = x->shape[0], .w = x->shape[1]};

    return windows(&f, &w, x->shape[2]);
}

/* ------ scratch ------ */

static int64_t whole_vectors(int64_t floats)
{
    return (floats + 15) / 16 * 16;
}

/* Output rows of which patches are written at once. */
static int64_t rows_at_once(const ls__conv *v)
{
    return v->w < LS__CHUNK ? LS__CHUNK / v->w : 1;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t patches_size(const ls__conv *v)
{
    return whole_vectors(larger(rows_at_once(v) * v->w, LS__CHUNK) * v->out.k);
}

/* Floats of one channel's dw with its runs filled up to vectors. */
static int64_t transposed_row(const ls__conv *v)
{
    return v->kh * whole_vectors(v->run);
}

/* Floats of the transposed dw, which only kernels of the backend's own have. */
static int64_t turned_size(const ls__conv *v, const ls__backend *backend)
{
    return backend->convs ? v->out.n * transposed_row(v) : 0;
}

/* What a product of windows needs besides its image. */
static int64_t product_scratch(const ls__conv *v, const ls__backend *backend)
{
    return backend->convs
               ? whole_vectors(backend->convs->scratch(v))
               : patches_size(v) +
                     whole_vectors(larger(v->out.k, LS__CHUNK) * v->out.n) +
                     backend->products->scratch(v->out.k, v->out.n);
}

/* d or y before the pooling; the framed image; the transposed dw; the
 * product's. */
static int64_t conv_scratch(const ls_node *n, int64_t rows,
                            const ls__backend *backend)
{
    ls__frame x = ls__frame_of_x(n), dy = ls__frame_of_dy(n);
    ls__conv of_x = windows_of_x(n), of_dy = windows_of_dy(n);

    (void)rows;
    return whole_vectors(full_size(n)) +
           whole_vectors(larger(ls__frame_size(&x), ls__frame_size(&dy))) +
           turned_size(&of_x, backend) +
           larger(product_scratch(&of_x, backend),
                  product_scratch(&of_dy, backend));
}

typedef struct parts {
    float *full, *image, *turned, *rest;
} parts;

static parts parts_of(const ls__run *r)
{
    ls__frame x = ls__frame_of_x(r->node), dy = ls__frame_of_dy(r->node);
    ls__conv of_x = windows_of_x(r->node);
    float *image = r->scratch + whole_vectors(full_size(r->node));
    float *turned = image + whole_vectors(larger(ls__frame_size(&x),
                                                 ls__frame_size(&dy)));

    return (parts){r->scratch, image, turned,
                   turned + turned_size(&of_x, r->backend)};
}

/* y's and x's; dw has kernels of its own. */
static int conv_prepare(const ls_node *n, int64_t rows, bool with_dx,
                        const ls__backend *b,
                        ls__prepared *prepared[LS__PRODUCTS])
{
    ls__conv of_x = windows_of_x(n), of_dy = windows_of_dy(n);
    int status;

    (void)rows;
    status = b->preparer->conv(&of_x, false, b->bf16, &prepared[LS__OF_Y]);
    if (status < 0)
        return status;
    return with_dx ? b->preparer->conv(&of_dy, true, b->bf16,
                                       &prepared[LS__OF_X])
                   : 0;
}

/* ------ by patches: for backends that only multiply ------ */

/* The patches of output rows y .. y+rows. */
static void write_patches(const ls__conv *v, int64_t y, int64_t rows,
                          float *out)
{
    for (int64_t i = y; i < y + rows; i++)
        for (int64_t j = 0; j < v->w; j++)
            for (int64_t ky = 0; ky < v->kh; ky++, out += v->run)
                memcpy(out, v->x + i * v->step_y + j * v->step_x + ky * v->row,
                       (size_t)v->run * sizeof *out);
}

static int64_t rows_from(const ls__conv *v, int64_t y)
{
    return larger(0, v->h - y < rows_at_once(v) ? v->h - y : rows_at_once(v));
}

static void patches_product(const ls__run *r, const ls__conv *v, float *scratch)
{
    for (int64_t y = 0, rows; (rows = rows_from(v, y)) > 0; y += rows) {
        int64_t skip = y * v->w * v->out.n;
        ls__product g = v->out;

        write_patches(v, y, rows, scratch);
        g.m = rows * v->w;
        g.a = scratch;
        g.a_row = g.k;
        g.a_col = 1;
        g.c += skip;
        g.slope = g.slope ? g.slope + skip : NULL;
        g.times = g.times ? g.times + skip : NULL;
        g.add = g.add ? g.add + skip : NULL;
        ls__multiply(r->backend, &g, scratch + patches_size(v) +
                                 whole_vectors(larger(g.k, LS__CHUNK) * g.n));
    }
}

/* One chunk of K, a rectangle of pixels from (y,x) on in blocks of two by two:
 * patches and dy; how many. */
static int64_t write_chunk(const ls__conv *v, int64_t y, int64_t x,
                           float *patches, float *dy)
{
    int64_t w = ls__conv_chunk_w(v->w), h = ls__conv_chunk_h(v->w), count = 0;

    for (int64_t b = 0; b < 4 * (h / 2) * ((w + 1) / 2); b++) {
        int64_t block = b / 4, across = (w + 1) / 2;
        int64_t i = y + block / across * 2 + b % 4 / 2;
        int64_t j = x + block % across * 2 + b % 2;
        ls__conv one = *v;

        if (i >= v->h || j >= x + w || j >= v->w)
            continue;
        one.x += j * v->step_x;
        one.w = 1;
        write_patches(&one, i, 1, patches + count * v->out.k);
        memcpy(dy + count * v->out.n, v->out.b + (i * v->w + j) * v->out.n,
               (size_t)v->out.n * sizeof *dy);
        count++;
    }
    return count;
}

static void patches_grad(const ls__run *r, const ls__conv *v, float *dbias,
                         float *scratch)
{
    int64_t w = ls__conv_chunk_w(v->w), h = ls__conv_chunk_h(v->w);
    float *dy = scratch + patches_size(v);
    ls__product g = v->out;

    g.m = v->out.k;
    g.a = scratch;
    g.a_row = 1;
    g.a_col = g.m;
    g.b = dy;
    for (int64_t y = 0; y < v->h; y += h)
        for (int64_t x = 0; x < v->w; x += w) {
            g.k = write_chunk(v, y, x, scratch, dy);
            ls__multiply(r->backend, &g,
                             dy + whole_vectors(larger(g.m, LS__CHUNK) * g.n));
            if (dbias)
                r->kernels->column_sum(g.k, g.n, dy, g.accumulate, dbias);
            g.accumulate = true;
        }
}

/* The weights with their taps in reverse order and transposed: (taps n,C). */
static void rotate(const ls_node *n, const float *w, float *out)
{
    int64_t taps = n->window.kh * n->window.kw, c = ls__width(n->in[0]);
    int64_t k = ls__width(n);

    for (int64_t t = taps - 1; t >= 0; t--)
        for (int64_t j = 0; j < k; j++)
            for (int64_t i = 0; i < c; i++)
                *out++ = w[(t * c + i) * k + j];
}

/* ------ forward ------ */

/* The image as the backend's y reads it. */
static const void *image_for_backend(const ls__run *r, const ls__conv *v,
                                     float *scratch)
{
    return r->backend->convs->image ? r->backend->convs->image(v, scratch)
                                    : v->x;
}

static void product(const ls__run *r, const ls__conv *v, float *scratch)
{
    if (v->out.prepared)
        v->out.prepared->conv(v->out.prepared, v, scratch);
    else if (r->backend->convs)
        r->backend->convs->y(v, image_for_backend(r, v, scratch), 0, v->h);
    else
        patches_product(r, v, scratch);
}

static ls__pooling folded_pooling(const ls_node *n)
{
    return ls__pooling_of(&n->pooling, n->window.h, n->window.w, ls__width(n));
}

/* Rows first .. last of what the folded pooling makes of an image. */
static void pooling_rows(const ls__run *r, int64_t first, int64_t last,
                         const float *full, float *y, float *number)
{
    ls__pooling p = folded_pooling(r->node);

    r->kernels->max_pool(&p, first, last, full,
                         r->node->activation == LS__RELU, y, number);
}

/* Each row of the pooling as soon as there is what it reads, still in cache. */
static void pooled_product(const ls__run *r, const ls__conv *v, float *scratch,
                           float *y, float *number)
{
    const ls__window *p = &r->node->pooling;
    const void *image = image_for_backend(r, v, scratch);
    int64_t done = 0;

    for (int64_t i = 0; i < p->h; i++) {
        int64_t end = i * p->sy - p->top + p->kh;

        end = end < v->h ? end : v->h;
        if (end > done)
            r->backend->convs->y(v, image, done, end);
        done = larger(done, end);
        pooling_rows(r, i, i + 1, v->out.c, y, number);
    }
}

static void image_fwd(const ls__run *r, ls__conv *v, int64_t i)
{
    const ls_node *n = r->node;
    ls__frame f = ls__frame_of_x(n);
    parts s = parts_of(r);
    float *y = r->y + i * n->size;
    float *stash = r->stash ? r->stash + i * n->size : NULL;

    v->x = ls__frame_fill(&f, (const float *)r->x[0] + i * n->in[0]->size,
                          s.image);
    v->out.c = n->pooled ? s.full : y;
    v->out.slope = n->activation && !n->pooled ? stash : NULL;
    v->out.add = n->residual ? (const float *)r->x[1] + i * n->size : NULL;
    if (n->pooled && r->backend->convs && !v->out.prepared) {
        pooled_product(r, v, s.rest, y, stash);
        return;
    }
    product(r, v, s.rest);
    if (n->pooled)
        pooling_rows(r, 0, n->shape[0], s.full, y, stash);
}

static void conv_fwd(const ls__run *r)
{
    ls__conv v = windows_of_x(r->node);

    v.out.b = r->param[0];
    v.out.packed = r->packed[0];
    v.out.prepared = r->prepared[LS__OF_Y];
    v.out.bias = r->node->params > 1 ? r->param[1] : NULL;
    v.out.round = r->backend->bf16;
    v.out.activation = r->node->activation;
    for (int64_t i = 0; i < r->rows; i++)
        image_fwd(r, &v, i);
}

/* ------ backward ------ */

/* d of image i: dy, or made of it. */
static const float *slope(const ls__run *r, int64_t i, float *full)
{
    const ls_node *n = r->node;
    const float *dy = r->dy + i * n->size;
    const float *stash = r->stash ? r->stash + i * n->size : NULL;

    if (n->pooled) {
        ls__pooling p = folded_pooling(n);

        r->kernels->max_pool_grad(&p, stash, dy, full);
        return full;
    }
    if (!n->activation || r->dy_is_pre)
        return dy;
    r->kernels->slope_grad(n->size, stash, dy, full);
    return full;
}

/* One number at most in each block of two by two: see
 * kernel/k_conv_sparse.h. */
static bool is_sparse(const ls__run *r)
{
    const ls__window *p = &r->node->pooling;

    return r->backend->convs && r->node->pooled && p->kh == 2 && p->kw == 2 &&
           p->sy == 2 && p->sx == 2 && !p->top && !p->left;
}

/* Are weight gradients made in their transposed form? */
static bool is_turned(const ls__run *r)
{
    return is_sparse(r) || (r->backend->convs && r->backend->convs->turned);
}

/* dw (+)= patches^T d, dbias (+)= sums of d */
static void weights_grad(const ls__run *r, int64_t i, const float *d, parts s)
{
    const ls_node *n = r->node;
    ls__frame f = ls__frame_of_x(n);
    ls__conv v = windows_of_x(n);

    v.x = ls__frame_fill(&f, (const float *)r->x[0] + i * n->in[0]->size,
                         s.image);
    v.out.b = d;
    v.out.c = is_turned(r) ? s.turned : r->dparam[0];
    v.out.accumulate = r->add || i > 0;
    if (r->backend->convs)
        r->backend->convs->dw(&v, r->dparam[1], s.rest);
    else
        patches_grad(r, &v, r->dparam[1], s.rest);
}

/* dx = (patches of d, w rotated) slope + addend */
static void input_grad(const ls__run *r, int64_t i, const float *d, parts s)
{
    const ls_node *n = r->node;
    int64_t at = i * n->in[0]->size;
    ls__frame f = ls__frame_of_dy(n);
    ls__conv v = windows_of_dy(n);

    v.x = ls__frame_fill(&f, d, s.image);
    v.out.packed = r->packed[1];
    v.out.prepared = r->prepared[LS__OF_X];
    if (!r->backend->convs) {
        rotate(n, r->param[0], s.rest + patches_size(&v));
        v.out.b = s.rest + patches_size(&v);
    }
    v.out.c = r->dx[0] + at;
    v.out.times = r->slope_of_x ? r->slope_of_x + at : NULL;
    v.out.add = r->addend[0] ? r->addend[0] + at : NULL;
    product(r, &v, s.rest);
}

/* 16 by 16 numbers of one run of dw, from (m,j) on, to their transposed place,
 * or back: so that a cache line is touched once. */
static void transpose_block(const ls__conv *v, bool back, int64_t m, int64_t j,
                            float *dw, float *transposed)
{
    int64_t n = v->out.n, row = transposed_row(v);
    int64_t end_m = m + 16 < v->run ? m + 16 : v->run;
    int64_t end_j = j + 16 < n ? j + 16 : n;

    for (; m < end_m; m++)
        for (int64_t k = j; k < end_j; k++)
            if (back)
                dw[m * n + k] = transposed[k * row + m] + 0.0f;
            else
                transposed[k * row + m] = dw[m * n + k];
}

/* dw to its transposed form, or back, where an underflow's -0 becomes +0. */
static void transpose_grad(const ls__conv *v, bool back, float *dw,
                           float *transposed)
{
    for (int64_t ky = 0; ky < v->kh; ky++)
        for (int64_t m = 0; m < v->run; m += 16)
            for (int64_t j = 0; j < v->out.n; j += 16)
                transpose_block(v, back, m, j, dw + ky * v->run * v->out.n,
                                transposed + ky * whole_vectors(v->run));
}

/* Under a 2x2 pooling, from what it kept. */
static void pooled_weights_grad(const ls__run *r, int64_t i, parts s)
{
    const ls_node *n = r->node;
    ls__frame f = ls__frame_of_x(n);
    ls__conv v = windows_of_x(n);
    ls__pooling p = folded_pooling(n);
    ls__pooled_dy d = {&p, r->dy + i * n->size, r->stash + i * n->size};

    v.x = ls__frame_fill(&f, (const float *)r->x[0] + i * n->in[0]->size,
                         s.image);
    v.out.accumulate = r->add || i > 0;
    r->backend->convs->dw_pooled(&v, &d, s.turned, r->dparam[1], s.rest);
}

static void pooled_bwd(const ls__run *r, parts s)
{
    for (int64_t i = 0; r->dparam[0] && i < r->rows; i++)
        pooled_weights_grad(r, i, s);
    for (int64_t i = 0; r->dx[0] && i < r->rows; i++)
        input_grad(r, i, slope(r, i, s.full), s);
}

static void full_bwd(const ls__run *r, parts s)
{
    for (int64_t i = 0; i < r->rows; i++) {
        const float *d = slope(r, i, s.full);

        if (r->dparam[0])
            weights_grad(r, i, d, s);
        if (r->dx[0])
            input_grad(r, i, d, s);
    }
}

static void conv_bwd(const ls__run *r)
{
    ls__conv v = windows_of_x(r->node);
    parts s = parts_of(r);
    bool turned = r->dparam[0] && is_turned(r);

    if (turned)
        memset(s.turned, 0,
               (size_t)(v.out.n * transposed_row(&v)) * sizeof *s.turned);
    if (turned && r->add)
        transpose_grad(&v, false, r->dparam[0], s.turned);
    if (is_sparse(r))
        pooled_bwd(r, s);
    else
        full_bwd(r, s);
    if (turned)
        transpose_grad(&v, true, r->dparam[0], s.turned);
}

static ls_node *conv_declare(ls_node *n)
{
    int64_t kh = n->window.kh, kw = n->window.kw, c = ls__width(n->in[0]);
    int64_t out = n->features, taps = kh * kw;

    n = ls__node_param(n, "kernel", LS__INIT_LECUN_NORMAL, taps * c, taps * out,
                       4, (int64_t[]){kh, kw, c, out});
    return n && n->bias ? ls__node_param(n, "bias", LS__INIT_ZEROS, taps * c,
                                         taps * out, 1, &out)
                        : n;
}

static const ls__attribute attributes[] = {
    LS__FIELD("features", LS__INTEGER, features),
    LS__FIELD("bias", LS__YES_NO, bias),
    LS__WINDOW_ATTRIBUTES,
    {0}};

const ls__op ls__op_conv = {
    .name = "conv2d", .inputs = 1, .is_product = true, .passes = 2, .reads = 1,
    .attributes = attributes, .shape = conv_shape, .declare = conv_declare,
    .stash = conv_stash, .flops = conv_flops,
    .scratch = conv_scratch, .prepare = conv_prepare,
    .forward = conv_fwd, .backward = conv_bwd};

static ls_node *conv2d(ls_node *x, int64_t n, const ls_window *window,
                       const char *name, bool bias)
{
    ls_node *y = ls__node_new(&ls__op_conv, name, x, NULL, NULL);

    if (y) {
        y->window = ls__window_new(window);
        y->features = n;
        y->bias = bias;
    }
    return ls__node_done(y);
}

ls_node *ls_conv2d(ls_node *x, int64_t n, ls_window window, const char *name)
{
    return conv2d(x, n, &window, name, true);
}

ls_node *ls_conv2d_no_bias(ls_node *x, int64_t n, ls_window window,
                           const char *name)
{
    return conv2d(x, n, &window, name, false);
}
