/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolution of images (H,W,C) with weights (kh,kw,C,n), image by image.
 *
 *     y = patches w + bias, relu and so on, as a dense layer on the patches:
 *         what a window sees, in the order (row, pixel, channel)
 *     dw = patches^T d, dbias = sums of d over pixels
 *     dx = patches of d, w rotated: where windows of x overlap, those of d
 *         gather what they left
 *
 * The plan may fuse an activation and a max pooling; the node's y is then the
 * pooling's, and d is dy through their slopes.  Neither patches nor the fused
 * pooling's input are kept: d is made again from dy and the places of maxima.
 *
 * The native backends' kernels read patches from the image (implicit im2col,
 * kernel/k_conv.h); one that only multiplies has im2col (conv_im2col.c).
 * Same bits; where K is cut kernel/k_conv.h says.  Groups of channels are
 * convolutions of their own, one after the other, but where each channel is a
 * group (conv_depthwise.c). */
#include "backend/backend.h"
#include "base/least.h"
#include "base/sized.h"
#include "op/conv.h"
#include "op/op_table.h"
#include "op/window.h"

#include <string.h>

static int no_groups(const ls_node *n)
{
    const ls__conv_of *of = n->of;

    return ls__fail(LS_ESHAPE, "conv2d \"%s\": %lld groups do not divide %lld "
                    "channels and %lld outputs", n->name, (long long)of->groups,
                    (long long)ls__width(n->in[0]), (long long)of->features);
}

static int conv_shape(ls_node *n)
{
    const ls__conv_of *of = n->of;
    int status = ls__window_fit(n, LS_EXPLICIT, of->features);

    if (status < 0)
        return status;
    return of->groups < 1 || ls__width(n->in[0]) % of->groups ||
                   of->features % of->groups
               ? no_groups(n) : 0;
}

static double conv_flops(const ls_node *n)
{
    const ls__window *w = ls__window_of(n);

    return 2.0 * (double)(w->h * w->w) * (double)(w->kh * w->kw) *
           (double)(ls__width(n->in[0]) / ls__conv_groups(n)) *
           (double)ls__width(n);
}

static const ls__conv_made *made_of(const ls__run *r)
{
    return r->in->made;
}

static const ls__convs *reader_of(const ls__run *r)
{
    return ls__conv_reader(made_of(r), r->backend);
}

/* ------ scratch ------ */

typedef struct parts {
    float *full, *image, *transposed, *rest;
} parts;

static parts parts_of(const ls__run *r)
{
    ls__conv of_x = ls__conv_of_x(r->node);
    float *image = r->scratch + ls__whole_vectors(ls__conv_full_size(r->node));
    float *transposed = image + made_of(r)->images *
                                    ls__conv_image_room(r->node, reader_of(r));

    return (parts){r->scratch, image, transposed,
                   transposed + ls__conv_transposed_size(made_of(r), &of_x)};
}

/* v has x from image i on, with padding. */
static void pad_x(const ls__run *r, int64_t i, parts s, ls__conv *v)
{
    ls__halo f = ls__halo_of_x(r->node);

    ls__conv_pad(r->node, &f,
                 (const float *)r->x[0] + i * r->node->in[0]->size,
                 reader_of(r),
                 (ls__fill){.norm = r->lent.n ? &r->lent : NULL,
                            .pixels = s.rest}, s.image, v);
}

/* ------ forward ------ */

/* The image as the backend's y reads it. */
static const void *image_of(const ls__convs *reader, const ls__conv *v,
                            float *scratch)
{
    return reader->image ? reader->image(v, scratch) : v->x;
}

/* Can zeros between what stands of dy, where y has a stride, be left out? */
static bool is_apart(const ls__run *r, const ls__convs *reader)
{
    const ls__window *w = ls__window_of(r->node);

    return made_of(r)->way <= LS__CONV_POOLED && reader->skips &&
           w->sy * w->sx > 1 && w->kh * w->kw <= 64 &&
           ls__width(r->node) % LS__BF16_STEP == 0;
}

/* One image's dx. */
static void dx_apart(const ls__run *r, const ls__conv *v,
                     const ls__convs *reader, float *scratch)
{
    const char *image = image_of(reader, v, scratch);
    int64_t each = ls__conv_number_bytes(reader, v);
    int64_t sx = ls__window_of(r->node)->sx;

    for (int64_t y = 0; y < v->h; y++)
        for (int64_t x = 0; x < sx && x < v->w; x++) {
            ls__conv one = ls__conv_apart(r->node, v, y, x);
            int64_t at = each * (y * v->step_y + x * v->step_x);

            one.x = (const void *)((const char *)v->x + at);
            reader->y(&one, image + at, 0, 1);
        }
}

