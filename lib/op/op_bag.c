/* Bags: a dense layer whose x is given as lists of what is not zero, and sums
 * and means of rows of a table, which are the same with values of one.
 *
 *     y[..,:] = sum_k value[..,k] w[index[..,k],:] + bias
 *
 * An index below 0 stands for nothing.  Forward sorts each list and adds up the
 * values of an index that stands in it twice; backward sorts the entries of all
 * bags of the chunk by index, so that it reads and writes a row of the gradient
 * once a chunk.  Both are chains in the order of the dense layer's products
 * (kernel/k_bag.h). */
#include "base/error.h"
#include "op/op_table.h"

#include <string.h>

/* ------ The node ------ */

static int values_shape(const ls_node *n)
{
    const ls_node *x = n->in[0], *v = n->in[1];
    char is[LS__SHAPE_TEXT], wanted[LS__SHAPE_TEXT];

    if (n->op->inputs == 1)
        return 0;
    if (ls__want(n, 1, LS_F32, 1) < 0)
        return LS_ESHAPE;
    if (v->rank == x->rank &&
        !memcmp(v->shape, x->shape, (size_t)x->rank * sizeof *x->shape))
        return 0;
    return ls__fail(LS_ESHAPE, "%s \"%s\": indices are %s, their values %s",
                    n->op->name, n->name,
                    ls__shape_text(wanted, x->rank, x->shape),
                    ls__shape_text(is, v->rank, v->shape));
}

static int bag_shape(ls_node *n)
{
    const ls_node *x = n->in[0];
    int64_t shape[LS_MAX_RANK];

    if (ls__want(n, 0, LS_I32, 1) < 0 || values_shape(n) < 0)
        return LS_ESHAPE;
    if (n->limit < 1 || n->limit > INT32_MAX)
        return ls__fail(LS_ESHAPE, "%s \"%s\": %lld inputs; there must be 1 to "
                        "%d", n->op->name, n->name, (long long)n->limit,
                        INT32_MAX);
    memcpy(shape, x->shape, sizeof shape);
    shape[x->rank - 1] = n->features;
    return ls__node_set_shape(n, LS_F32, x->rank, shape);
}

/* Batches are checked against the smallest. */
static void limit(ls_node *n)
{
    if (n->limit < n->in[0]->limit)
        n->in[0]->limit = n->limit;
}

static ls_node *dense_declare(ls_node *n)
{
    int64_t in = n->limit, out = n->features;

    limit(n);
    n = ls__node_table(n, "kernel", LS__INIT_LECUN_NORMAL, in, out, in, out);
    return n && n->bias ? ls__node_param(n, "bias", LS__INIT_ZEROS, in, out, 1,
                                         &out)
                        : n;
}

static ls_node *embed_declare(ls_node *n)
{
    limit(n);
    return ls__node_table(n, "embedding", LS__INIT_NORMAL, n->features,
                          n->limit, n->limit, n->features);
}

/* ------ Lists ------ */

/* The places of a bag: most that its list can have. */
static int64_t places(const ls_node *n)
{
    return ls__width(n->in[0]);
}

/* What forward leaves of a bag: how many, their indices, their values. */
static int64_t list_floats(const ls_node *n)
{
    return 1 + 2 * places(n);
}

static int64_t bag_stash(const ls_node *n)
{
    return ls__vectors(n) * list_floats(n);
}

static ls__bag list_of(const ls__run *r, int64_t bag)
{
    float *at = r->stash + bag * list_floats(r->node);
    int32_t count;

    memcpy(&count, at, sizeof count);
    return (ls__bag){.n = ls__width(r->node), .count = count,
                     .index = (const uint32_t *)(const void *)(at + 1),
                     .value = at + 1 + places(r->node),
                     .table = r->param[0],
                     .bias = r->node->params > 1 ? r->param[1] : NULL};
}

/* Is a list to be gone through in this order?  Where two are equal, in the
 * order of their places, which are e->bag here. */
