/* SPDX-License-Identifier: BSD-3-Clause */
/* Packs the weights that all runs of a plan read (exec.h). */
#include "base/assert.h"
#include "base/range.h"
#include "plan/exec.h"

#include <string.h>

enum { PIECE = 1 << 16 }; /* floats packed early, between two looks */

/* The first column of q in the part that begins at packed float `at`. */
static int64_t column_at(const ls__pack *q, int64_t at)
{
    int64_t column;

    LS__ASSERT(q->whole >= 1);
    if (at <= q->offset)
        return 0;
    if (at >= q->offset + q->floats)
        return q->n;
    column = (at - q->offset) * q->n / q->floats;
    column = (column + q->whole - 1) / q->whole * q->whole;
    return column < q->n ? column : q->n;
}

/* Columns first .. last. */
static void pack(const ls__plan *plan, const ls__pack *q, int64_t first,
                 int64_t last, const ls__weights *w)
{
    LS__ASSERT(0 <= first && first < last && last <= q->n &&
               first % q->whole == 0);
    q->write(q, &plan->backend, first, last, w->of[q->node->param[0]],
             w->packed + q->offset);
}

void ls__exec_pack(const ls__plan *plan, const ls__weights *w, int worker,
                   int workers, bool backward)
{
    ls__range mine = ls__range_part((ls__range){0, plan->packs.floats}, workers,
                                    worker, 1);

    for (int64_t i = 0; i < plan->packs.n; i++) {
        const ls__pack *q = &plan->packs.of[i];
        int64_t first = column_at(q, mine.first);
        int64_t last = column_at(q, mine.last);

        if (first < last && (backward || !q->backward) &&
            !(w->ready && w->ready[i]))
            pack(plan, q, first, last, w);
    }
}

void ls__exec_pack_one(const ls__plan *plan, const ls__weights *w, int64_t i)
{
    pack(plan, &plan->packs.of[i], 0, plan->packs.of[i].n, w);
}

bool ls__exec_pack_columns(const ls__plan *plan, const ls__weights *w,
                           int64_t i, int64_t *column)
{
    const ls__pack *q = &plan->packs.of[i];
    int64_t first = *column, n = PIECE / q->k / q->whole * q->whole, last;

    n = n > q->whole ? n : q->whole;
    last = q->n - first < n ? q->n : first + n;
    pack(plan, q, first, last, w);
    *column = last;
    w->ready[i] = last == q->n;
    return w->ready[i];
}

void ls__exec_stale(const ls__plan *plan, const ls__weights *w)
{
    if (plan && w->ready)
        memset(w->ready, 0, (size_t)plan->packs.n * sizeof *w->ready);
}
