/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows that each rank has of its own.  All rows of a batch are those of the
 * first rank, then those of the second, and so on; every input is agreed on by
 * one number a rank, which also says what failed.
 *
 * LS_ROWS_MOVED: they are cut over devices as one batch, and a row goes to the
 * rank whose device it falls to.  LS_ROWS_KEPT: each rank's are cut over its
 * own devices.  Either way a shard's rows lie together: where the program put
 * them, or where they were received. */
#include "ranks/local_rows.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/least.h"
#include "ranks/link.h"
#include "ranks/ranks.h"
#include "ranks/spread.h"
#include "train/batch.h"

#include <stdlib.h>
#include <string.h>

/* The rows received of an input, or of the weights. */
typedef struct received {
    char *data;
    int64_t bytes; /* room */
} received;

struct ls__own {
    int ranks;
    int64_t *border; /* [ranks+1] rank r has rows border[r] .. border[r+1]-1 */
    int64_t *said;   /* [ranks] its number of rows, or its status */
    received *room;  /* [inputs+1] */
};

/* ------ opening ------ */

static void close_own(ls_batch *b)
{
    struct ls__own *o = b->own;

    if (!o)
        return;
    for (int i = 0; o->room && i <= b->inputs; i++)
        free(o->room[i].data);
    free(o->border);
    free(o->said);
    free(o->room);
    free(o);
    free(b->cut);
    b->own = NULL;
    b->cut = NULL;
}

static int open_own(ls_batch *b)
{
    const ls_trainer *t = b->trainer;
    size_t ranks = (size_t)t->ranks->link->ranks, n = (size_t)b->inputs + 1;
    struct ls__own *o = b->own = ls__new(1, sizeof *o, "batch");

    if (!o)
        return LS_ENOMEM;
    o->ranks = (int)ranks;
    o->border = ls__new(ranks + 1, sizeof *o->border, "batch");
    o->said = ls__new(ranks, sizeof *o->said, "batch");
    o->room = ls__new(n, sizeof *o->room, "batch");
    b->cut = ls__new((size_t)ls__trainer_shards(t), sizeof *b->cut, "batch");
    if (o->border && o->said && o->room && b->cut)
        return 0;
    close_own(b);
    return LS_ENOMEM;
}

/* ------ how many are whose ------ */

/* Hear what each rank says of something: a number from 0 on, or the
 * status it failed with; own: this rank's. */
static int hear(const ls_transport *link, int64_t *said, const char *what,
                int64_t own)
{
    int status;

    said[link->rank] = own;
    status = ls__link_gather_each(link, said, sizeof *said);
    if (status < 0 || own < 0)
        return status < 0 ? status : (int)own;
    for (int r = 0; r < link->ranks; r++)
        if (said[r] < 0)
            return ls__fail((int)said[r], "%s: rank %d failed: %s", what, r,
                            ls_strerror((int)said[r]));
    return 0;
}

/* Do the numbers that ranks said go as rows of one batch?  Returns how many
 * there are in all. */
static int64_t count(const ls_batch *b, const char *what)
{
    const struct ls__own *o = b->own;
    int64_t all = 0;

    for (int r = 0; r < o->ranks; r++) {
        if (o->said[r] > INT64_MAX / 65536 - all)
            return ls__fail(LS_EINVAL, "%s: too many rows", what);
        all += o->said[r];
    }
    return all > 0 ? all
                   : ls__fail(LS_EINVAL, "%s: a batch of 0 rows is empty",
                              what);
}

/* Take the numbers that ranks said; what was set with others no longer is. */
static void set_border(ls_batch *b)
{
    struct ls__own *o = b->own;
    bool same = true;

    for (int r = 0; r < o->ranks; r++) {
        int64_t end = o->border[r] + o->said[r];

        same = same && o->border[r + 1] == end;
        o->border[r + 1] = end;
    }
    if (same)
        return;
    memset(b->rows, 0, (size_t)b->inputs * sizeof *b->rows);
    b->weight_rows = 0;
}

/* ------ the cut ------ */

static int64_t up(int64_t n, int64_t parts)
{
    return n / parts + (n % parts != 0);
}

