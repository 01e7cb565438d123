/* SPDX-License-Identifier: BSD-3-Clause */
/* See thread_ranks.h.
 *
 * A lane goes from one rank to another and holds what was sent and what is
 * wanted, both in order.  The receiver copies when it tests, as soon as the
 * oldest message is due, and lets go of both; the sender sees that it is gone.
 * Each lane has a lock, so ranks that wait for each other do not meet. */
#include "thread_ranks.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 1024 };

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One half of a message. */
typedef struct post {
    const char *from;
    char *to;
    int64_t bytes;
    double due; /* seconds; of what was sent */
    bool lie;
} post;

/* A ring that grows while it is new. */
typedef struct queue {
    post *post;
    int first, count, room;
} queue;

typedef struct lane {
    pthread_mutex_t mutex;
    queue sent, wanted;
} lane;

/* A rank's own end, which its thread alone uses; others read its atomics. */
typedef struct end {
    ranks_here *all;
    ls_transport transport;
    double free_at; /* when its line has sent what was posted */
    uint64_t random;
    int64_t posts;
    _Atomic int64_t sent;
    atomic_bool gone;
    char reason[LS__MESSAGE];
} end;

struct ranks_here {
    int count;
    ranks_options options;
    lane *lane; /* [from * count + to] */
    end *end;
    pthread_mutex_t mutex; /* of the two below */
    int ended_by;          /* a rank that called abort, or -1 */
    char why[LS__MESSAGE];
};

/* ------ queues ------ */

static int push(queue *q, post p)
{
    if (q->count == q->room) {
        int room = q->room ? 2 * q->room : 16;
        post *more = ls__new((size_t)room, sizeof *more, "posts");

        if (!more)
            return LS_ENOMEM;
        for (int i = 0; i < q->count; i++)
            more[i] = q->post[(q->first + i) % q->room];
        free(q->post);
        *q = (queue){more, 0, q->count, room};
    }
    q->post[(q->first + q->count++) % q->room] = p;
    return 0;
}

static const post *oldest(const queue *q)
{
    LS__ASSERT(q->count > 0);
    return &q->post[q->first];
}

static void pop(queue *q)
{
    LS__ASSERT(q->count > 0 && q->first < q->room);
    q->first = (q->first + 1) % q->room;
    q->count--;
}

/* ------ faults ------ */

__attribute__((format(printf, 2, 3)))
static int fail(end *e, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(e->reason, sizeof e->reason, format, list);
    va_end(list);
    return LS_EIO;
}

static bool faulty(const end *e, rank_fault fault)
{
    const ranks_options *o = &e->all->options;

    return o->fault == fault && o->rank == e->transport.rank &&
           e->posts >= o->posts;
}

/* A step of xorshift, in [0,1). */
static double chance(end *e)
{
    e->random ^= e->random << 13;
    e->random ^= e->random >> 7;
    e->random ^= e->random << 17;
    return (double)(e->random >> 11) * 0x1p-53;
}

/* The time at which a message that is sent now has arrived. */
static double due(end *e, int64_t bytes)
{
    const ranks_options *o = &e->all->options;
    double now = seconds(), takes = o->delay;

    if (faulty(e, RANK_STALLS))
        return 1e300;
    if (o->bandwidth > 0) {
        e->free_at = (e->free_at > now ? e->free_at : now) +
                     (double)bytes / o->bandwidth;
        takes += e->free_at - now;
    }
    return now + takes + (o->shuffle ? o->delay * chance(e) : 0);
}

/* Does this rank still take part? */
static int alive(end *e)
{
    int by, status = 0;

    /* Both orders relaxed: nothing else is read through this news. */
    if (faulty(e, RANK_DIES))
        atomic_store_explicit(&e->gone, true, memory_order_relaxed);
    if (atomic_load_explicit(&e->gone, memory_order_relaxed))
        return fail(e, "rank %d has died", e->transport.rank);
    pthread_mutex_lock(&e->all->mutex);
    by = e->all->ended_by;
    if (by >= 0 && by != e->transport.rank)
        status = fail(e, "rank %d ended the run: %s", by, e->all->why);
    pthread_mutex_unlock(&e->all->mutex);
    return status;
}