/* y, or dx under the weights rotated: group by group of channels. */
static void product(const ls__run *r, const ls__conv *v, bool rotated,
                    float *scratch)
{
    const ls_node *n = r->node;
    const ls__convs *reader = reader_of(r);
    ls__conv_weights of = ls__conv_weights_of(n, rotated);
    int64_t packed = reader ? reader->packed_size(&of) / of.groups : 0;

    if (made_of(r)->way == LS__CONV_DEPTHWISE) {
        ls__depthwise_product(r, v, rotated, parts_of(r).image, scratch);
        return;
    }
    if (rotated && reader && is_apart(r, reader)) {
        for (int64_t i = 0; i < v->images; i++) {
            ls__conv one = ls__conv_image(v, i);

            dx_apart(r, &one, reader, scratch);
        }
        return;
    }
    for (int64_t g = 0; g < of.groups; g++) {
        ls__conv one = ls__conv_group(v, g);

        if (reader) {
            one.out.packed = (const float *)v->out.packed + g * packed;
            reader->y(&one, image_of(reader, &one, scratch), 0,
                      v->images * v->h);
        } else {
            one.out.b = r->param[0] + g * of.out;
            ls__im2col_product(r, &one, rotated, scratch);
        }
    }
}

static ls__pooling folded_pooling(const ls__run *r)
{
    const ls__window *w = ls__window_of(r->node);

    return ls__pooling_of(&made_of(r)->pooling, w->h, w->w,
                          ls__width(r->node));
}

/* Rows first .. last of what the folded pooling makes of an image. */
static void pooling_rows(const ls__run *r, int64_t first, int64_t last,
                         const float *full, float *y, float *number)
{
    ls__pooling p = folded_pooling(r);

    r->kernels->max_pool(&p, first, last, full,
                         ls__product_of(r)->activation == LS__RELU, y, number);
}

/* Each row of the pooling as soon as there is what it reads, still in cache. */
static void pooled_product(const ls__run *r, const ls__conv *v, float *scratch,
                           float *y, float *number)
{
    const ls__convs *reader = r->backend->convs;
    const ls__window *p = &made_of(r)->pooling;
    const void *image = image_of(reader, v, scratch);
    int64_t done = 0;

    for (int64_t i = 0; i < p->h; i++) {
        int64_t end = i * p->sy - p->top + p->kh;

        LS__ASSERT(end > 0); /* a window sees a pixel */
        end = end < v->h ? end : v->h;
        if (end > done)
            reader->y(v, image, done, end);
        done = ls__most(done, end);
        pooling_rows(r, i, i + 1, v->out.c, y, number);
    }
}

/* The images of v, from i on. */
static void images_fwd(const ls__run *r, ls__conv *v, int64_t i)
{
    const ls__conv_made *m = r->in->made;
    const ls_node *n = r->node;
    parts s = parts_of(r);
    float *y = r->y + i * n->size;
    float *stash = r->stash ? r->stash + i * n->size : NULL;

    pad_x(r, i, s, v);
    v->out.c = m->pooled ? s.full : y;
    v->out.slope = m->product.activation && !m->pooled ? stash : NULL;
    v->out.add = m->product.residual ? (const float *)r->x[1] + i * n->size
                                     : NULL;
    if (m->pooled && m->way <= LS__CONV_POOLED) {
        pooled_product(r, v, s.rest, y, stash);
        return;
    }
    product(r, v, false, s.rest);
    if (m->pooled)
        pooling_rows(r, 0, n->shape[0], s.full, y, stash);
}

static void conv_fwd(const ls__run *r)
{
    ls__conv v = ls__conv_of_x(r->node);

    v.out.packed = ls__product_packed(r, false);
    v.out.bias = r->node->params > 1 ? r->param[1] : NULL;
    v.out.round = r->backend->bf16;
    v.out.activation = ls__product_of(r)->activation;
    v.ahead = r->of->ahead;
    for (int64_t i = 0; i < r->rows; i += v.images) {
        v.images = ls__least(r->rows - i, made_of(r)->images);
        images_fwd(r, &v, i);
    }
}

/* ------ backward ------ */

/* Is d made of dy, and not dy itself? */
static bool has_slope(const ls__run *r)
{
    const ls__conv_made *m = r->in->made;

    return m->pooled || (m->product.activation && !m->product.dy_is_pre);
}