/* Shards of one rank's rows over its devices. */
static void cut_rank(ls_batch *b, int rank)
{
    const int64_t *border = b->own->border;
    const ls_trainer *t = b->trainer;
    ls__span mine = ls__cut_span(&t->ranks->exchange.cut, rank);
    int64_t rows = border[rank + 1] - border[rank];
    int64_t each = up(rows, (int64_t)t->micro * mine.count);

    b->most = each > b->most ? each : b->most;
    for (int64_t m = 0; m < t->micro; m++)
        for (int64_t d = 0; d < mine.count; d++) {
            int64_t at = ls__least((m * mine.count + d) * each, rows);
            int64_t s = m * t->devices.of + mine.first + d;

            b->cut[s].first = border[rank] + at;
            b->cut[s].rows = ls__least(each, rows - at);
        }
}

/* Cuts all rows into shards. */
static void cut_all(ls_batch *b)
{
    const ls_trainer *t = b->trainer;
    int64_t rows = b->own->border[b->own->ranks];
    int64_t shards = ls__trainer_shards(t);

    b->most = 0;
    if (t->options.rows == LS_ROWS_KEPT) {
        for (int r = 0; r < b->own->ranks; r++)
            cut_rank(b, r);
        return;
    }
    b->most = up(rows, shards);
    for (int64_t s = 0; s < shards; s++) {
        b->cut[s].first = ls__least(s * b->most, rows);
        b->cut[s].rows = ls__least(b->most, rows - b->cut[s].first);
    }
}

/* ------ rows that move ------ */

/* The rows of a shard that a rank has, as places among all. */
static ls__range had_by(const ls_batch *b, int64_t shard, int rank)
{
    const int64_t *border = b->own->border;
    ls__range of_shard = {b->cut[shard].first,
                          b->cut[shard].first + b->cut[shard].rows};

    return ls__range_common(of_shard,
                            (ls__range){border[rank], border[rank + 1]});
}

static int rank_of_shard(const ls_trainer *t, int64_t shard)
{
    const ls__cut *cut = &t->ranks->exchange.cut;
    int device = (int)(shard % t->devices.of), r = 0;

    LS__ASSERT(shard >= 0 && shard < ls__trainer_shards(t));
    while (device >= cut->border[r + 1])
        r++;
    return r;
}

/* Make room for the rows of this rank's shards. */
static int make_room(ls_batch *b, int64_t i, int64_t bytes)
{
    const ls_trainer *t = b->trainer;
    received *r = &b->own->room[i];
    int64_t rows = 0;
    size_t n;
    char *more;

    for (int64_t s = 0; s < ls__trainer_shards(t); s++)
        if (ls__span_has(t->devices, (int)(s % t->devices.of)))
            rows += b->cut[s].rows;
    if (!ls__mul((size_t)rows, (size_t)bytes, &n))
        return ls__no_memory("rows of a batch", SIZE_MAX);
    if ((int64_t)n <= r->bytes)
        return 0;
    if (!(more = realloc(r->data, n)))
        return ls__no_memory("rows of a batch", n);
    r->data = more;
    r->bytes = (int64_t)n;
    return 0;
}

/* Receive a shard into `to`, but for what is here. */
static int receive_shard(const ls_batch *b, int64_t shard, const char *data,
                         char *to, int64_t bytes)
{
    const ls_transport *link = b->trainer->ranks->link;
    int status = 0;

    for (int r = 0; r < link->ranks && status == 0; r++) {
        ls__range had = had_by(b, shard, r);
        int64_t n = had.last - had.first;
        char *at = to + (had.first - b->cut[shard].first) * bytes;

        if (n <= 0)
            continue;
        if (r == link->rank)
            memcpy(at, data + (had.first - b->own->border[r]) * bytes,
                   (size_t)(n * bytes));
        else
            status = ls__link_receive(link, r, at, n * bytes);
    }
    return status;
}

/* Post the rows that move, of an input with `bytes` a row, and note where each
 * of this rank's shards is; both ends go through shards in order. */
