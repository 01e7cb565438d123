/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators that are others of this room, one after the other. */
#include "base/error.h"
#include "import/reader.h"

#include <lockstep/arithmetic.h>

#include <string.h>

/* ------ parts that change places ------ */

/* Channels become pixels, or pixels channels: (N,C,H,W), C or H and W cut. */
static int space(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    static const int orders[3][6] = {
        {0, 3, 4, 1, 5, 2}, /* DCR */
        {0, 1, 4, 2, 5, 3}, /* CRD */
        {0, 3, 5, 1, 2, 4}};
    bool deep = ls__om_is(n, "SpaceToDepth");
    int kind = deep ? 2 : ls__om_says(n, "mode", "CRD"), status;
    int64_t b = ls__om_integer(n, "blocksize", 0), c, h, w;

    (void)r;
    if (v->rank != 4 || b < 1 || b > 1 << 16 || ls__value_rows(v) != 0 ||
        v->shape[1] % (deep ? 1 : b * b) || v->shape[2] % (deep ? b : 1) ||
        v->shape[3] % (deep ? b : 1))
        return ls__refuse("its blocks do not fit");
    c = deep ? v->shape[1] : v->shape[1] / (b * b);
    h = deep ? v->shape[2] / b : v->shape[2];
    w = deep ? v->shape[3] / b : v->shape[3];
    status = ls__value_reshape(
        v, 6, kind == 2   ? (int64_t[]){LS__ROWS, c, h, b, w, b}
              : kind == 1 ? (int64_t[]){LS__ROWS, c, b, b, h, w}
                          : (int64_t[]){LS__ROWS, b, b, c, h, w}, 0);
    if (status < 0)
        return status;
    ls__value_transpose(v, orders[kind]);
    return ls__value_reshape(
        v, 4, deep ? (int64_t[]){LS__ROWS, b * b * c, h, w}
                   : (int64_t[]){LS__ROWS, c, h * b, w * b}, 0);
}

/* An axis is repeated as one of one element before it. */
static int tile(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    int64_t by[LS_MAX_RANK], shape[LS_MAX_RANK], all[LS_MAX_RANK];
    int got = ls__read_sizes(r, n, 1, LS_MAX_RANK, by), status = 0;

    if (got != v->rank)
        return got < 0 ? got : ls__refuse("its repeats do not fit");
    for (int k = 0; k < v->rank && status == 0; k++) {
        int rank = v->rank;

        if (by[k] < 1 || (by[k] > INT32_MAX && by[k] != LS__ROWS) ||
            (v->shape[k] % LS__ROWS == 0 && by[k] != 1))
            return ls__refuse("it repeats rows");
        if (by[k] == 1)
            continue;
        memcpy(all, v->shape, sizeof all);
        all[k] *= by[k];
        if (rank == LS_MAX_RANK && v->shape[k] != 1)
            return ls__refuse("it has too many axes");
        if (v->shape[k] != 1)
            ls__value_unsqueeze(v, k);
        memcpy(shape, v->shape, sizeof shape);
        shape[k] = by[k];
        if ((status = ls__value_expand(v, v->rank, shape)) == 0)
            status = ls__value_reshape(v, rank, all, 0);
    }
    return status;
}

/* ------ indices ------ */

static int one_hot(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    const ls__named *values = ls__read_in(r, n, 2);
    int64_t depth;
    int axis, rank = v->rank, turn[LS_MAX_RANK], status;
    ls__lie lie;
    ls_node *x;

    if (ls__read_sizes(r, n, 1, 1, &depth) != 1 || depth < 1 ||
        depth > INT32_MAX || !values || values->kind != LS__NUMBERS ||
        ls__value_count(values) != 2 || rank + 1 >= LS_MAX_RANK)
        return ls__refuse("its depth and values are not known");
    if ((axis = ls__read_axis_of(n, -1, rank + 1)) < 0)
        return axis;
    if (!(x = ls__value_lying(v, -1, &lie)))
        return ls__made(x);
    v->shape[rank] = depth;
    lie.order[lie.axes++] = v->rank++;
    x = ls_one_hot(x, depth);
    if (values->number[0] != 0 || values->number[1] != 1)
        x = ls_scale_shift(x, values->number[1] - values->number[0],
                           values->number[0]);
    if ((status = ls__value_set_lying(v, x, &lie)) < 0)
        return status;
    for (int k = 0; k <= rank; k++)
        turn[k] = k < axis ? k : k == axis ? rank : k - 1;
    ls__value_transpose(v, turn);
    return 0;
}

