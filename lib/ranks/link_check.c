/* SPDX-License-Identifier: BSD-3-Clause */
/* The test of a transport: every rank sends every other one numbers that both
 * know, twice, in the order of the ranks, and compares all that comes. */
#include "base/error.h"
#include "base/memory.h"
#include "ranks/link.h"

#include <stdlib.h>

enum { WORDS = 1024, MOST = WORDS * 3 / 4 }; /* and of the first message */

_Static_assert(WORDS - MOST > 0 && WORDS - MOST < MOST, "it is shorter");

/* Exact in any arithmetic: integers below 2^24 times a power of two. */
static float word(int from, int to, int i)
{
    uint32_t x = (uint32_t)from * 7919u + (uint32_t)to * 104729u +
                 (uint32_t)i * 1299709u;

    return (float)(x & 0xffffff) * 0x1p-12f;
}

static void fill(float *out, int from, int to)
{
    for (int i = 0; i < WORDS; i++)
        out[i] = word(from, to, i);
}

static int compare(const ls_transport *t, const float *got, int from)
{
    for (int i = 0; i < WORDS; i++)
        if (got[i] != word(from, t->rank, i))
            return ls__fail(LS_EIO, "rank %d of %d: the transport changed what "
                            "rank %d sent: word %d is %g, not %g", t->rank,
                            t->ranks, from, i, (double)got[i],
                            (double)word(from, t->rank, i));
    return 0;
}

/* Two messages each way, the second one shorter, so that their order shows. */
static int exchange(const ls_transport *t, float *out, float *in)
{
    int status = 0;

    for (int r = 0; r < t->ranks && status == 0; r++) {
        int64_t at = (int64_t)r * WORDS, most = MOST;

        if (r == t->rank)
            continue;
        fill(out + at, t->rank, r);
        if ((status = ls__link_receive(t, r, in + at, 4 * most)) == 0 &&
            (status = ls__link_receive(t, r, in + at + most,
                                       4 * (WORDS - most))) == 0 &&
            (status = ls__link_send(t, r, out + at, 4 * most)) == 0)
            status = ls__link_send(t, r, out + at + most, 4 * (WORDS - most));
    }
    return status < 0 ? status : ls__link_wait(t);
}

static int check_struct(const ls_transport *t)
{
    if (!t)
        return ls__fail(LS_EINVAL, "the transport is NULL");
    if (t->ranks < 1 || t->rank < 0 || t->rank >= t->ranks)
        return ls__fail(LS_EINVAL, "the transport is of rank %d of %d",
                        t->rank, t->ranks);
    if (!t->send || !t->receive || !t->test || !t->abort)
        return ls__fail(LS_EINVAL, "the transport lacks a function: it needs "
                        "send, receive, test and abort");
    if (!(t->patience >= 0))
        return ls__fail(LS_EINVAL, "the transport's patience is %g seconds",
                        t->patience);
    return 0;
}

int ls_transport_check(const ls_transport *t)
{
    LS__NEED_AS(t, "transport", LS_EINVAL);

    int status = check_struct(t);
    float *words;
    int64_t n;

    if (status < 0)
        return status;
    n = (int64_t)t->ranks * WORDS;
    words = ls__new((size_t)n, 2 * sizeof *words, "transport check");
    if (!words)
        return LS_ENOMEM;
    status = exchange(t, words, words + n);
    for (int r = 0; r < t->ranks && status == 0; r++)
        if (r != t->rank)
            status = compare(t, words + n + (int64_t)r * WORDS, r);
    free(words);
    return status;
}