static bool precedes(const ls__bag_entry *a, const ls__bag_entry *b)
{
    return a->index < b->index || (a->index == b->index && a->bag < b->bag);
}

/* Shell's sort: lists are short, and as a rule in order. */
static void sort_list(ls__bag_entry *e, int64_t n)
{
    int64_t gap = 1;

    while (gap < n / 3)
        gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        for (int64_t i = gap; i < n; i++) {
            ls__bag_entry x = e[i];
            int64_t at = i;

            for (; at >= gap && precedes(&x, &e[at - gap]); at -= gap)
                e[at] = e[at - gap];
            e[at] = x;
        }
}

/* What stands in a bag, in the order of its places; returns how many. */
static int64_t collect(const ls__run *r, int64_t bag, ls__bag_entry *e)
{
    int64_t k = places(r->node), n = 0;
    const int32_t *index = (const int32_t *)r->x[0] + bag * k;
    const float *value = r->node->op->inputs > 1
                             ? (const float *)r->x[1] + bag * k
                             : NULL;

    for (int64_t i = 0; i < k; i++)
        if (index[i] >= 0)
            e[n++] = (ls__bag_entry){(uint32_t)index[i], (uint32_t)i,
                                     value ? value[i] : 1};
    if (r->node->mean)
        for (int64_t i = 0; i < n; i++)
            e[i].value = 1.0f / (float)n;
    return n;
}

static bool is_sorted(const ls__bag_entry *e, int64_t n)
{
    for (int64_t i = 1; i < n; i++)
        if (e[i].index <= e[i - 1].index)
            return false;
    return true;
}

/* Add up what has one index, in the order of places; returns how many are
 * left. */
static int64_t merge(ls__bag_entry *e, int64_t n)
{
    int64_t to = 0;

    for (int64_t i = 1; i < n; i++)
        if (e[i].index == e[to].index)
            e[to].value += e[i].value;
        else
            e[++to] = e[i];
    return n ? to + 1 : 0;
}

static void make_list(const ls__run *r, int64_t bag, ls__bag_entry *e)
{
    float *at = r->stash + bag * list_floats(r->node);
    uint32_t *index = (uint32_t *)(void *)(at + 1);
    float *value = at + 1 + places(r->node);
    int64_t n = collect(r, bag, e);
    int32_t count;

    if (!is_sorted(e, n)) {
        sort_list(e, n);
        n = merge(e, n);
    }
    count = (int32_t)n;
    memcpy(at, &count, sizeof count);
    for (int64_t i = 0; i < n; i++) {
        index[i] = e[i].index;
        value[i] = e[i].value;
    }
}

/* ------ Forward ------ */

static int64_t bags(const ls__run *r)
{
    return r->rows * ls__vectors(r->node);
}

/* Entries and counts are three and one of four bytes, as floats are. */
enum { ENTRY = sizeof(ls__bag_entry) / sizeof(float), DIGITS = 256 };

_Static_assert(sizeof(ls__bag_entry) == 3 * sizeof(float), "no padding");

/* Forward: a list; backward: all entries, twice, and counts of a digit. */
static int64_t bag_scratch(const ls_node *n, int64_t rows,
                           const ls__backend *backend)
{
    (void)backend;
    return 2 * ENTRY * rows * ls__vectors(n) * places(n) + DIGITS;
}

static void bag_fwd(const ls__run *r)
{
    int64_t n = ls__width(r->node);
    ls__bag_entry *e = (ls__bag_entry *)(void *)r->scratch;

    for (int64_t i = 0; i < bags(r); i++) {
        ls__bag bag;

        make_list(r, i, e);
        bag = list_of(r, i);
        r->kernels->bag_sum(&bag, r->y + i * n);
    }
}

/* ------ Backward ------ */

