/* SPDX-License-Identifier: BSD-3-Clause */
/* Posting, waiting and the gather of all to all. */
#include "ranks/link.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/error.h"

#include <limits.h>
#include <sched.h>
#include <time.h>

enum { PATIENCE = 600 }; /* seconds, where the transport says nothing */

static int fail(const ls_transport *t, const char *what, int rank, int status)
{
    const char *why = t->reason ? t->reason(t->user) : NULL;

    return ls__fail(LS_EIO, "rank %d of %d: %s rank %d failed: %s", t->rank,
                    t->ranks, what, rank, why ? why : ls_strerror(status));
}

int ls__link_send(const ls_transport *t, int to, const void *data,
                  int64_t bytes)
{
    LS__ASSERT(to >= 0 && to < t->ranks && to != t->rank && bytes >= 0);

    int status = bytes ? t->send(t->user, to, bytes, data) : 0;

    return status < 0 ? fail(t, "sending to", to, status) : 0;
}

int ls__link_receive(const ls_transport *t, int from, void *data,
                     int64_t bytes)
{
    LS__ASSERT(from >= 0 && from < t->ranks && from != t->rank && bytes >= 0);

    int status = bytes ? t->receive(t->user, from, bytes, data) : 0;

    return status < 0 ? fail(t, "receiving from", from, status) : 0;
}

int ls__link_move(const ls_transport *t)
{
    int rank = t->rank, status = t->test(t->user, &rank);

    return status < 0 ? fail(t, "exchanging with", rank, status) : 0;
}

/* Offer the core to whoever wants it for a millisecond; then sleep, longer and
 * longer, for ranks may share a core. */
static void pause_after(double waited)
{
    double nap = waited / 32 < 1e-3 ? waited / 32 : 1e-3;
    struct timespec t = {.tv_nsec = (long)(nap * 1e9)};

    if (waited < 1e-3)
        sched_yield();
    else
        nanosleep(&t, NULL);
}

int ls__link_left(const ls_transport *t, int from)
{
    return t->left ? t->left(t->user, from) : INT_MAX;
}

int ls__link_wait(const ls_transport *t)
{
    return ls__link_wait_at_work(t, NULL, NULL);
}

/* Patience begins again with each piece of work. */
int ls__link_wait_at_work(const ls_transport *t, ls__work_fn *work, void *user)
{
    double patience = t->patience > 0 ? t->patience : PATIENCE;
    double began = 0, waited = 0;
    int rank = t->rank, status;

    while ((status = t->test(t->user, &rank)) == 0) {
        if (work && work(user)) {
            began = 0;
            continue;
        }
        began = began > 0 ? began : ls__seconds();
        waited = ls__seconds() - began;
        if (waited > patience)
            return ls__fail(LS_EIO, "rank %d of %d: rank %d did not answer "
                            "for %g seconds", t->rank, t->ranks, rank,
                            patience);
        pause_after(waited);
    }
    return status < 0 ? fail(t, "exchanging with", rank, status) : 0;
}

/* Rank r has what begins at border[r] or, without borders, at r * each. */
static int gather(const ls_transport *t, char *at, const int64_t *border,
                  int64_t each)
{
    int me = t->rank, status = 0;
    int64_t mine = border ? border[me] : me * each;

    LS__ASSERT(me >= 0 && me < t->ranks);
    LS__ASSERT(!border || border[me] <= border[me + 1]);
    for (int i = 1; i < t->ranks && status == 0; i++) {
        int r = (me + i) % t->ranks;

        status = ls__link_receive(t, r, at + (border ? border[r] : r * each),
                                  border ? border[r + 1] - border[r] : each);
    }
    for (int i = 1; i < t->ranks && status == 0; i++)
        status = ls__link_send(t, (me + i) % t->ranks, at + mine,
                               border ? border[me + 1] - mine : each);
    return status < 0 ? status : ls__link_wait(t);
}

int ls__link_gather(const ls_transport *t, void *data, const int64_t *border)
{
    return gather(t, data, border, 0);
}

int ls__link_gather_each(const ls_transport *t, void *record, size_t bytes)
{
    return gather(t, record, NULL, (int64_t)bytes);
}
