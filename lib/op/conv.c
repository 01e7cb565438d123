/* SPDX-License-Identifier: BSD-3-Clause */
/* The windows and weights of a convolution as the structs of its products. */
#include "op/conv.h"
#include "base/assert.h"

#include <string.h>

bool ls__conv_is_plain(const ls_node *n)
{
    const ls__conv_of *of = n->of;

    return of->groups == 1 && of->window.dy == 1 && of->window.dx == 1;
}

ls__conv_weights ls__conv_weights_of(const ls_node *n, bool rotated)
{
    const ls__conv_of *of = n->of;

    return (ls__conv_weights){of->window.kh, of->window.kw,
                              ls__width(n->in[0]) / of->groups,
                              ls__width(n) / of->groups, rotated, of->groups};
}

/* The windows w in one image, with `wide` columns of all groups. */
static ls__conv windows(const ls_node *n, const ls__halo *f,
                        const ls__window *w, int64_t wide)
{
    int64_t groups = ls__conv_groups(n);
    int64_t row = f->cols * f->c, c = f->c / groups;
    bool runs = groups == 1 && (w->dx == 1 || w->kw == 1);

    return (ls__conv){.c = f->c, .row = w->dy * row, .step_y = w->sy * row,
                      .step_x = w->sx * f->c, .images = 1, .kh = w->kh,
                      .run = runs ? w->kw * c : c, .kx = runs ? 1 : w->kw,
                      .col = w->dx * f->c, .h = w->h, .w = w->w,
                      .out = {.m = w->h * w->w, .n = wide / groups,
                              .k = w->kh * w->kw * c, .b_row = wide,
                              .b_col = 1, .c_row = wide, .scale = 1}};
}

ls__conv ls__conv_of_x(const ls_node *n)
{
    ls__halo f = ls__halo_of_x(n);

    return windows(n, &f, ls__window_of(n), ls__width(n));
}

ls__conv ls__conv_of_dy(const ls_node *n)
{
    const ls_node *x = n->in[0];
    ls__halo f = ls__halo_of_dy(n);
    const ls__window *own = ls__window_of(n);
    ls__window w = {.kh = own->kh, .kw = own->kw, .sy = 1, .sx = 1,
                    .dy = own->dy, .dx = own->dx,
                    .h = x->shape[0], .w = x->shape[1]};
    ls__conv v = windows(n, &f, &w, x->shape[2]);

    v.out.b_row = ls__width(n); /* of the weights */
    return v;
}

/* The first tap, of a window at `at`, that is on a multiple of the stride. */
static int64_t first_tap(int64_t at, int64_t stride)
{
    int64_t after = at % stride;

    return after > 0 ? stride - after : -after;
}

/* Pixels of dx that are a stride apart see the same zeros. */
ls__conv ls__conv_apart(const ls_node *n, const ls__conv *v, int64_t y,
                        int64_t x)
{
    ls__halo f = ls__halo_of_dy(n);
    int64_t kw = ls__window_of(n)->kw, at = (y * v->w + x) * v->out.c_row;
    ls__conv of = *v;

    of.step_x *= f.sx;
    of.h = 1;
    of.w = (v->w - x + f.sx - 1) / f.sx;
    of.kx = kw;
    of.run = of.col = v->c;
    of.zeros = UINT64_MAX;
    for (int64_t i = first_tap(y - f.top, f.sy); i < v->kh; i += f.sy)
        for (int64_t j = first_tap(x - f.left, f.sx); j < kw; j += f.sx)
            of.zeros &= ~((uint64_t)1 << (i * kw + j));
    of.out.c_row *= f.sx;
    ls__product_move(&of.out, at);
    return of;
}

/* Numbers of bf16 that an image is for its reader; 0: it is floats. */
static int64_t rounded_size(const ls__convs *reader, const ls__conv *v)
{
    return reader && reader->round ? reader->image_size(v) : 0;
}

int64_t ls__conv_image_room(const ls_node *n, const ls__convs *reader)
{
    ls__conv x = ls__conv_of_x(n), dy = ls__conv_of_dy(n);
    int64_t of_x = rounded_size(reader, &x), of_dy = rounded_size(reader, &dy);
    int64_t rounded = ls__whole_vectors(ls__most(of_x, of_dy) / 2 + 1);

    return of_x && of_dy ? rounded : ls__most(rounded, ls__conv_padded_size(n));
}

int64_t ls__conv_number_bytes(const ls__convs *reader, const ls__conv *v)
{
    return rounded_size(reader, v) ? 2 : 4;
}

/* Zeros behind an image that was made. */
static void end_image(const ls__halo *f, int64_t all, float *image)
{
    int64_t size = ls__halo_size(f);

    LS__ASSERT(all >= size);
    memset((uint16_t *)(void *)image + size, 0, 2 * (size_t)(all - size));
}

void ls__conv_pad(const ls_node *n, const ls__halo *f, const float *x,
                  const ls__convs *reader, ls__fill by, float *room,
                  ls__conv *v)
{
    int64_t size = f->h * f->w * f->c, padded = ls__conv_padded_size(n);
    int64_t rounded = rounded_size(reader, v);

    by.round = rounded ? reader->round : NULL;
    v->x = ls__halo_make(f, x, &by, room);
    v->next_x = v->x == room ? padded : size;
    for (int64_t k = 1; k < v->images && v->x == room; k++)
        ls__halo_make(f, x + k * size, &by, room + k * padded);
    LS__ASSERT(v->images == 1 || !by.round);
    if (by.round)
        end_image(f, rounded, room);
}

ls__conv ls__conv_image(const ls__conv *v, int64_t i)
{
    ls__conv of = *v;

    of.images = 1;
    of.x += i * v->next_x;
    ls__product_move(&of.out, i * v->h * v->w * v->out.c_row);
    return of;
}

void ls__conv_transpose(const ls__kernel_table *kernels, const ls__conv *v,
                        bool back, float *dw, float *transposed)
{
    int64_t n = v->out.n, row = ls__conv_transposed_row(v);
    int64_t run = ls__whole_vectors(v->run);

    for (int64_t ky = 0; ky < v->kh; ky++, dw += v->run * n, transposed += run)
        if (back)
            kernels->transpose(n, v->run, transposed, row, n, dw, n);
        else
            kernels->transpose(v->run, n, dw, n, run, transposed, row);
}

ls__conv ls__conv_group(const ls__conv *v, int64_t g)
{
    ls__conv of = *v;
    int64_t at = g * v->out.n;

    LS__ASSERT(g >= 0 && at < v->out.c_row);
    if (g == 0)
        return of;
    of.x += g * v->run;
    of.out.bias += v->out.bias ? at : 0;
    ls__product_move(&of.out, at);
    return of;
}
