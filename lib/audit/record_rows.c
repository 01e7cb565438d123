/* SPDX-License-Identifier: BSD-3-Clause */
/* See record_rows.h. */
#include "audit/record_rows.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/json.h"
#include "base/least.h"
#include "base/memory.h"
#include "base/range.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------ which rows ------ */

static int check(const ls_record_options *o)
{
    int64_t rows = o->source->rows;

    if (o->batches < 0 || o->batch < 1 || (!o->window && o->epoch < 1) ||
        o->window < 0 || o->window > rows || o->batches > UINT32_MAX)
        return ls__fail(LS_EINVAL, "a record: batch %lld, of %lld rows, %lld "
                        "in an epoch, windows of %lld: the source has no such "
                        "rows", (long long)o->batches, (long long)o->batch,
                        (long long)o->epoch, (long long)o->window);
    if (rows > INT32_MAX && (o->shuffle || o->window))
        return ls__fail(LS_ENOTSUP, "a record: %lld rows, of which a batch is "
                        "drawn: 2147483647 are the most", (long long)rows);
    return 0;
}

/* The permutation of the epoch, as a loader draws it; to be freed. */
static int32_t *order_of(const ls_record_options *o)
{
    uint32_t epoch = (uint32_t)(o->batches / o->epoch);
    int64_t rows = o->source->rows;
    int32_t *order = ls__new((size_t)rows, sizeof *order, "order of rows");

    if (order &&
        ls_random_permutation(ls_key_fold_in(o->key, epoch), rows, order) == 0)
        return order;
    free(order);
    return NULL;
}

/* The row that window i begins with. */
static int64_t drawn_start(const ls_record_options *o, int64_t i)
{
    int32_t start = 0;

    ls_random_randint(ls_key_fold_in(o->key, (uint32_t)o->batches), (uint64_t)i,
                      1, 0, (int32_t)(o->source->rows - o->window + 1), &start);
    return start;
}

static int find_rows(ls__record_rows *r, const ls_record_options *o)
{
    int64_t rows = o->source->rows;
    int64_t first = o->window ? 0 : o->batches % o->epoch * o->batch;
    bool shuffles = o->shuffle && !o->window;
    int32_t *order = NULL;

    if (first >= rows)
        return ls__fail(LS_EINVAL, "a record: batch %lld of the epoch begins "
                        "with row %lld of %lld", (long long)o->batches,
                        (long long)first, (long long)rows);
    r->real = o->window ? o->batch : ls__least(o->batch, rows - first);
    r->row = ls__new((size_t)r->real, sizeof *r->row, "rows of a batch");
    if (!r->row || (shuffles && !(order = order_of(o))))
        return LS_ENOMEM;
    for (int64_t i = 0; i < r->real; i++)
        r->row[i] = o->window ? drawn_start(o, i)
                    : order   ? order[first + i]
                              : first + i;
    free(order);
    return 0;
}

/* ------ which leaves ------ */

/* The leaves in which row i, or its window, lies. */
static ls__range leaves_of(const ls__record_rows *r, const ls_record_options *o,
                           int64_t i)
{
    int64_t width = r->tree.width, first = r->row[i] * width;
    int64_t last = first + ls__most(o->window, 1) * width - 1;

    return (ls__range){first / LS__LEAF, last / LS__LEAF + 1};
}

static int find_leaves(ls__record_rows *r, const ls_record_options *o)
{
    ls__row_tree *t = &r->tree;
    int64_t n = 0;

    t->wanted = ls__new((size_t)ls__merkle_leaves(t->words), sizeof *t->wanted,
                        "leaves of a batch");
    for (int64_t i = 0; t->wanted && i < r->real; i++)
        for (ls__range of = leaves_of(r, o, i); of.first < of.last;
             of.first++) {
            n += !t->wanted[of.first];
            t->wanted[of.first] = true;
        }
    t->kept = ls__new((size_t)n, LS__LEAF * sizeof *t->kept,
                      "leaves of a batch");
    return t->wanted && t->kept ? 0 : LS_ENOMEM;
}

/* ------ the tree ------ */

/* All digests, level after level: as many at most as leaves, twice, and one
 * for each level. */
static int make_levels(ls__record_rows *r)
{
    int64_t n = r->tree.done;
    ls__digest *at;

    r->level = at = ls__new((size_t)(2 * n + LS__WAY), sizeof *at,
                            "leaves of rows");
    if (!at)
        return LS_ENOMEM;
    memcpy(at, r->tree.leaf, (size_t)n * sizeof *at);
    for (; n > 1; n = (n + 1) / 2) {
        for (int64_t i = 0; i + 1 < n; i += 2)
            at[n + i / 2] = ls__merkle_pair(at + i);
        if (n % 2)
            at[n + n / 2] = at[n - 1];
        at += n;
    }
    r->root = at;
    return 0;
}

int ls__record_rows_way(const ls__record_rows *r, int64_t leaf,
                        ls__digest way[LS__WAY])
{
    const ls__digest *at = r->level;
    int n = 0;

    for (int64_t size = r->tree.done; size > 1; size = (size + 1) / 2) {
        if ((leaf ^ 1) < size)
            way[n++] = at[leaf ^ 1];
        leaf /= 2;
        at += size;
    }
    LS__ASSERT(n <= LS__WAY);
    return n;
}

/* ------ */

int ls__record_rows_open(ls__record_rows *r, const ls_record_options *o)
{
    int status;

    *r = (ls__record_rows){0};
    if (!o->source || (status = check(o)) < 0)
        return o->source ? status : 0;
    if ((status = ls__row_tree_open(&r->tree, o->source)) == 0)
        status = find_rows(r, o);
    if (status == 0)
        status = find_leaves(r, o);
    if (status == 0)
        status = ls__row_tree_hash(&r->tree);
    return status < 0 ? status : make_levels(r);
}

void ls__record_rows_close(ls__record_rows *r)
{
    ls__row_tree_free(&r->tree);
    free(r->row);
    free(r->level);
    *r = (ls__record_rows){0};
}

json_t *ls__record_rows_said(const ls__record_rows *r,
                             const ls_record_options *o)
{
    json_t *arrays = json_array();
    char key[20], root[65];

    for (int i = 0; i < o->source->n_arrays; i++)
        arrays = ls__json_and(arrays, json_integer(r->tree.size[i]));
    snprintf(key, sizeof key, "%08" PRIx32 "%08" PRIx32, o->key.word[0],
             o->key.word[1]);
    ls__digest_text(r->root, root);
    root[64] = 0;
    return json_pack("{s:o,s:I,s:I,s:s,s:s,s:I,s:i,s:i,s:I}", "arrays", arrays,
                     "batch", (json_int_t)o->batch, "batches",
                     (json_int_t)o->epoch, "key", key, "root", root, "rows",
                     (json_int_t)o->source->rows, "shuffle", (int)o->shuffle,
                     "weighted", (int)o->source->weighted, "window",
                     (json_int_t)o->window);
}
