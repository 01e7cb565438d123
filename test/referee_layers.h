/* SPDX-License-Identifier: BSD-3-Clause */
/* The same of operators with products, of norms and of losses.  What a number
 * is made of, and nobody sees, the referee is asked first. */
#ifndef TEST_REFEREE_LAYERS_H
#define TEST_REFEREE_LAYERS_H

#include "graph/edit.h"
#include "referee_elements.h"

/* Array k of those known, of n numbers; true: it is to be filled. */
static bool unknown(const question *q, int k, int64_t n)
{
    if (q->known[k])
        return false;
    q->known[k] = room_of(n);
    return true;
}

/* ------ what follows a product ------ */

static float through_curve(const question *q, float pre)
{
    if (!curve_of(q->p))
        return pre;
    asked_number("a", pre);
    return ask_term(curve_name(q->p), "");
}

static float with_residual(const question *q, float y)
{
    if (q->p->inputs < 2)
        return y;
    asked_number("c", y);
    asked_number("a", q->p->x[1][q->at]);
    return asked("adds");
}

/* dy `at` before the activation, whose value there is pre(at). */
static float d_of(const question *q, answer *pre, int64_t at)
{
    question same = *q;
    float x;

    same.at = at;
    if (!curve_of(q->p) || is_pre(q->p))
        return q->p->dy[at];
    x = pre(&same);
    asked_number("a", x);
    asked_number("dy", q->p->dy[at]);
    return ask_term(curve_name(q->p), ".a");
}

/* All of them. */
static const float *all_d(const question *q, answer *pre)
{
    if (unknown(q, 0, q->p->ny))
        for (int64_t i = 0; i < q->p->ny; i++)
            q->known[0][i] = d_of(q, pre, i);
    return q->known[0];
}

/* ------ dense ------ */

static int64_t weight_at(const ls_node *n, int64_t k, int64_t j)
{
    return ls__is_transposed(n) ? j * ls__width(n->in[0]) + k
                                : k * ls__width(n) + j;
}

static float dense_sum(const question *q)
{
    const ls_node *n = q->p->node;
    int64_t k = ls__width(n->in[0]), nth = q->at / width_of(q);
    float *b;

    asked_copy("a", k, q->p->x[0] + nth * k);
    b = asked_list("b", k);
    for (int64_t i = 0; i < k; i++)
        b[i] = q->p->param[0][weight_at(n, i, q->at % width_of(q))];
    if (n->params > 1)
        asked_number("bias", q->p->param[1][q->at % width_of(q)]);
    return asked("product");
}

static float dense_dx(const question *q, const float *d)
{
    const ls_node *n = q->p->node;
    int64_t k = ls__width(n->in[0]), out = width_of(q);
    float *b;

    asked_copy("a", out, d + q->at / k * out);
    b = asked_list("b", out);
    for (int64_t j = 0; j < out; j++)
        b[j] = q->p->param[0][weight_at(n, q->at % k, j)];
    if (q->p->through_slope)
        asked_number("slope", q->p->h[q->at]);
    return asked("product");
}

static float dense(const question *q)
{
    const ls_node *n = q->p->node;
    int64_t k = ls__width(n->in[0]), out = width_of(q);
    bool turned = ls__is_transposed(n);
    const float *d;

    if (q->which < 0)
        return with_residual(q, through_curve(q, dense_sum(q)));
    d = all_d(q, dense_sum);
    if (q->which == 0)
        return dense_dx(q, d);
    if (of_param(q, 1)) {
        give_column("a", vectors_of(q), out, d, q->at);
        return asked("column");
    }
    give_column("a", vectors_of(q), k, q->p->x[0],
                turned ? q->at % k : q->at / out);
    give_column("b", vectors_of(q), out, d, turned ? q->at / k : q->at % out);
    return asked("product");
}

/* ------ convolution ------ */

static float conv_sum(const question *q)
{
    const ls_node *n = q->p->node;
    const ls__window *w = ls__window_of(n);
    const int64_t *s = n->in[0]->shape;
    int64_t out = width_of(q), o = q->at % out, p = q->at / out, first;
    int64_t c = group_of(n, o, &first), k = w->kh * w->kw * c;
    float *a = asked_list("a", k), *b = asked_list("b", k);

    for (int64_t t = 0; t < w->kh * w->kw; t++) {
        int64_t at = pixel(w, p / w->w / w->h, s[0], s[1], s[2],
                           p / w->w % w->h, p % w->w, t / w->kw, t % w->kw);

        for (int64_t i = 0; i < c; i++) {
            *a++ = at < 0 ? 0 : q->p->x[0][at + first + i];
            *b++ = q->p->param[0][(t * c + i) * out + o];
        }
    }
    if (n->params > 1)
        asked_number("bias", q->p->param[1][o]);
    return asked("product");
}

