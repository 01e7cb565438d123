/* Convolutions by oneDNN 2: y of one image, and dx, which is a convolution too
 * (kernel/product.h).  The weights are reordered once a step, the image is
 * copied where it has to be rounded or has gaps between its rows; bias is
 * oneDNN's and the rest of the epilogue ours.  dw stays with our own kernels,
 * which know what a max pooling left out. */
#include "backend/onednn.h"
#include "base/memory.h"
#include "backend/onednn_call.h"

#include <stdlib.h>
#include <string.h>

typedef struct convolution {
    ls__prepared prepared;
    bool rotated;         /* the taps are to be reversed */
    int64_t taps, tap;    /* of the weights; floats of one */
    int64_t image_scratch; /* floats of the copy */
    ls__onednn on;
    ls__call pack, image; /* image: not made where it is read as it is */
    ls__call product[2];  /* without and with bias */
} convolution;

typedef struct operands {
    dnnl_memory_desc_t x, w, y, bias;      /* what the product reads */
    dnnl_memory_desc_t image, weights;     /* what there is, in f32 */
    dnnl_dims_t stride;
    bool copies;
} operands;

/* Weights are (taps,C,n), or (taps,n,C) where they are rotated. */
static dnnl_status_t describe(operands *o, const ls__conv *v, bool rotated,
                              dnnl_data_type_t type)
{
    int64_t c = v->c, n = v->out.n, kw = v->run / c;
    int64_t sy = v->step_y / v->row, sx = v->step_x / c;
    int64_t h = (v->h - 1) * sy + v->kh, w = (v->w - 1) * sx + kw;
    dnnl_dims_t x = {1, c, h, w}, x_at = {h * v->row, 1, v->row, c};
    dnnl_dims_t k = {n, c, v->kh, kw};
    dnnl_dims_t k_at = {rotated ? c : 1, rotated ? 1 : n, kw * c * n, c * n};
    dnnl_dims_t y = {1, n, v->h, v->w}, bias = {n};
    dnnl_status_t s;

    o->copies = type != dnnl_f32 || v->row != w * c;
    o->stride[0] = sy;
    o->stride[1] = sx;
    if ((s = ls__dnnl.memory_desc_init_by_strides(&o->image, 4, x, dnnl_f32,
                                                  x_at)) ||
        (s = ls__dnnl.memory_desc_init_by_strides(&o->weights, 4, k, dnnl_f32,
                                                  k_at)) ||
        (s = ls__dnnl.memory_desc_init_by_tag(&o->x, 4, x, type, dnnl_nhwc)) ||
        (s = ls__dnnl.memory_desc_init_by_tag(&o->w, 4, k, type,
                                              dnnl_format_tag_any)) ||
        (s = ls__dnnl.memory_desc_init_by_tag(&o->bias, 1, bias, dnnl_f32,
                                              dnnl_a)))
        return s;
    return ls__dnnl.memory_desc_init_by_tag(&o->y, 4, y, dnnl_f32, dnnl_nhwc);
}

/* The layout of the weights, which was left open, is settled. */
static dnnl_status_t make_product(ls__call *c, const ls__onednn *on,
                                  operands *o, bool bias)
{
    const dnnl_dims_t none = {0, 0};
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd;
    dnnl_convolution_desc_t what;
    dnnl_status_t s = ls__call_attributes(&attr, false);

    if (s == dnnl_success)
        s = ls__dnnl.convolution_forward_desc_init(
            &what, dnnl_forward_training, dnnl_convolution_direct, &o->x,
            &o->w, bias ? &o->bias : NULL, &o->y, o->stride, none, none);
    if (s == dnnl_success)
        s = ls__dnnl.primitive_desc_create(&pd, &what, attr, on->engine, NULL);
    ls__dnnl.primitive_attr_destroy(attr);
    if (s != dnnl_success)
        return s;
    o->w = *ls__dnnl.primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
    ls__call_array(c, DNNL_ARG_SRC, &o->x);
    ls__call_array(c, DNNL_ARG_WEIGHTS, &o->w);
    ls__call_array(c, DNNL_ARG_DST, &o->y);
    if (bias)
        ls__call_array(c, DNNL_ARG_BIAS, &o->bias);
    return ls__call_compile(c, pd);
}