static int post(ls_batch *b, int64_t i, const char *data, int64_t bytes)
{
    const ls_trainer *t = b->trainer;
    const ls_transport *link = t->ranks->link;
    int64_t before = b->own->border[link->rank];
    char *to = b->own->room[i].data;
    int status = 0;

    for (int64_t s = 0; s < ls__trainer_shards(t) && status == 0; s++) {
        ls__range had = had_by(b, s, link->rank);
        int owner = rank_of_shard(t, s);

        if (owner == link->rank && had.last - had.first == b->cut[s].rows) {
            ls__batch_place(b, i, s, data + (had.first - before) * bytes);
        } else if (owner == link->rank) {
            LS__ASSERT(to + b->cut[s].rows * bytes <=
                       b->own->room[i].data + b->own->room[i].bytes);
            status = receive_shard(b, s, data, to, bytes);
            ls__batch_place(b, i, s, to);
            to += b->cut[s].rows * bytes;
        } else if (had.first < had.last) {
            status = ls__link_send(link, owner,
                                   data + (had.first - before) * bytes,
                                   (had.last - had.first) * bytes);
        }
    }
    return status;
}

/* Places this rank's shards in its local rows. */
static void keep(ls_batch *b, int64_t i, const char *data, int64_t bytes)
{
    const ls_trainer *t = b->trainer;
    int64_t before = b->own->border[t->ranks->link->rank];

    for (int64_t s = 0; s < ls__trainer_shards(t); s++)
        if (ls__span_has(t->devices, (int)(s % t->devices.of)))
            ls__batch_place(b, i, s,
                            data + (b->cut[s].first - before) * bytes);
}

/* A rank that has no memory for what comes tells the others before anything is
 * sent. */
static int move(ls_batch *b, int64_t i, const char *what, const char *data,
                int64_t bytes)
{
    int status = hear(b->trainer->ranks->link, b->own->said, what,
                      make_room(b, i, bytes));

    if (status == 0)
        status = post(b, i, data, bytes);
    return status < 0 ? status : ls__link_wait(b->trainer->ranks->link);
}

/* ------ what a batch asks for ------ */

/* Check ls_trainer_options.even_rows. */
static int check_even(const ls_batch *b, const char *what, int64_t all)
{
    const ls_trainer *t = b->trainer;
    const ls__cut *cut = &t->ranks->exchange.cut;
    bool kept = t->options.rows == LS_ROWS_KEPT;

    for (int r = 0; r < b->own->ranks && t->options.even_rows; r++) {
        int64_t rows = kept ? b->own->said[r] : all;
        int devices = kept ? ls__cut_span(cut, r).count : t->devices.of;

        if (rows % ((int64_t)devices * t->micro))
            return ls__fail(LS_ESHAPE, "%s: %lld row%s of rank %d %s not "
                            "divide by %d device%s x %d micro-batch%s", what,
                            (long long)rows, ls__s(rows), r,
                            rows == 1 ? "does" : "do", devices, ls__s(devices),
                            t->micro, t->micro == 1 ? "" : "es");
    }
    return 0;
}

static int set(ls_batch *b, int64_t i, const char *what, const void *data,
               int64_t rows, int64_t bytes, int64_t *all)
{
    int64_t n;
    int status = hear(b->trainer->ranks->link, b->own->said, what, rows);

    if (status < 0)
        return status;
    if ((n = count(b, what)) < 0)
        return (int)n;
    if ((status = check_even(b, what, n)) < 0)
        return status;
    set_border(b);
    cut_all(b);
    if (b->trainer->options.rows == LS_ROWS_KEPT)
        keep(b, i, data, bytes);
    else
        status = move(b, i, what, data, bytes);
    if (status == 0)
        *all = n;
    return status;
}

const ls__row_ways ls__local_rows = {
    .open = open_own, .close = close_own, .set = set};

int ls__local_rows_batches(const ls_trainer *t, int64_t batches)
{
    const ls_transport *link = t->ranks->link;
    int64_t *said = ls__new((size_t)link->ranks, sizeof *said, "ranks");
    int status = ls__spread_agree(t, said ? 0 : LS_ENOMEM);

    if (status == 0)
        status = hear(link, said, "an epoch", batches);
    for (int r = 1; r < link->ranks && status == 0; r++)
        if (said[r] != said[0])
            status = ls__fail(LS_EINVAL, "an epoch has %lld batch%s of the "
                              "rows of rank %d, and %lld of rank 0",
                              (long long)said[r], said[r] == 1 ? "" : "es", r,
                              (long long)said[0]);
    free(said);
    return status;
}
