/* SPDX-License-Identifier: BSD-3-Clause */
/* Partial sums to the owners of ranges, and what owners made to all. */
#include "ranks/exchange.h"
#include "base/assert.h"
#include "base/memory.h"
#include "reduce/reduce.h"
#include "ranks/link.h"

#include <stdlib.h>

/* ------ who has what ------ */

ls__span ls__exchange_devices(const ls__exchange *x)
{
    return ls__cut_span(&x->cut, x->link->rank);
}

static ls__owned owned_by(const ls__exchange *x, int rank)
{
    return (ls__owned){x->n, rank, x->link->ranks};
}

static int64_t length(ls__range r)
{
    return r.last - r.first;
}

ls__span ls__exchange_parts(const ls__exchange *x)
{
    const int *first = &x->cut.first[x->link->rank];

    return (ls__span){first[0], first[1] - first[0], x->cut.parts};
}

/* The sum of one of this rank's parts. */
static float *sum_of(const ls__exchange *x, float *const *grad, int part)
{
    LS__ASSERT(ls__span_has(ls__exchange_devices(x), x->cut.part[part].first));
    return grad[x->cut.part[part].first - ls__exchange_devices(x).first];
}

/* ------ opening and closing ------ */

static int make_staging(ls__exchange *x)
{
    int others;
    int64_t each = ls__owned_floats(&x->own);
    ls__span here = ls__exchange_parts(x);

    others = here.of - here.count;
    if (!others || !each)
        return 0;
    x->staged = ls__block((size_t)others * (size_t)each * sizeof *x->staged,
                          "partial sums of other ranks");
    if (!x->staged)
        return LS_ENOMEM;
    for (int k = 0, at = 0; k < x->cut.parts; k++)
        if (!ls__span_has(here, k))
            x->partial[k] = x->staged + at++ * each;
    return 0;
}

int ls__exchange_open(ls__exchange *x, const ls_transport *link, int devices)
{
    *x = (ls__exchange){.link = link};
    return ls__cut_open(&x->cut, link->ranks, devices);
}

