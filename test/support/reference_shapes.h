/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators on the shapes of nodes, reductions, products and indices, in double
 * and index by index: see reference.h, which includes this. */
#ifndef LS_TEST_REFERENCE_SHAPES_H
#define LS_TEST_REFERENCE_SHAPES_H

/* ------ values that are elements of inputs ------ */

/* The indices of element i of a node, row by row. */
static inline void indices_of(const ls_node *n, int64_t i, int64_t *index)
{
    for (int k = n->rank - 1; k >= 0; k--) {
        index[k] = i % n->shape[k];
        i /= n->shape[k];
    }
}

static inline int64_t element_at(const ls_node *n, const int64_t *index)
{
    int64_t at = 0;

    for (int k = 0; k < n->rank; k++)
        at = at * n->shape[k] + index[k];
    return at;
}

/* The input that element i of a row of y is from, and its place there. */
static inline int64_t source(const ls_node *n, int64_t i, int *input)
{
    int64_t y[LS_MAX_RANK], x[LS_MAX_RANK] = {0};
    const ls__extents *axes = ls__attribute_named(n, "axes");
    int64_t axis = integer_of(n, "axis");
    const ls_node *from = n->in[0];
    int more = n->rank - from->rank;

    *input = 0;
    indices_of(n, i, y);
    memcpy(x, y, sizeof x);
    if (n->op == &ls__op_transpose)
        for (int k = 0; k < n->rank; k++)
            x[axes->of[k]] = y[k];
    if (n->op == &ls__op_slice)
        x[axis] += integer_of(n, "first");
    if (n->op == &ls__op_broadcast)
        for (int k = 0; k < from->rank; k++)
            x[k] = from->shape[k] == 1 ? 0 : y[k + more];
    if (n->op == &ls__op_concat && x[axis] >= from->shape[axis]) {
        x[axis] -= from->shape[axis];
        *input = 1;
        from = n->in[1];
    }
    return n->op == &ls__op_reshape ? i : element_at(from, x);
}

static inline void ref_moved(const ref *r)
{
    const ls_node *n = r->node;

    for (int64_t i = 0; i < r->rows * n->size; i++) {
        int k;
        int64_t at = source(n, i % n->size, &k);

        r->y[i] = r->x[k][i / n->size * n->in[k]->size + at];
    }
}

static inline void ref_moved_grad(const ref *r)
{
    const ls_node *n = r->node;

    for (int64_t i = 0; i < r->rows * n->size; i++) {
        int k;
        int64_t at = source(n, i % n->size, &k);

        r->dx[k][i / n->size * n->in[k]->size + at] += r->dy[i];
    }
}

/* ------ reductions ------ */

/* The element of y that element i of x, counted over all rows, belongs to. */
static inline int64_t reduced_to(const ref *r, int64_t i)
{
    const ls_node *n = r->node, *x = n->in[0];
    int64_t index[LS_MAX_RANK], at = i / x->size;
    int64_t axis = integer_of(n, "axis");
    int64_t last = axis + integer_of(n, "axes");

    indices_of(x, i % x->size, index);
    for (int k = 0; k < x->rank; k++)
        if (k < axis || k >= last)
            at = at * x->shape[k] + index[k];
    return at;
}

static inline void ref_sum(const ref *r)
{
    memset(r->y, 0, (size_t)(r->rows * r->node->size) * sizeof *r->y);
    for (int64_t i = 0; i < r->rows * r->node->in[0]->size; i++)
        r->y[reduced_to(r, i)] += r->x[0][i];
}

static inline void ref_sum_grad(const ref *r)
{
    for (int64_t i = 0; i < r->rows * r->node->in[0]->size; i++)
        r->dx[0][i] += r->dy[reduced_to(r, i)];
}

static inline void ref_top(const ref *r)
{
    for (int64_t i = 0; i < r->rows * r->node->size; i++)
        r->y[i] = -(double)INFINITY;
    for (int64_t i = 0; i < r->rows * r->node->in[0]->size; i++)
        r->y[reduced_to(r, i)] = fmax(r->y[reduced_to(r, i)], r->x[0][i]);
}

static inline void ref_top_grad(const ref *r)
{
    for (int64_t i = 0; i < r->rows * r->node->in[0]->size; i++)
        if (r->x[0][i] == r->y[reduced_to(r, i)])
            r->dx[0][i] += r->dy[reduced_to(r, i)];
}

/* ------ softmax ------ */

static inline double log_sum(int64_t n, const double *x)
{
    double top = x[0], sum = 0;

    for (int64_t j = 1; j < n; j++)
        top = x[j] > top ? x[j] : top;
    for (int64_t j = 0; j < n; j++)
        sum += exp(x[j] - top);
    return top + log(sum);
}

