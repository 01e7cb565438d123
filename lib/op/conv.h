/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of a convolution: windows over x for y and dw, windows over dy for
 * dx; weights packed; and who computes them. */
#ifndef LS_OP_CONV_H
#define LS_OP_CONV_H

#include "base/least.h"
#include "op/product_plan.h"
#include "op/window.h"

/* The attributes of a convolution. */
typedef struct ls__conv_of {
    ls__window window;
    int64_t features, groups;
    bool bias;
} ls__conv_of;

_Static_assert(offsetof(ls__conv_of, window) == 0, "as op/window.h has it");

static inline int64_t ls__conv_groups(const ls_node *n)
{
    const ls__conv_of *of = n->of;

    return of->groups;
}

/* Windows over x with y's columns, and over dy with those of dx; of the first
 * group of channels. */
ls__conv ls__conv_of_x(const ls_node *n);
ls__conv ls__conv_of_dy(const ls_node *n);

/* The part of v, those over dy, that makes pixels x, x + stride and so on of
 * row y of dx; its image is still v's.  The convolution has a stride: dy stands
 * between zeros. */
ls__conv ls__conv_apart(const ls_node *n, const ls__conv *v, int64_t y,
                        int64_t x);

/* Images of v with padding f, one after the other from x on, as the reader
 * takes them (NULL: floats); where there is padding, or something `by` which
 * they go, they are in `room`. */
void ls__conv_pad(const ls_node *n, const ls__halo *f, const float *x,
                  const ls__convs *reader, ls__fill by, float *room,
                  ls__conv *v);

/* Image i alone of those over which v makes y. */
ls__conv ls__conv_image(const ls__conv *v, int64_t i);

/* The same operands of group g. */
ls__conv ls__conv_group(const ls__conv *v, int64_t g);

/* Its windows have no gaps, and see all channels. */
bool ls__conv_is_plain(const ls_node *n);

/* The algorithm of a convolution. */
typedef enum ls__conv_way {
    LS__CONV_READ,      /* implicit im2col: kernels read patches in the image */
    LS__CONV_POOLED,    /* the same, and under a 2x2 pooling dw, and as a rule
                           dx, are made from what it kept */
    LS__CONV_GAPS,      /* they read them group by group, and with gaps */
    LS__CONV_DEPTHWISE, /* each channel by itself, with one output */
    LS__CONV_PATCHES    /* im2col: patches are written out, and multiplied */
} ls__conv_way;

/* A convolution's decisions. */
typedef struct ls__conv_made {
    ls__product_made product;
    ls__conv_way way;   /* chosen once */
    bool transposed;        /* dw is made in its transposed form */
    int64_t images;     /* the most that are made together */
    bool dx_pooled;     /* LS__CONV_POOLED: dx is made from what was kept */
    bool pooled;        /* y is pooled too, */
    ls__window pooling; /* by this; the node's shape is that of the pooled y,
                           and the convolution's own is the window's (h,w) */
} ls__conv_made;

_Static_assert(offsetof(ls__conv_made, product) == 0,
               "as op/product_plan.h has it");

/* Its weights as the reader packs them. */
ls__conv_weights ls__conv_weights_of(const ls_node *n, bool rotated);

static inline int64_t ls__whole_vectors(int64_t floats)
{
    return (floats + 15) / 16 * 16;
}

/* Floats of one image's y before a pooling. */
static inline int64_t ls__conv_full_size(const ls_node *n)
{
    return ls__window_of(n)->h * ls__window_of(n)->w * ls__width(n);
}

/* Floats of one channel's dw in the transposed form, its runs being filled up
 * to vectors, and of all of it; 0: it is not made in that form. */
static inline int64_t ls__conv_transposed_row(const ls__conv *v)
{
    return v->kh * ls__whole_vectors(v->run);
}

static inline int64_t ls__conv_transposed_size(const ls__conv_made *m,
                                           const ls__conv *v)
{
    return m->transposed ? v->out.n * ls__conv_transposed_row(v) : 0;
}

/* Floats of an image of x, or of dy, with padding. */
static inline int64_t ls__conv_padded_size(const ls_node *n)
{
    ls__halo x = ls__halo_of_x(n), dy = ls__halo_of_dy(n);

    return ls__whole_vectors(ls__most(ls__halo_size(&x), ls__halo_size(&dy)));
}

/* Floats of an image as the reader takes it; NULL: with its padding. */
int64_t ls__conv_image_room(const ls_node *n, const ls__convs *reader);

/* Bytes of a number of such an image. */
int64_t ls__conv_number_bytes(const ls__convs *reader, const ls__conv *v);

/* dw to its transposed form, or back; an underflow's -0 becomes +0. */
void ls__conv_transpose(const ls__kernel_table *kernels, const ls__conv *v,
                        bool back, float *dw, float *transposed);

/* The kernels that read patches from the image; NULL: not that algorithm. */
static inline const ls__convs *ls__conv_reader(const ls__conv_made *m,
                                               const ls__backend *b)
{
    return m->way <= LS__CONV_GAPS ? b->convs : NULL;
}

/* ------ the hooks (conv_plan.c) ------ */

bool ls__conv_folds(const ls_node *n, void *made, const ls_node *reader);
void ls__conv_wish(const ls_node *n, ls__wish *wish);
int64_t ls__conv_stash(const ls__bench *b, const ls__instr *in);
int ls__conv_plan(ls__bench *b, ls__instr *in);

/* ------ each channel by itself (conv_depthwise.c) ------ */

int64_t ls__depthwise_scratch(const ls_node *n);

/* y, or dx with the taps in reverse order; v->x is `image`, or what needs no
 * zeros around it. */
void ls__depthwise_product(const ls__run *r, const ls__conv *v, bool rotated,
                           float *image, float *scratch);

/* dw and dbias. */
void ls__depthwise_grad(const ls__run *r, const ls__conv *v, const float *d,
                        float *image, float *scratch);

/* ------ by patches that are written out (conv_im2col.c) ------ */

/* Floats of scratch that a product of windows needs. */
int64_t ls__im2col_scratch(const ls__conv *v, const ls__backend *backend);

/* y, or dx, of one group: out.b is the weights; rotated: their transpose with
 * the taps in reverse order is the operand. */
void ls__im2col_product(const ls__run *r, const ls__conv *v, bool rotated,
                        float *scratch);

/* dw (+)= patches^T d, dbias (+)= sums of d. */
void ls__im2col_grad(const ls__run *r, const ls__conv *v, float *dbias,
                     float *scratch);

#endif