/* d of image i: dy, or made of it. */
static const float *slope(const ls__run *r, int64_t i, float *full)
{
    const ls__conv_made *m = r->in->made;
    const ls_node *n = r->node;
    const float *dy = r->dy + i * n->size;
    const float *stash = r->stash ? r->stash + i * n->size : NULL;

    if (m->pooled) {
        ls__pooling p = folded_pooling(r);

        r->kernels->max_pool_grad(&p, stash, dy, full);
        return full;
    }
    if (!has_slope(r))
        return dy;
    r->kernels->slope_grad(n->size, stash, dy, full);
    return full;
}

/* dw (+)= patches^T d, dbias (+)= sums of d: group by group of channels. */
static void groups_grad(const ls__run *r, const ls__conv *v, const float *d,
                        float *scratch)
{
    const ls__convs *reader = reader_of(r);

    for (int64_t g = 0; g < ls__conv_groups(r->node); g++) {
        int64_t at = g * v->out.n;
        float *dbias = r->dparam[1] ? r->dparam[1] + at : NULL;
        ls__conv one = ls__conv_group(v, g);

        one.out.b = d + at;
        if (reader)
            reader->dw(&one, dbias, scratch);
        else
            ls__im2col_grad(r, &one, dbias, scratch);
    }
}

/* The part of `images` images from i on. */
static void weights_grad(const ls__run *r, int64_t i, int64_t images,
                         const float *d, parts s)
{
    ls__conv v = ls__conv_of_x(r->node);

    LS__ASSERT(images == 1 || ls__conv_is_chunk(&v));
    v.images = images;
    pad_x(r, i, s, &v);
    v.next_b = r->node->size;
    v.ahead = r->of->ahead;
    v.out.c = made_of(r)->transposed ? s.transposed : r->dparam[0];
    v.out.accumulate = r->add || i > 0;
    if (made_of(r)->way == LS__CONV_DEPTHWISE)
        ls__depthwise_grad(r, &v, d, s.image, s.rest);
    else
        groups_grad(r, &v, d, s.rest);
}

/* The windows of dx of one image: dx = (patches of d, w rotated) slope +
 * addend */
static ls__conv windows_of_dx(const ls__run *r, int64_t i)
{
    const float *slope_of_x = ls__product_slope_of_x(r);
    int64_t at = i * r->node->in[0]->size;
    ls__conv v = ls__conv_of_dy(r->node);

    v.out.packed = ls__product_packed(r, true);
    v.ahead = r->of->ahead;
    v.out.c = r->dx[0] + at;
    v.out.times = slope_of_x ? slope_of_x + at : NULL;
    v.out.add = r->addend[0] ? r->addend[0] + at : NULL;
    return v;
}

/* The dx of `images` images from i on. */
static void input_grad(const ls__run *r, int64_t i, int64_t images,
                       const float *d, parts s)
{
    ls__halo f = ls__halo_of_dy(r->node);
    ls__conv v = windows_of_dx(r, i);

    v.images = images;
    ls__conv_pad(r->node, &f, d, reader_of(r), (ls__fill){0}, s.image, &v);
    product(r, &v, true, s.rest);
}

/* ------ backward, under a 2x2 pooling, from what it kept ------ */

static ls__pooled_dy pooled_dy(const ls__run *r, const ls__pooling *p,
                               int64_t i)
{
    ls__halo f = ls__halo_of_dy(r->node);
    int64_t at = i * r->node->size;

    LS__ASSERT(p->kh == 2 && p->kw == 2);
    return (ls__pooled_dy){p, r->dy + at, r->stash + at, f.top, f.left};
}

static void pooled_weights_grad(const ls__run *r, int64_t i, parts s)
{
    ls__conv v = ls__conv_of_x(r->node);
    ls__pooling p = folded_pooling(r);
    ls__pooled_dy d = pooled_dy(r, &p, i);

    pad_x(r, i, s, &v);
    v.out.accumulate = r->add || i > 0;
    r->backend->convs->dw_pooled(&v, &d, s.transposed, r->dparam[1], s.rest);
}

static void pooled_input_grad(const ls__run *r, int64_t i, parts s)
{
    ls__pooling p = folded_pooling(r);
    ls__pooled_dy d = pooled_dy(r, &p, i);
    ls__conv v = windows_of_dx(r, i);

    if (made_of(r)->dx_pooled)
        r->backend->convs->dx_pooled(&v, &d, s.rest);
    else
        input_grad(r, i, 1, slope(r, i, s.full), s);
}

static void pooled_bwd(const ls__run *r, parts s)
{
    for (int64_t i = 0; r->dparam[0] && i < r->rows; i++)
        pooled_weights_grad(r, i, s);
    for (int64_t i = 0; r->dx[0] && i < r->rows; i++)
        pooled_input_grad(r, i, s);
}