static float conv_dx(const question *q, const float *d)
{
    const ls_node *n = q->p->node;
    const ls__window *w = ls__window_of(n);
    const int64_t *s = n->in[0]->shape;
    int64_t c = q->at % s[2], p = q->at / s[2], out = width_of(q);
    int64_t in = s[2] / ls__conv_groups(n), outs = out / ls__conv_groups(n);
    int64_t y = p / s[1] % s[0], x = p % s[1], first = c / in * outs;
    float *a = asked_list("a", w->kh * w->kw * outs);
    float *b = asked_list("b", w->kh * w->kw * outs);

    for (int64_t t = w->kh * w->kw - 1; t >= 0; t--) {
        int64_t i = y + w->top - t / w->kw * w->dy;
        int64_t j = x + w->left - t % w->kw * w->dx;
        bool there = i >= 0 && j >= 0 && i % w->sy == 0 && j % w->sx == 0 &&
                     i / w->sy < w->h && j / w->sx < w->w;
        int64_t at = ((p / s[1] / s[0] * w->h + i / w->sy) * w->w + j / w->sx) *
                     out;

        for (int64_t o = first; o < first + outs; o++) {
            *a++ = there ? d[at + o] : 0;
            *b++ = q->p->param[0][(t * in + c % in) * out + o];
        }
    }
    if (q->p->through_slope)
        asked_number("slope", q->p->h[q->at]);
    return asked("product");
}

/* The pixels of a chunk of K from (y0,x0) on, in blocks of two by two: what the
 * weight meets (k < 0: nothing), and d. */
static int64_t conv_chunk(const question *q, const float *d, int64_t t,
                          int64_t k, int64_t o, int64_t nth, int64_t y0,
                          int64_t x0, float *a, float *b)
{
    const ls_node *n = q->p->node;
    const ls__window *v = ls__window_of(n);
    const int64_t *s = n->in[0]->shape;
    int64_t w = v->w < 128 ? v->w : 128, h = 256 / w / 2 * 2, count = 0, first;
    int64_t across = (w + 1) / 2;

    group_of(n, o, &first);
    for (int64_t p = 0; p < h * (w + 1); p++) {
        int64_t i = y0 + p / 4 / across * 2 + p % 4 / 2;
        int64_t j = x0 + p / 4 % across * 2 + p % 2, at;

        if (i >= y0 + h || i >= v->h || j >= x0 + w || j >= v->w)
            continue;
        at = pixel(v, nth, s[0], s[1], s[2], i, j, t / v->kw, t % v->kw);
        a[count] = at < 0 || k < 0 ? 0 : q->p->x[0][at + first + k];
        b[count++] = d[((nth * v->h + i) * v->w + j) * width_of(q) + o];
    }
    return count;
}

static float conv_dw(const question *q, const float *d)
{
    const ls_node *n = q->p->node;
    const ls__window *v = ls__window_of(n);
    int64_t in = n->in[0]->shape[2] / ls__conv_groups(n), out = width_of(q);
    int64_t w = v->w < 128 ? v->w : 128, h = 256 / w / 2 * 2, all = 0;
    int64_t pixels = q->p->rows * v->h * v->w, parts = 0;
    bool bias = of_param(q, 1);
    int64_t t = bias ? 0 : q->at / out / in, k = bias ? -1 : q->at / out % in;
    float *a = room_of(pixels + 1), *b = room_of(pixels + 1);
    uint32_t *part = room_of(pixels + 1);

    for (int64_t nth = 0; nth < q->p->rows; nth++)
        for (int64_t i = 0; i < v->h; i += h)
            for (int64_t j = 0; j < v->w; j += w) {
                int64_t more = conv_chunk(q, d, t, k, q->at % out, nth, i, j,
                                          a + all, b + all);

                part[parts++] = (uint32_t)more;
                all += more;
            }
    asked_copy("a", all, bias ? b : a);
    memcpy(asked_list("parts", parts), part, (size_t)parts * sizeof *part);
    if (bias)
        return asked("column");
    asked_copy("b", all, b);
    return asked("product");
}