static dnnl_status_t make_all(convolution *p, const ls__conv *v, bool bf16)
{
    operands o = {.copies = false};
    dnnl_status_t s = ls__onednn_open(&p->on);

    if (s || (s = describe(&o, v, p->rotated, bf16 ? dnnl_bf16 : dnnl_f32)) ||
        (s = make_product(&p->product[0], &p->on, &o, false)) ||
        (s = make_product(&p->product[1], &p->on, &o, true)) ||
        (s = ls__call_copy(&p->pack, &p->on, &o.weights, &o.w)) ||
        (o.copies && (s = ls__call_copy(&p->image, &p->on, &o.image, &o.x))))
        return s;
    p->image_scratch = o.copies ? ls__call_floats(&o.x) : 0;
    p->prepared.scratch =
        p->image_scratch +
        ls__larger(ls__call_scratchpad(&p->image),
                   ls__larger(ls__call_scratchpad(&p->product[0]),
                              ls__call_scratchpad(&p->product[1])));
    p->prepared.packed = ls__call_floats(&o.w) +
                         ls__call_scratchpad(&p->pack) +
                         (p->rotated ? p->taps * p->tap : 0);
    p->prepared.packed = (p->prepared.packed + 15) / 16 * 16;
    return dnnl_success;
}

/* ------ running them ------ */

/* Packed, then scratch, then the weights with their taps reversed. */
static void pack(const ls__prepared *m, const float *w, void *packed)
{
    const convolution *p = (const convolution *)m;
    int64_t size = ls__call_floats(&p->pack.desc[1]);
    float *scratchpad = (float *)packed + size;
    float *reversed = scratchpad + ls__call_scratchpad(&p->pack);

    for (int64_t t = 0; p->rotated && t < p->taps; t++)
        memcpy(reversed + t * p->tap, w + (p->taps - 1 - t) * p->tap,
               (size_t)p->tap * sizeof *w);
    if (ls__call_run(&p->on, &p->pack,
                     (void *[]){p->rotated ? reversed : (void *)w, packed,
                                scratchpad}))
        ls__call_spoil(1, size, packed, 0);
}

static void convolve(const ls__prepared *m, const ls__conv *v, float *scratch)
{
    const convolution *p = (const convolution *)m;
    float *scratchpad = scratch + p->image_scratch;
    const void *x = v->x, *bias = v->out.bias;
    ls__product rest = v->out;
    dnnl_status_t s = dnnl_success;

    if (p->image.primitive) {
        s = ls__call_run(&p->on, &p->image,
                         (void *[]){(void *)x, scratch, scratchpad});
        x = scratch;
    }
    if (s || ls__call_run(&p->on, &p->product[bias != NULL],
                          (void *[]){(void *)x, (void *)v->out.packed,
                                     v->out.c,
                                     bias ? (void *)bias : scratchpad,
                                     scratchpad}))
        ls__call_spoil(v->h * v->w, v->out.n, v->out.c, v->out.c_row);
    rest.m = v->h * v->w;
    ls__call_epilogue(&rest);
}

static void free_convolution(ls__prepared *m)
{
    convolution *p = (convolution *)m;

    ls__dnnl.primitive_destroy(p->pack.primitive);
    ls__dnnl.primitive_destroy(p->image.primitive);
    ls__dnnl.primitive_destroy(p->product[0].primitive);
    ls__dnnl.primitive_destroy(p->product[1].primitive);
    ls__onednn_close(&p->on);
    free(p);
}

int ls__onednn_prepare_conv(const ls__conv *v, bool rotated, bool bf16,
                            ls__prepared **prepared)
{
    convolution *p = ls__new(1, sizeof *p, "oneDNN");
    dnnl_status_t s;
    int threads;

    if (!p)
        return LS_ENOMEM;
    p->prepared = (ls__prepared){.pack = pack, .conv = convolve,
                                 .free = free_convolution};
    p->rotated = rotated;
    p->taps = v->kh * (v->run / v->c);
    p->tap = v->c * v->out.n;
    threads = ls__call_threads(1);
    s = make_all(p, v, bf16);
    ls__call_threads(threads);
    return ls__call_prepared(s, &p->prepared, prepared);
}