static void full_bwd(const ls__run *r, parts s)
{
    int64_t most = has_slope(r) ? 1 : made_of(r)->images;

    for (int64_t i = 0, images; i < r->rows; i += images) {
        const float *d = slope(r, i, s.full);

        images = ls__least(r->rows - i, most);
        if (r->dparam[0])
            weights_grad(r, i, images, d, s);
        if (r->dx[0])
            input_grad(r, i, images, d, s);
    }
}

static void conv_bwd(const ls__run *r)
{
    ls__conv v = ls__conv_of_x(r->node);
    parts s = parts_of(r);
    bool transposed = r->dparam[0] && made_of(r)->transposed;

    if (transposed && r->add)
        ls__conv_transpose(r->kernels, &v, false, r->dparam[0], s.transposed);
    else if (transposed)
        memset(s.transposed, 0,
               (size_t)(v.out.n * ls__conv_transposed_row(&v)) *
                   sizeof *s.transposed);
    if (made_of(r)->way == LS__CONV_POOLED)
        pooled_bwd(r, s);
    else
        full_bwd(r, s);
    if (transposed)
        ls__conv_transpose(r->kernels, &v, true, r->dparam[0], s.transposed);
}

static ls_node *conv_declare(ls_node *n)
{
    const ls__conv_of *of = n->of;
    int64_t kh = of->window.kh, kw = of->window.kw;
    int64_t c = ls__width(n->in[0]) / of->groups;
    int64_t out = of->features, taps = kh * kw;

    n = ls__node_param(n, "kernel", LS__INIT_LECUN_NORMAL, taps * c, taps * out,
                       4, (int64_t[]){kh, kw, c, out});
    return n && of->bias ? ls__node_param(n, "bias", LS__INIT_ZEROS, taps * c,
                                          taps * out, 1, &out)
                         : n;
}

static const ls__attribute attributes[] = {
    LS__FIELD("features", LS__INTEGER, ls__conv_of, features),
    LS__FIELD("bias", LS__YES_NO, ls__conv_of, bias),
    LS__WINDOW_ATTRIBUTES,
    LS__FIELD_UNLESS("dilation_y", ls__window, dy, 1),
    LS__FIELD_UNLESS("dilation_x", ls__window, dx, 1),
    LS__FIELD_UNLESS("groups", ls__conv_of, groups, 1),
    LS__FIELD_UNLESS("top", ls__window, pixels.top, 0),
    LS__FIELD_UNLESS("bottom", ls__window, pixels.bottom, 0),
    LS__FIELD_UNLESS("left", ls__window, pixels.left, 0),
    LS__FIELD_UNLESS("right", ls__window, pixels.right, 0),
    {0}};

const ls__op ls__op_conv = {
    .name = "conv2d", .inputs = 1, .of = sizeof(ls__conv_of),
    .shape = conv_shape, .declare = conv_declare,
    .plan = {.reads = 1, .passes = 2, .made = sizeof(ls__conv_made),
             .folds = ls__conv_folds, .wish = ls__conv_wish,
             .stash = ls__conv_stash, .decide = ls__conv_plan},
    .run = {.forward = conv_fwd, .backward = conv_bwd, .cuts = 1,
            .flops = conv_flops},
    .file = {.attributes = attributes},
    .rare = LS__RARE(.borrows = true, .reads_kept = ls__product_reads_kept)};

/* One that is given by its window, groups and so on. */
static ls_node *conv2d(ls_node *x, int64_t n, ls__window window, int64_t groups,
                       const char *name, bool bias)
{
    return ls__node_with(ls__node_new(&ls__op_conv, name, x, NULL, NULL),
                         &(ls__conv_of){window, n, groups, bias});
}

ls_node *ls_conv2d(ls_node *x, int64_t n, ls_window window, const char *name)
{
    return conv2d(x, n, ls__window_new(&window), 1, name, true);
}

LS__DEFAULTS(ls_conv_options, ls_conv_defaults_bytes, .padding = LS_SAME,
             .groups = 1, .stride_y = 1, .stride_x = 1, .dilation_y = 1,
             .dilation_x = 1)

ls_node *ls_conv2d_with(ls_node *x, int64_t n, int64_t height, int64_t width,
                        const ls_conv_options *options, const char *name)
{
    ls_conv_options o = ls_conv_defaults();

    if (!ls__node_takes(x, "conv", &o, sizeof o, options))
        return NULL;
    return conv2d(x, n,
                  (ls__window){.kh = height, .kw = width, .sy = o.stride_y,
                               .sx = o.stride_x, .dy = o.dilation_y,
                               .dx = o.dilation_x, .padding = o.padding,
                               .pixels = {o.top, o.bottom, o.left, o.right}},
                  o.groups ? o.groups : 1, name, !o.no_bias);
}