/* All entries of the chunk, bag by bag; returns how many. */
static int64_t gather(const ls__run *r, ls__bag_entry *e)
{
    int64_t n = 0;

    for (int64_t i = 0; i < bags(r); i++) {
        ls__bag bag = list_of(r, i);

        for (int64_t k = 0; k < bag.count; k++)
            e[n++] = (ls__bag_entry){bag.index[k], (uint32_t)i, bag.value[k]};
    }
    return n;
}

/* By one digit of the index, entries of an equal one in the order they had. */
static void sort_digit(int64_t n, int shift, const ls__bag_entry *from,
                       ls__bag_entry *to, uint32_t *count)
{
    uint32_t sum = 0;

    memset(count, 0, DIGITS * sizeof *count);
    for (int64_t i = 0; i < n; i++)
        count[from[i].index >> shift & (DIGITS - 1)]++;
    for (int d = 0; d < DIGITS; d++) {
        uint32_t of_digit = count[d];

        count[d] = sum;
        sum += of_digit;
    }
    for (int64_t i = 0; i < n; i++)
        to[count[from[i].index >> shift & (DIGITS - 1)]++] = from[i];
}

/* All n entries by index, then by bag: where they are then, e or `other`. */
static const ls__bag_entry *sorted(const ls__run *r, int64_t n,
                                   ls__bag_entry *e, ls__bag_entry *other)
{
    uint32_t *count = (uint32_t *)(void *)(r->scratch + bag_scratch(
                          r->node, r->rows, r->backend) - DIGITS);

    for (int shift = 0; (r->node->limit - 1) >> shift; shift += 8) {
        ls__bag_entry *swap = e;

        sort_digit(n, shift, e, other, count);
        e = other;
        other = swap;
    }
    return e;
}

/* dw (+)= sum over bags of value d, for each index that occurs. */
static void table_grad(const ls__run *r)
{
    ls__bag_entry *e = (ls__bag_entry *)(void *)r->scratch;
    int64_t width = ls__width(r->node), n = gather(r, e);
    const ls__bag_entry *of = sorted(r, n, e, e + bags(r) * places(r->node));
    float *table = r->dparam[0];

    if (!r->add)
        memset(table, 0, (size_t)(r->node->limit * width) * sizeof *table);
    for (int64_t i = 0, end; i < n; i = end) {
        end = i + 1;
        while (end < n && of[end].index == of[i].index)
            end++;
        r->kernels->bag_grad(width, end - i, of + i, r->dy,
                             table + of[i].index * width);
    }
}

/* The gradients of a bag's values, 16 at a time; out[i] is that of place[i]. */
static void dots(const ls__run *r, int64_t bag, int count,
                 const int64_t place[16])
{
    const int32_t *index = (const int32_t *)r->x[0] + bag * places(r->node);
    int64_t at = bag * places(r->node), n = ls__width(r->node);
    const float *addend = r->addend[1], *row[16] = {NULL};
    float out[16];

    for (int i = 0; i < count; i++)
        row[i] = r->param[0] + index[place[i]] * n;
    r->kernels->bag_dots(n, count, row, r->dy + bag * n, out);
    for (int i = 0; i < count; i++)
        r->dx[1][at + place[i]] =
            (addend ? addend[at + place[i]] : 0) + out[i];
}

/* dvalue[k] = dy w[index[k],:], and 0 where there is no index. */
static void values_grad(const ls__run *r, int64_t bag)
{
    int64_t k = places(r->node), at = bag * k, place[16];
    const int32_t *index = (const int32_t *)r->x[0] + at;
    int count = 0;

    for (int64_t i = 0; i < k; i++) {
        if (index[i] >= 0)
            place[count++] = i;
        else
            r->dx[1][at + i] = r->addend[1] ? r->addend[1][at + i] : 0;
        if (count == 16 || (count && i == k - 1)) {
            dots(r, bag, count, place);
            count = 0;
        }
    }
}