static float conv(const question *q)
{
    const float *d;

    if (q->which < 0)
        return with_residual(q, through_curve(q, conv_sum(q)));
    d = all_d(q, conv_sum);
    return q->which == 0 ? conv_dx(q, d) : conv_dw(q, d);
}

/* ------ matmul ------ */

static float matmul(const question *q)
{
    const ls_node *a = q->p->node->in[0];
    int64_t n = width_of(q), k = ls__width(a), m = a->shape[a->rank - 2];
    int64_t wide = q->which == 0 ? k : n, high = q->which == 1 ? k : m;
    int64_t i = q->at / wide % high, j = q->at % wide, of = q->at / wide / high;
    const float *x = q->p->x[0] + of * m * k, *y = q->p->x[1] + of * k * n;
    const float *d = q->p->dy + of * m * n;

    if (q->which < 0) {
        asked_copy("a", k, x + i * k);
        give_column("b", k, n, y, j);
    } else if (q->which == 0) {
        asked_copy("a", n, d + i * n);
        asked_copy("b", n, y + j * n);
    } else {
        give_column("a", m, k, x, i);
        give_column("b", m, n, d, j);
    }
    return asked("product");
}

/* ------ norms ------ */

static float epsilon_of(const question *q)
{
    return (float)ls__edit_number(q->p->node, "epsilon");
}

/* Statistics of `count` lists of n numbers, `given` by name. */
static void know_stats(const question *q, int64_t count, int64_t n,
                       void (*give)(const question *q, int64_t list))
{
    for (int s = 0; s < 2; s++)
        if (unknown(q, s, count))
            for (int64_t i = 0; i < count; i++) {
                give(q, i);
                asked_word("at", (uint32_t)s);
                asked_number("eps", epsilon_of(q));
                q->known[s][i] = asked("norm.stats");
            }
    (void)n;
}

static void give_vector(const question *q, int64_t i)
{
    asked_copy("x", width_of(q), q->p->x[0] + i * width_of(q));
}

static float norm_value(const question *q, int64_t list, int64_t channel)
{
    asked_number("x", q->p->x[0][q->at]);
    asked_number("mean", q->known[0][list]);
    asked_number("r", q->known[1][list]);
    asked_number("scale", q->p->param[0][channel]);
    asked_number("bias", q->p->param[1][channel]);
    return asked("norm");
}

static float layer_norm(const question *q)
{
    int64_t n = width_of(q), vectors = vectors_of(q);

    know_stats(q, vectors, n, give_vector);
    if (q->which < 0)
        return norm_value(q, q->at / n, q->at % n);
    if (of_param(q, 1))
        return column_of_dy(q);
    if (q->which == 0) {
        give_row(q, "x", q->p->x[0]);
        give_row(q, "dy", q->p->dy);
        asked_copy("scale", n, q->p->param[0]);
        asked_word("at", (uint32_t)(q->at % n));
        asked_number("eps", epsilon_of(q));
        return asked("norm.back");
    }
    give_column("x", vectors, n, q->p->x[0], q->at);
    give_column("dy", vectors, n, q->p->dy, q->at);
    asked_copy("mean", vectors, q->known[0]);
    asked_copy("r", vectors, q->known[1]);
    return asked("norm.scale");
}

static float rms_norm(const question *q)
{
    int64_t n = width_of(q), vectors = vectors_of(q);

    if (unknown(q, 0, vectors))
        for (int64_t i = 0; i < vectors; i++) {
            give_vector(q, i);
            asked_number("eps", epsilon_of(q));
            q->known[0][i] = asked("rms_norm.stats");
        }
    if (q->which < 0) {
        asked_number("x", q->p->x[0][q->at]);
        asked_number("r", q->known[0][q->at / n]);
        asked_number("scale", q->p->param[0][q->at % n]);
        return asked("rms_norm");
    }
    if (q->which == 0) {
        give_row(q, "x", q->p->x[0]);
        give_row(q, "dy", q->p->dy);
        asked_copy("scale", n, q->p->param[0]);
        asked_number("eps", epsilon_of(q));
        asked_word("at", (uint32_t)(q->at % n));
        return asked("rms_norm.back");
    }
    give_column("x", vectors, n, q->p->x[0], q->at);
    give_column("dy", vectors, n, q->p->dy, q->at);
    asked_copy("r", vectors, q->known[0]);
    return asked("norm.scale");
}

/* Channel j's 1 / deviation: the value of a channel of which all else is 1 or
 * 0. */