/* ------ the transport ------ */

static lane *lane_of(const end *e, int from, int to)
{
    return &e->all->lane[from * e->all->count + to];
}

/* A rank that failed frees what it posted: nobody may copy it any more. */
static int withdraw(end *e, int status)
{
    for (int r = 0; r < e->all->count; r++) {
        lane *in = lane_of(e, r, e->transport.rank);
        lane *out = lane_of(e, e->transport.rank, r);

        pthread_mutex_lock(&in->mutex);
        in->wanted.count = 0;
        pthread_mutex_unlock(&in->mutex);
        pthread_mutex_lock(&out->mutex);
        out->sent.count = 0;
        pthread_mutex_unlock(&out->mutex);
    }
    return status;
}

static int check(end *e, int other, int64_t bytes)
{
    if (other < 0 || other >= e->all->count || other == e->transport.rank ||
        bytes < 1)
        return fail(e, "rank %d: a message of %lld bytes from or to rank %d",
                    e->transport.rank, (long long)bytes, other);
    return alive(e);
}

static int post_to(lane *l, queue *q, post p)
{
    int status;

    pthread_mutex_lock(&l->mutex);
    status = push(q, p);
    pthread_mutex_unlock(&l->mutex);
    return status;
}

static int send_to(void *user, int to, int64_t bytes, const void *data)
{
    end *e = user;
    int status = check(e, to, bytes);
    lane *l;

    if (status < 0)
        return withdraw(e, status);
    e->posts++;
    l = lane_of(e, e->transport.rank, to);
    atomic_fetch_add_explicit(&e->sent, bytes, memory_order_relaxed);
    return post_to(l, &l->sent, (post){.from = data, .bytes = bytes,
                                       .due = due(e, bytes),
                                       .lie = faulty(e, RANK_LIES)});
}

static int receive_from(void *user, int from, int64_t bytes, void *data)
{
    end *e = user;
    int status = check(e, from, bytes);
    lane *l;

    if (status < 0)
        return withdraw(e, status);
    l = lane_of(e, from, e->transport.rank);
    return post_to(l, &l->wanted, (post){.to = data, .bytes = bytes});
}

/* Copy what is due; 1 when nothing more is wanted, 0, or a status. */
static int deliver(end *e, lane *l, double now)
{
    while (l->sent.count && l->wanted.count) {
        const post *from = oldest(&l->sent), *to = oldest(&l->wanted);

        if (from->due > now)
            break;
        if (from->bytes != to->bytes)
            return fail(e, "a message of %lld bytes where %lld were wanted",
                        (long long)from->bytes, (long long)to->bytes);
        memcpy(to->to, from->from, (size_t)to->bytes);
        if (from->lie)
            to->to[to->bytes / 2] ^= 1;
        pop(&l->sent);
        pop(&l->wanted);
    }
    return l->wanted.count == 0;
}

/* Tests the lanes from and to another rank: is nothing awaited any more? */
static int test_lanes(end *e, int other, double now)
{
    lane *in = lane_of(e, other, e->transport.rank);
    lane *out = lane_of(e, e->transport.rank, other);
    int done;

    pthread_mutex_lock(&in->mutex);
    done = deliver(e, in, now);
    pthread_mutex_unlock(&in->mutex);
    pthread_mutex_lock(&out->mutex);
    if (out->sent.count && done > 0)
        done = 0;
    pthread_mutex_unlock(&out->mutex);
    if (done == 0 && atomic_load_explicit(&e->all->end[other].gone,
                                          memory_order_relaxed))
        return fail(e, "rank %d has died", other);
    return done;
}

static const char *reason(void *user)
{
    return ((end *)user)->reason;
}

static int test(void *user, int *rank)
{
    end *e = user;
    double now = seconds();
    int status = alive(e), all = 1;

    for (int r = 0; r < e->all->count && status >= 0; r++) {
        status = r == e->transport.rank ? 1 : test_lanes(e, r, now);
        if (status <= 0)
            *rank = r;
        all = status == 0 ? 0 : all;
    }
    return status < 0 ? withdraw(e, status) : all;
}