static void bag_bwd(const ls__run *r)
{
    const ls_node *n = r->node;

    if (r->dparam[0])
        table_grad(r);
    if (n->params > 1 && r->dparam[1])
        r->kernels->column_sum(bags(r), ls__width(n), r->dy, r->add,
                               r->dparam[1]);
    for (int64_t i = 0; i < bags(r) && r->dx[1]; i++)
        values_grad(r, i);
}

/* Of lists that are full. */
static double bag_flops(const ls_node *n)
{
    return 2.0 * (double)n->size * (double)places(n);
}

static int64_t bag_picks(const ls_node *n)
{
    return n->size * places(n);
}

/* ------ The operators ------ */

static const ls__attribute dense_attributes[] = {
    LS__FIELD("count", LS__INTEGER, limit),
    LS__FIELD("features", LS__INTEGER, features),
    LS__FIELD("bias", LS__YES_NO, bias),
    {0}};

static const ls__attribute embed_attributes[] = {
    LS__FIELD("count", LS__INTEGER, limit),
    LS__FIELD("features", LS__INTEGER, features),
    LS__FIELD("mean", LS__YES_NO, mean),
    {0}};

const ls__op ls__op_sparse_dense = {
    .name = "sparse_dense", .inputs = 1, .ignores = 1, .leaves_params = true,
    .attributes = dense_attributes, .shape = bag_shape,
    .declare = dense_declare, .stash = bag_stash, .scratch = bag_scratch,
    .flops = bag_flops, .picks = bag_picks, .forward = bag_fwd,
    .backward = bag_bwd};

const ls__op ls__op_sparse_dense_values = {
    .name = "sparse_dense_values", .inputs = 2, .ignores = 1, .finite = 2,
    .reads = 1, .leaves_params = true,
    .attributes = dense_attributes, .shape = bag_shape,
    .declare = dense_declare, .stash = bag_stash, .scratch = bag_scratch,
    .flops = bag_flops, .picks = bag_picks, .forward = bag_fwd,
    .backward = bag_bwd};

const ls__op ls__op_embed_bag = {
    .name = "embed_bag", .inputs = 1, .ignores = 1, .leaves_params = true,
    .attributes = embed_attributes, .shape = bag_shape,
    .declare = embed_declare, .stash = bag_stash, .scratch = bag_scratch,
    .flops = bag_flops, .picks = bag_picks, .forward = bag_fwd,
    .backward = bag_bwd};

static ls_node *sparse_dense(ls_node *indices, ls_node *values, int64_t inputs,
                             int64_t n, bool bias, const char *name)
{
    ls_node *y = ls__node_new(values ? &ls__op_sparse_dense_values
                                     : &ls__op_sparse_dense,
                              name, indices, values, NULL);

    if (y) {
        y->limit = inputs;
        y->features = n;
        y->bias = bias;
    }
    return ls__node_done(y);
}

ls_node *ls_sparse_dense(ls_node *indices, ls_node *values, int64_t inputs,
                         int64_t n, const char *name)
{
    return sparse_dense(indices, values, inputs, n, true, name);
}

ls_node *ls_sparse_dense_no_bias(ls_node *indices, ls_node *values,
                                 int64_t inputs, int64_t n, const char *name)
{
    return sparse_dense(indices, values, inputs, n, false, name);
}

ls_node *ls_embed_bag(ls_node *indices, ls_bag bag, int64_t count,
                      int64_t width, const char *name)
{
    ls_node *y = ls__node_new(&ls__op_embed_bag, name, indices, NULL, NULL);

    if (y && (int)bag != LS_BAG_SUM && bag != LS_BAG_MEAN) {
        ls__fail(LS_EINVAL, "embed_bag \"%s\": bag %d is neither a sum nor a "
                 "mean", y->name, (int)bag);
        return ls__graph_failed(y->graph, LS_EINVAL);
    }
    if (y) {
        y->limit = count;
        y->features = width;
        y->mean = bag == LS_BAG_MEAN;
    }
    return ls__node_done(y);
}
