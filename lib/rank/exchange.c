/* Partial sums to the owners of ranges, and what owners made to all. */
#include "rank/exchange.h"
#include "base/memory.h"
#include "reduce/reduce.h"
#include "rank/link.h"

#include <stdlib.h>

/* ------ who has what ------ */

ls__span ls__exchange_devices(const ls__exchange *x)
{
    return ls__cut_span(&x->cut, x->link->rank);
}

ls__range ls__exchange_range(const ls__exchange *x, int rank)
{
    return ls__range_part((ls__range){0, x->n}, x->link->ranks, rank,
                          LS__REDUCE_BLOCK);
}

static int64_t length(ls__range r)
{
    return r.last - r.first;
}

static bool is_own(const ls__exchange *x, int part)
{
    const int *first = &x->cut.first[x->link->rank];

    return first[0] <= part && part < first[1];
}

/* Where the sum of one of this rank's parts is. */
static float *sum_of(const ls__exchange *x, float *const *grad, int part)
{
    return grad[x->cut.part[part].first - ls__exchange_devices(x).first];
}

/* ------ opening and closing ------ */

static int make_staging(ls__exchange *x)
{
    int others = 0;
    int64_t each = length(x->own);

    for (int k = 0; k < x->cut.parts; k++)
        others += !is_own(x, k);
    if (!others || !each)
        return 0;
    x->staged = ls__block((size_t)others * (size_t)each * sizeof *x->staged,
                          "partial sums of other ranks");
    if (!x->staged)
        return LS_ENOMEM;
    for (int k = 0, at = 0; k < x->cut.parts; k++)
        if (!is_own(x, k))
            x->partial[k] = x->staged + at++ * each;
    return 0;
}

int ls__exchange_open(ls__exchange *x, const ls_transport *link, int devices)
{
    *x = (ls__exchange){.link = link};
    return ls__cut_open(&x->cut, link->ranks, devices);
}

int ls__exchange_size(ls__exchange *x, int64_t n)
{
    x->n = n;
    x->own = ls__exchange_range(x, x->link->rank);
    x->partial = ls__new((size_t)x->cut.parts, sizeof *x->partial,
                         "partial sums");
    x->border = ls__new((size_t)x->link->ranks + 1, sizeof *x->border,
                        "borders");
    return x->partial && x->border ? make_staging(x) : LS_ENOMEM;
}

void ls__exchange_close(ls__exchange *x)
{
    ls__cut_close(&x->cut);
    free(x->partial);
    free(x->border);
    ls__block_free(x->staged);
}

/* ------ partial sums to owners ------ */

static int post_wanted(ls__exchange *x, int rank)
{
    int status = 0;

    for (int k = x->cut.first[rank]; k < x->cut.first[rank + 1] && !status; k++)
        status = ls__link_receive(x->link, rank, x->partial[k],
                                  4 * length(x->own));
    return status;
}

static int post_sums(const ls__exchange *x, float *const *grad, int rank)
{
    int me = x->link->rank, status = 0;
    ls__range range = ls__exchange_range(x, rank);

    for (int k = x->cut.first[me]; k < x->cut.first[me + 1] && !status; k++)
        status = ls__link_send(x->link, rank, sum_of(x, grad, k) + range.first,
                               4 * length(range));
    return status;
}

int ls__exchange_scatter(ls__exchange *x, float *const *grad)
{
    int me = x->link->rank, ranks = x->link->ranks, status = 0;

    for (int k = x->cut.first[me]; k < x->cut.first[me + 1]; k++)
        x->partial[k] = sum_of(x, grad, k) + x->own.first;
    for (int i = 1; i < ranks && status == 0; i++)
        status = post_wanted(x, (me + i) % ranks);
    for (int i = 1; i < ranks && status == 0; i++)
        status = post_sums(x, grad, (me + i) % ranks);
    return status < 0 ? status : ls__link_wait(x->link);
}

/* ------ from those who have it to all ------ */

int ls__exchange_gather(const ls__exchange *x, float *value)
{
    for (int r = 0; r <= x->link->ranks; r++)
        x->border[r] = 4 * ls__exchange_range(x, r).first;
    return ls__link_gather(x->link, value, x->border);
}

int ls__exchange_gather_blocks(const ls__exchange *x, void *record,
                               int64_t size)
{
    for (int r = 0; r <= x->link->ranks; r++) {
        int64_t first = ls__exchange_range(x, r).first;

        x->border[r] = size * ls__reduce_blocks(first);
    }
    return ls__link_gather(x->link, record, x->border);
}

int ls__exchange_gather_devices(const ls__exchange *x, void *record,
                                int64_t size, int64_t all)
{
    for (int r = 0; r <= x->link->ranks; r++) {
        int64_t first = size * x->cut.border[r];

        x->border[r] = first < all ? first : all;
    }
    return ls__link_gather(x->link, record, x->border);
}