static inline void ref_softmax(const ref *r)
{
    int64_t n = ls__width(r->node);
    bool is_log = r->node->op == &ls__op_log_softmax;

    for (int64_t v = 0; v < r->rows * r->node->size; v += n) {
        double total = log_sum(n, r->x[0] + v);

        for (int64_t i = v; i < v + n; i++) {
            double y = r->x[0][i] - total;

            r->y[i] = is_log ? y : exp(y);
        }
    }
}

/* sum_j dy[j] dy_j/dx_i */
static inline void ref_softmax_grad(const ref *r)
{
    int64_t n = ls__width(r->node);
    bool is_log = r->node->op == &ls__op_log_softmax;

    for (int64_t v = 0; v < r->rows * r->node->size; v += n) {
        const double *x = r->x[0] + v, *dy = r->dy + v;
        double total = log_sum(n, x), dot = 0;

        for (int64_t j = 0; j < n; j++)
            dot += is_log ? dy[j] : dy[j] * exp(x[j] - total);
        for (int64_t j = 0; j < n; j++) {
            double p = exp(x[j] - total);

            r->dx[0][v + j] += is_log ? dy[j] - p * dot : p * (dy[j] - dot);
        }
    }
}

/* ------ products ------ */

/* Call for every product that y is made of: element y += a[i] b[j]. */
typedef void each_product(const ref *r, int64_t y, int64_t a, int64_t b);

static inline void walk_products(const ref *r, each_product *each)
{
    const ls_node *a = r->node->in[0];
    int64_t n = ls__width(r->node), k = ls__width(a), m = a->shape[a->rank - 2];

    for (int64_t y = 0; y < r->rows * r->node->size; y++) {
        int64_t matrix = y / (m * n), i = y / n % m, j = y % n;

        for (int64_t p = 0; p < k; p++)
            each(r, y, (matrix * m + i) * k + p, (matrix * k + p) * n + j);
    }
}

static inline void product_y(const ref *r, int64_t y, int64_t a, int64_t b)
{
    r->y[y] += r->x[0][a] * r->x[1][b];
}

static inline void product_grad(const ref *r, int64_t y, int64_t a, int64_t b)
{
    r->dx[0][a] += r->dy[y] * r->x[1][b];
    r->dx[1][b] += r->dy[y] * r->x[0][a];
}

static inline void ref_matmul(const ref *r)
{
    memset(r->y, 0, (size_t)(r->rows * r->node->size) * sizeof *r->y);
    walk_products(r, product_y);
}

static inline void ref_matmul_grad(const ref *r)
{
    walk_products(r, product_grad);
}

/* ------ indices ------ */

static inline void ref_one_hot(const ref *r)
{
    int64_t n = ls__width(r->node);

    for (int64_t i = 0; i < r->rows * r->node->size; i++)
        r->y[i] = r->x[0][i / n] == (double)(i % n);
}

static inline void ref_none(const ref *r)
{
    (void)r;
}

/* The element of x that is element i of y. */
static inline int64_t gathered(const ref *r, int64_t i)
{
    const ls_node *x = r->node->in[0];
    int64_t size = x->size / x->shape[0], row = i / r->node->size;

    return row * x->size + (int64_t)r->x[1][i / size] * size + i % size;
}

static inline void ref_gather(const ref *r)
{
    for (int64_t i = 0; i < r->rows * r->node->size; i++)
        r->y[i] = r->x[0][gathered(r, i)];
}

static inline void ref_gather_grad(const ref *r)
{
    for (int64_t i = 0; i < r->rows * r->node->size; i++)
        r->dx[0][gathered(r, i)] += r->dy[i];
}

/* ------ steps the other way round ------ */

/* The source of element i, of all rows. */
static inline int64_t reversed_from(const ref *r, int64_t i)
{
    int64_t steps = r->node->shape[0], width = r->node->size / steps;
    int64_t row = i / r->node->size, t = i / width % steps;
    int64_t count = r->node->in[1] ? (int64_t)r->x[1][row] : steps;

    return t < count ? i + (count - 1 - 2 * t) * width : i;
}

static inline void ref_reverse(const ref *r)
{
    for (int64_t i = 0; i < r->rows * r->node->size; i++)
        r->y[i] = r->x[0][reversed_from(r, i)];
}

static inline void ref_reverse_grad(const ref *r)
{
    for (int64_t i = 0; i < r->rows * r->node->size; i++)
        r->dx[0][reversed_from(r, i)] += r->dy[i];
}

#endif