int ls__exchange_size(ls__exchange *x, const ls__ranges *live, int64_t n)
{
    x->n = n;
    x->live = live;
    x->own = owned_by(x, x->link->rank);
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

/* Go to the next live run of a range; each is a message. */
static bool next_live(const ls__exchange *x, ls__range all, ls__range *run)
{
    if (x->live)
        return ls__ranges_next(x->live, all, run);
    *run = (ls__range){run->last, all.last};
    return run->first < run->last;
}

/* The start of a section in what is owned here. */
static ls__stretch stretch_of(const ls__owned *o, int section)
{
    ls__stretch s = {0};

    LS__ASSERT(section >= 0 && section < ls__sections(o->floats, o->ranks));
    while (s.section <= section)
        (void)ls__owned_next(o, &s);
    return s;
}

/* Receives the live floats of a stretch, of one part's sum. */
static int expect_part(const ls__exchange *x, int rank, float *partial,
                       const ls__stretch *own)
{
    int64_t shift = own->at - own->range.first;
    int status = 0;

    for (ls__range r = {own->range.first, own->range.first};
         status == 0 && next_live(x, own->range, &r);)
        status = ls__link_receive(x->link, rank, partial + r.first + shift,
                                  4 * length(r));
    return status;
}

static int send_part(const ls__exchange *x, int rank, const float *partial,
                     ls__range part)
{
    int status = 0;

    for (ls__range r = {part.first, part.first};
         status == 0 && next_live(x, part, &r);)
        status = ls__link_send(x->link, rank, partial + r.first, 4 * length(r));
    return status;
}

int ls__exchange_expect(ls__exchange *x, int section)
{
    int me = x->link->rank, ranks = x->link->ranks, status = 0;
    ls__stretch own = stretch_of(&x->own, section);

    for (int i = 1; i < ranks; i++) {
        int rank = (me + i) % ranks;

        for (int k = x->cut.first[rank];
             k < x->cut.first[rank + 1] && status == 0; k++)
            status = expect_part(x, rank, x->partial[k], &own);
    }
    return status;
}

int ls__exchange_leave(ls__exchange *x, float *const *grad, int section)
{
    int me = x->link->rank, ranks = x->link->ranks, status = 0;
    ls__span here = ls__exchange_parts(x);

    for (int k = here.first; k < here.first + here.count; k++)
        x->partial[k] = sum_of(x, grad, k);
    for (int i = 1; i < ranks; i++) {
        int rank = (me + i) % ranks;
        ls__owned theirs = owned_by(x, rank);
        ls__range r = ls__owned_part(&theirs, section);

        for (int k = here.first;
             k < here.first + here.count && status == 0; k++)
            status = send_part(x, rank, x->partial[k], r);
    }
    return status;
}

/* ------ from those who have it to all ------ */

/* The values that a rank owns of a section: this one's own go to another. */
static int post_values(const ls__exchange *x, float *value, int section,
                       int owner, int other)
{
    ls__owned o = owned_by(x, owner);
    ls__range all = ls__owned_part(&o, section);
    int status = 0;

    for (ls__range r = {all.first, all.first};
         status == 0 && next_live(x, all, &r);)
        status = owner == other ? ls__link_receive(x->link, other,
                                                   value + r.first,
                                                   4 * length(r))
                                : ls__link_send(x->link, other,
                                                value + r.first,
                                                4 * length(r));
    return status;
}

int ls__exchange_give(const ls__exchange *x, float *value, int section)
{
    int me = x->link->rank, ranks = x->link->ranks, status = 0;

    for (int i = 1; i < ranks && status == 0; i++) {
        int rank = (me + i) % ranks;

        status = post_values(x, value, section, rank, rank);
    }
    for (int i = 1; i < ranks && status == 0; i++)
        status = post_values(x, value, section, me, (me + i) % ranks);
    return status;
}

/* The number of messages that a section is of a rank. */
static int messages(const ls__exchange *x, int rank, int section)
{
    ls__owned o = owned_by(x, rank);
    ls__range all = ls__owned_part(&o, section);
    int n = 0;

    for (ls__range r = {all.first, all.first}; next_live(x, all, &r);)
        n++;
    return n;
}

static int arrived_from(const ls__exchange *x, int rank, int given)
{
    int left = ls__link_left(x->link, rank);

    for (; given > 0 && left > 0; given--)
        left -= messages(x, rank, given - 1);
    return given;
}

int ls__exchange_arrived(const ls__exchange *x, int given)
{
    int least = given;

    for (int r = 0; r < x->link->ranks; r++) {
        int n = r == x->link->rank ? given : arrived_from(x, r, given);

        least = n < least ? n : least;
    }
    return least;
}

/* The bytes of records of `size` that are a rank's part of a section. */
static ls__range bytes_of(const ls__exchange *x, int64_t size, int rank,
                          int section)
{
    ls__owned o = owned_by(x, rank);
    ls__range r = ls__owned_part(&o, section);

    LS__ASSERT(r.first % LS__REDUCE_BLOCK == 0 || r.first == r.last);
    if (r.first >= r.last)
        return (ls__range){0, 0};
    return (ls__range){ls__reduce_blocks(r.first) * size,
                       ls__reduce_blocks(r.last) * size};
}

/* Post the gather of a section: first what is received. */
static int post_gather(const ls__exchange *x, char *record, int64_t size,
                       int section)
{
    int me = x->link->rank, ranks = x->link->ranks, status = 0;
    ls__range mine = bytes_of(x, size, me, section);

    for (int i = 1; i < ranks && status == 0; i++) {
        int rank = (me + i) % ranks;
        ls__range r = bytes_of(x, size, rank, section);

        status = ls__link_receive(x->link, rank, record + r.first, length(r));
    }
    for (int i = 1; i < ranks && status == 0; i++)
        status = ls__link_send(x->link, (me + i) % ranks, record + mine.first,
                               length(mine));
    return status;
}

int ls__exchange_gather_blocks(const ls__exchange *x, void *record,
                               int64_t size)
{
    int sections = ls__sections(x->n, x->link->ranks), status = 0;

    for (int k = 0; k < sections && status == 0; k++)
        status = post_gather(x, record, size, k);
    return status < 0 ? status : ls__link_wait(x->link);
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