static float batch_inverse(const question *q, int64_t j)
{
    asked_number("x", 1);
    asked_number("mean", 0);
    asked_number("scale", 1);
    asked_number("bias", 0);
    asked_number("var", q->p->param[3][j]);
    asked_number("eps", epsilon_of(q));
    return asked("batch_norm");
}

static float batch_param(const question *q, int64_t j)
{
    int64_t vectors = vectors_of(q), n = width_of(q);
    float r = batch_inverse(q, j), dscale, dbias, *mean, *inverse;

    give_column("x", vectors, n, q->p->x[0], j);
    give_column("dy", vectors, n, q->p->dy, j);
    mean = asked_list("mean", vectors);
    inverse = asked_list("r", vectors);
    for (int64_t i = 0; i < vectors; i++) {
        mean[i] = q->p->param[2][j];
        inverse[i] = r;
    }
    dscale = asked("norm.scale");
    dbias = column_of_dy(q);
    asked_number("dscale", dscale);
    asked_number("dbias", dbias);
    asked_word("at", (uint32_t)(q->which - LS__MAX_INPUTS));
    return 0;
}

static float batch_norm(const question *q)
{
    int64_t j = q->at % width_of(q);

    if (q->which >= LS__MAX_INPUTS)
        batch_param(q, j);
    asked_number("scale", q->p->param[0][j]);
    asked_number("var", q->p->param[3][j]);
    asked_number("eps", epsilon_of(q));
    if (q->which >= LS__MAX_INPUTS)
        return asked("batch_norm.params");
    if (q->which == 0) {
        asked_number("dy", q->p->dy[q->at]);
        return asked("batch_norm.back");
    }
    asked_number("x", q->p->x[0][q->at]);
    asked_number("mean", q->p->param[2][j]);
    asked_number("bias", q->p->param[1][j]);
    return asked("batch_norm");
}

/* ------ group norm: a list is a group of a row ------ */

static int64_t run_of(const question *q)
{
    return width_of(q) / asked_integer(q, "groups");
}

/* `step` width: of an array like x; 0: of one like its channels. */
static void give_group(const question *q, const char *name, int64_t list,
                       const float *x, int64_t step)
{
    int64_t run = run_of(q), pixels = ls__vectors(q->p->node);
    int64_t groups = asked_integer(q, "groups");
    float *to = asked_list(name, pixels * run);

    x += list / groups * pixels * step + list % groups * run;
    for (int64_t p = 0; p < pixels; p++, x += step)
        for (int64_t c = 0; c < run; c++)
            *to++ = x[c];
}

static void give_group_x(const question *q, int64_t list)
{
    give_group(q, "x", list, q->p->x[0], width_of(q));
}

/* dscale and dbias: pixel by pixel, row by row. */
static float group_param(const question *q)
{
    int64_t pixels = ls__vectors(q->p->node), vectors = q->p->rows;
    int64_t groups = asked_integer(q, "groups"), g = q->at / run_of(q);
    uint32_t *parts = (uint32_t *)(void *)asked_list("parts", vectors);
    float *mean, *r;

    for (int64_t i = 0; i < vectors; i++)
        parts[i] = (uint32_t)pixels;
    if (of_param(q, 1))
        return column_of_dy(q);
    give_column("x", vectors * pixels, width_of(q), q->p->x[0], q->at);
    give_column("dy", vectors * pixels, width_of(q), q->p->dy, q->at);
    mean = asked_list("mean", vectors * pixels);
    r = asked_list("r", vectors * pixels);
    for (int64_t i = 0; i < vectors * pixels; i++) {
        mean[i] = q->known[0][i / pixels * groups + g];
        r[i] = q->known[1][i / pixels * groups + g];
    }
    return asked("norm.scale.pixels");
}

static float group_norm(const question *q)
{
    int64_t groups = asked_integer(q, "groups"), n = width_of(q);
    int64_t run = run_of(q);
    int64_t nth = q->at / q->p->node->size, c = q->at % n;
    int64_t list = nth * groups + c / run;

    know_stats(q, q->p->rows * groups, run, give_group_x);
    if (q->which < 0)
        return norm_value(q, list, c);
    if (q->which >= LS__MAX_INPUTS)
        return group_param(q);
    give_group_x(q, list);
    give_group(q, "dy", list, q->p->dy, n);
    give_group(q, "scale", list % groups, q->p->param[0], 0);
    asked_word("at", (uint32_t)(q->at % q->p->node->size / n * run + c % run));
    asked_number("eps", epsilon_of(q));
    return asked("norm.back");
}

#endif