/* ------ products ------ */

/* Sums of the elements up to each: a product with ones above the diagonal. */
static int sum_up(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    bool own = !ls__om_integer(n, "exclusive", 0);
    bool back = ls__om_integer(n, "reverse", 0);
    ls__named ones = {.name = n->output[0]}, x = *v;
    int64_t axis, size;
    int at, status;

    if (ls__read_sizes(r, n, 1, 1, &axis) != 1 || x.rank < 2)
        return ls__refuse("read are sums of matrices along an axis that is "
                          "known");
    if ((at = ls__read_axis(axis, x.rank)) < 0)
        return at;
    if ((size = x.shape[at]) > 4096)
        return ls__refuse("it goes over more than 4096 elements, or over the "
                          "rows, which do not see each other here");
    ls__value_exchange(&x, at);
    if ((status = ls__fold_new(r, &ones, 2, (int64_t[]){size, size}, true)) < 0)
        return status;
    for (int64_t i = 0; i < size * size; i++) {
        int64_t from = i / size, to = i % size;

        ones.number[i] = from == to ? own : back ? from > to : from < to;
    }
    if ((status = ls__read_as_node(r, n->output[0], &ones)) < 0 ||
        (status = ls__value_product(&x, &ones, v)) < 0)
        return status;
    ls__value_exchange(v, at);
    return 0;
}

/* ------ sums of products ------ */

/* "ab,bc->ac": the axes of each by their letters; false: of another kind. */
static bool letters(const char *text, size_t size,
                    char list[3][LS_MAX_RANK + 1])
{
    int of = 0, n = 0;

    memset(list, 0, 3 * (LS_MAX_RANK + 1));
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        bool arrow = c == '-' && i + 1 < size && text[i + 1] == '>';

        if ((of == 0 && c == ',') || (of == 1 && arrow)) {
            of++;
            n = 0;
            i += arrow;
        } else if (c >= 'a' && c <= 'z' && n < LS_MAX_RANK &&
                   !strchr(list[of], c)) {
            list[of][n++] = c;
        } else if (c != ' ') {
            return false;
        }
    }
    return of == 2;
}

static void add(char *list, char c)
{
    size_t n = strlen(list);

    list[n] = c;
    list[n + 1] = 0;
}

/* Put a value's axes, which letters name, in the order of other letters; one
 * that it lacks is of one element there. */
static int in_letters(ls__named *v, char *has, const char *wanted)
{
    int order[LS_MAX_RANK];

    for (int k = 0; wanted[k]; k++)
        if (!strchr(has, wanted[k])) {
            if (v->rank == LS_MAX_RANK)
                return ls__refuse("it has too many axes");
            ls__value_unsqueeze(v, v->rank);
            add(has, wanted[k]);
        }
    for (int k = 0; k < v->rank; k++)
        order[k] = (int)(strchr(has, wanted[k]) - has);
    ls__value_transpose(v, order);
    return 0;
}

/* The letters of an equation.  Axes of both and of y are a batch; so are all
 * but the last of those of one and of y; what is in both and not in y is summed
 * over. */
typedef struct equation {
    char of[3][LS_MAX_RANK + 1]; /* the operands, and y */
    char batch[3 * LS_MAX_RANK], last[2][2], sum[LS_MAX_RANK + 1];
} equation;

