/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows over images, with stride and padding (convolution, pooling). */
#ifndef LS_OP_WINDOW_H
#define LS_OP_WINDOW_H

#include "graph/op.h"
#include "kernel/loops.h"

/* A window over an image, fitted to it; padding is what lies before. */
typedef struct ls__window {
    int64_t kh, kw, sy, sx; /* size and stride */
    int64_t dy, dx;         /* dilation: pixels from tap to tap */
    int64_t top, left;      /* pixels of padding */
    int64_t h, w;           /* pixels that come out */
    ls_padding padding;
    bool ceil;   /* a pooling: what is left over gets a window too, */
    bool inside; /* and a mean counts only pixels of the image */
    struct {
        int64_t top, bottom, left, right;
    } pixels; /* LS_EXPLICIT: pixels of padding; else zeros */
} ls__window;

/* The attributes of an operator with a window begin with the window. */
static inline const ls__window *ls__window_of(const ls_node *n)
{
    return n->of;
}

/* The rows of these attributes, and the words of ls_padding. */
extern const char *const ls__padding_words[];

// clang-format off
#define LS__WINDOW_ATTRIBUTES                                                 \
    LS__FIELD("height", LS__INTEGER, ls__window, kh),                         \
    LS__FIELD("width", LS__INTEGER, ls__window, kw),                          \
    LS__FIELD("stride_y", LS__INTEGER, ls__window, sy),                       \
    LS__FIELD("stride_x", LS__INTEGER, ls__window, sx),                       \
    {.name = "padding", .type = LS__WORD,                                     \
     .offset = offsetof(ls__window, padding), .words = ls__padding_words}
// clang-format on

/* Take over what the user gave. */
ls__window ls__window_new(const ls_window *given);

/* Fit a node's window to input 0, which must be an image, strides and dilations
 * of 0 being 1, and set the node's shape to (h,w,channels); channels 0: those
 * of the input.  last: which padding is the last that the operator knows. */
int ls__window_fit(ls_node *n, ls_padding last, int64_t channels);

/* The image in which a convolution's windows lie: its x with padding. */
ls__halo ls__halo_of_x(const ls_node *n);

/* The same of its dy, with zeros between pixels where the stride is not 1:
 * under the rotated weights, with stride 1, its windows give dx. */
ls__halo ls__halo_of_dy(const ls_node *n);

int64_t ls__halo_size(const ls__halo *f);

/* What pixels of a padded image go through: a norm, and rounding to bf16; NULL:
 * not so.  pixels: scratch for a row of them. */
typedef struct ls__fill {
    const ls__batch_norm *norm;
    ls__bf16_fn *round;
    float *pixels;
} ls__fill;

/* ls__halo_fill by these; what is rounded has two bytes a number. */
const float *ls__halo_make(const ls__halo *f, const float *x,
                           const ls__fill *by, float *out);

/* The pooling of a window over an image (in_h,in_w,c), as its kernels want
 * it. */
ls__pooling ls__pooling_of(const ls__window *w, int64_t in_h, int64_t in_w,
                           int64_t c);

#endif