static int left(void *user, int from)
{
    end *e = user;
    lane *in = lane_of(e, from, e->transport.rank);
    int count;

    pthread_mutex_lock(&in->mutex);
    count = in->wanted.count;
    pthread_mutex_unlock(&in->mutex);
    return count;
}

static void end_all(void *user, const char *why)
{
    end *e = user;
    ranks_here *all = e->all;

    pthread_mutex_lock(&all->mutex);
    if (all->ended_by < 0) {
        all->ended_by = e->transport.rank;
        strncpy(all->why, why ? why : "", sizeof all->why - 1);
    }
    pthread_mutex_unlock(&all->mutex);
}

/* ------ opening and closing ------ */

static int check_options(int count, const ranks_options *o)
{
    if (count < 1 || count > MOST)
        return ls__fail(LS_EINVAL, "%d ranks; there may be 1 to %d", count,
                        MOST);
    if (!(o->delay >= 0) || !(o->bandwidth >= 0) || !(o->patience >= 0))
        return ls__fail(LS_EINVAL, "ranks: delay %g, bandwidth %g or patience "
                        "%g is negative", o->delay, o->bandwidth, o->patience);
    if ((int)o->fault < RANK_SOUND || o->fault > RANK_LIES ||
        o->rank < 0 || o->rank >= count || o->posts < 0)
        return ls__fail(LS_EINVAL, "ranks: fault %d of rank %d of %d after "
                        "%lld posts", (int)o->fault, o->rank, count,
                        (long long)o->posts);
    return 0;
}

static void start_end(ranks_here *all, int rank)
{
    end *e = &all->end[rank];

    e->all = all;
    e->random = ((uint64_t)all->options.shuffle + (uint64_t)rank + 1) *
                UINT64_C(0x9e3779b97f4a7c15);
    e->transport = (ls_transport){
        .user = e, .rank = rank, .ranks = all->count,
        .patience = all->options.patience, .send = send_to,
        .receive = receive_from, .test = test, .abort = end_all,
        .reason = reason, .left = left};
}

int ranks_open(ranks_here **ranks, int count, const ranks_options *options)
{
    ranks_options o = options ? *options : (ranks_options){0};
    int status = check_options(count, &o);
    ranks_here *all;

    if (status < 0)
        return status;
    if (!(all = ls__new(1, sizeof *all, "ranks")))
        return LS_ENOMEM;
    all->options = o;
    all->ended_by = -1;
    all->lane = ls__new((size_t)count * (size_t)count, sizeof *all->lane,
                        "lanes between ranks");
    all->end = ls__new((size_t)count, sizeof *all->end, "ranks");
    if (!all->lane || !all->end) {
        ranks_close(all);
        return LS_ENOMEM;
    }
    all->count = count;
    pthread_mutex_init(&all->mutex, NULL);
    for (int i = 0; i < count * count; i++)
        pthread_mutex_init(&all->lane[i].mutex, NULL);
    for (int r = 0; r < count; r++)
        start_end(all, r);
    *ranks = all;
    return 0;
}

const ls_transport *ranks_transport(const ranks_here *ranks, int rank)
{
    return rank < 0 || rank >= ranks->count ? NULL
                                            : &ranks->end[rank].transport;
}

int64_t ranks_sent(const ranks_here *ranks, int rank)
{
    return atomic_load_explicit(&ranks->end[rank].sent, memory_order_relaxed);
}

void ranks_close(ranks_here *all)
{
    if (!all)
        return;
    for (int i = 0; i < all->count * all->count; i++) {
        pthread_mutex_destroy(&all->lane[i].mutex);
        free(all->lane[i].sent.post);
        free(all->lane[i].wanted.post);
    }
    if (all->count)
        pthread_mutex_destroy(&all->mutex);
    free(all->lane);
    free(all->end);
    free(all);
}