/* Sort the letters of y. */
static int sort_kept(equation *e)
{
    for (const char *c = e->of[2]; *c; c++) {
        bool in[2] = {strchr(e->of[0], *c) != NULL,
                      strchr(e->of[1], *c) != NULL};
        char *last = e->last[in[0] ? 0 : 1];

        if (!in[0] && !in[1])
            return ls__refuse("its letters do not fit");
        if (in[0] && in[1]) {
            add(e->batch, *c);
        } else {
            if (*last)
                add(e->batch, *last);
            *last = *c;
        }
    }
    return 0;
}

/* Find what is summed over, and name axes of one element where there is none.
 * Letters of an equation are small ones. */
static int sort_summed(equation *e)
{
    for (int k = 0; k < 2; k++)
        for (const char *c = e->of[k]; *c; c++) {
            if (!strchr(e->of[2], *c) && !strchr(e->of[!k], *c))
                return ls__refuse("it sums over '%c' of one operand", *c);
            if (!k && !strchr(e->of[2], *c))
                add(e->sum, *c);
        }
    for (int k = 0; k < 2; k++)
        if (!*e->last[k])
            e->last[k][0] = (char)('A' + k);
    if (!*e->sum)
        add(e->sum, 'C');
    return strlen(e->batch) + strlen(e->sum) + 1 > LS_MAX_RANK
               ? ls__refuse("it has too many axes") : 0;
}

static int read_equation(const ls__om_node *n, const ls__named v[2],
                         equation *e)
{
    ls__wire at;
    ls__field f;
    int status;

    if (!ls__om_attribute(n, "equation", &at) || !ls__wire_find(at, 4, &f) ||
        !letters((const char *)f.bytes.at, ls__wire_size(f.bytes), e->of))
        return ls__refuse("read are two operands, as \"bik,bkj->bij\"");
    if ((size_t)v[0].rank != strlen(e->of[0]) ||
        (size_t)v[1].rank != strlen(e->of[1]))
        return ls__refuse("its letters do not fit");
    status = sort_kept(e);
    return status < 0 ? status : sort_summed(e);
}

/* Put the axes of the product, the batch and what was last, as y has them. */
static void in_order(const equation *e, ls__named *y)
{
    char order[4 * LS_MAX_RANK];
    bool drop[LS_MAX_RANK] = {false};
    int turn[LS_MAX_RANK], kept = 0;

    strcat(strcat(strcpy(order, e->batch), e->last[0]), e->last[1]);
    for (int k = 0; k < y->rank; k++) {
        drop[k] = !strchr(e->of[2], order[k]);
        if (!drop[k])
            order[kept++] = order[k];
    }
    order[kept] = 0;
    ls__value_squeeze(y, drop);
    for (int k = 0; k < y->rank; k++)
        turn[k] = (int)(strchr(order, e->of[2][k]) - order);
    ls__value_transpose(y, turn);
}

static int einsum(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    ls__named of[2] = {*v};
    equation e = {.batch = ""};
    int status;

    if (n->inputs != 2)
        return ls__refuse("read are two operands");
    if ((status = ls__read_node_in(r, n, 1, &of[1])) < 0 ||
        (status = read_equation(n, of, &e)) < 0)
        return status;
    for (int k = 0; k < 2; k++) {
        char order[4 * LS_MAX_RANK];

        strcat(strcat(strcpy(order, e.batch), e.last[k]), e.sum);
        if ((status = in_letters(&of[k], e.of[k], order)) < 0 ||
            (status = ls__value_merge(&of[k], (int)strlen(e.batch) + 1)) < 0)
            return status;
    }
    ls__value_exchange(&of[1], of[1].rank - 2);
    if ((status = ls__value_product(&of[0], &of[1], v)) < 0)
        return status;
    in_order(&e, v);
    return 0;
}

const ls__read_row ls__read_more[] = {
    {"DepthToSpace SpaceToDepth", space, LS__AS_NODE},
    {"Tile", tile, LS__AS_NODE}, {"OneHot", one_hot, LS__AS_NODE},
    {"CumSum", sum_up, LS__AS_NODE}, {"Einsum", einsum, LS__AS_NODE},
    {NULL, NULL, 0}};
