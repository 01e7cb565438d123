/* The meetings of a step as messages between ranks. */
#include "train/ranks.h"
#include "base/error.h"
#include "base/memory.h"
#include "rank/exchange.h"
#include "rank/link.h"
#include "train/facts.h"
#include "train/trainer.h"

#include <stdlib.h>

struct ls__ranks {
    const ls_transport *link;
    ls__exchange exchange;
    ls__seam seam;
    int64_t *bad;   /* [rank] */
    ls__word *word; /* [rank] */
};

/* ------ the meetings ------ */

/* Once the trainer has its memory. */
static int size(void *user, const ls_trainer *t)
{
    ls__ranks *r = user;
    int status = ls__exchange_size(&r->exchange, t->model.params.floats);

    r->seam.parts = r->exchange.cut.parts;
    r->seam.part = r->exchange.cut.part;
    r->seam.partial = r->exchange.partial;
    r->seam.here = ls__exchange_parts(&r->exchange);
    return status;
}

/* Ranks whose batches or steps differ would train something that nobody asked
 * for; all see all reports, and so end alike. */
static int compare_reports(const ls__ranks *r, const ls__report *report)
{
    const ls__cut *c = &r->exchange.cut;

    for (int k = 1; k < c->ranks; k++) {
        const ls__report *a = &report[0], *b = &report[c->border[k]];

        if (a->rows != b->rows)
            return ls__fail(LS_ESHAPE, "ranks differ: the batch has %lld rows "
                            "on rank %d, and %lld on rank 0",
                            (long long)b->rows, k, (long long)a->rows);
        if (a->step != b->step)
            return ls__fail(LS_EINVAL, "ranks differ: rank %d is at step %lld, "
                            "and rank 0 at %lld", k, (long long)b->step,
                            (long long)a->step);
        if (a->lr != b->lr)
            return ls__fail(LS_EINVAL, "ranks differ: the learning rate is "
                            "%.17g on rank %d, and %.17g on rank 0", b->lr, k,
                            a->lr);
    }
    return 0;
}

static int reports(void *user, ls__report *report)
{
    ls__ranks *r = user;
    int status = ls__exchange_gather_devices(&r->exchange, report,
                                             sizeof *report, INT64_MAX);

    return status < 0 ? status : compare_reports(r, report);
}

static int begin(void *user, const int *order)
{
    ls__ranks *r = user;
    int sections = ls__sections(r->exchange.n, r->link->ranks), status = 0;

    for (int k = 0; k < sections && status == 0; k++)
        status = ls__exchange_expect(&r->exchange, order[k]);
    return status;
}

static int leave(void *user, float *const *grad, int section)
{
    ls__ranks *r = user;

    return ls__exchange_leave(&r->exchange, grad, section);
}

static int move(void *user)
{
    const ls__ranks *r = user;

    return ls__link_move(r->link);
}

static int sound(void *user, int64_t *bad, float *square)
{
    ls__ranks *r = user;
    int status;

    r->bad[r->link->rank] = *bad;
    if ((status = ls__link_gather_each(r->link, r->bad, sizeof *r->bad)) < 0)
        return status;
    for (int k = 0; k < r->link->ranks; k++)
        if (r->bad[k] >= 0 && (*bad < 0 || r->bad[k] < *bad))
            *bad = r->bad[k];
    return square ? ls__exchange_gather_blocks(&r->exchange, square,
                                               sizeof *square)
                  : 0;
}

static int give(void *user, float *value, int section)
{
    const ls__ranks *r = user;

    return ls__exchange_give(&r->exchange, value, section);
}

static int values(void *user, ls__work_fn *work, void *with)
{
    const ls__ranks *r = user;

    return ls__link_wait_at_work(r->link, work, with);
}

static int arrived(void *user, int given)
{
    const ls__ranks *r = user;

    return ls__exchange_arrived(&r->exchange, given);
}

static int outputs(void *user, void *out, int64_t bytes, int64_t all)
{
    ls__ranks *r = user;

    return ls__exchange_gather_devices(&r->exchange, out, bytes, all);
}

/* ------ opening and closing ------ */

static int fill(ls__ranks *r, int devices)
{
    int status = ls__exchange_open(&r->exchange, r->link, devices);
    int ranks = r->link->ranks;

    if (status < 0)
        return status;
    r->bad = ls__new((size_t)ranks, sizeof *r->bad, "ranks");
    r->word = ls__new((size_t)ranks, sizeof *r->word, "words of ranks");
    if (!r->bad || !r->word)
        return LS_ENOMEM;
    r->seam = (ls__seam){
        .devices = ls__exchange_devices(&r->exchange), .rank = r->link->rank,
        .ranks = ranks, .user = r, .open = size, .reports = reports,
        .begin = begin, .leave = leave, .move = move, .sound = sound,
        .give = give, .values = values, .arrived = arrived,
        .outputs = outputs};
    return 0;
}

int ls__ranks_open(ls__ranks **ranks, const ls_transport *transport,
                   int devices)
{
    int status = ls_transport_check(transport);
    ls__ranks *r;

    if (status < 0)
        return status;
    if (!(r = ls__new(1, sizeof *r, "ranks")))
        return LS_ENOMEM;
    r->link = transport;
    if ((status = fill(r, devices)) < 0) {
        ls__ranks_close(r);
        return status;
    }
    *ranks = r;
    return 0;
}

void ls__ranks_close(ls__ranks *r)
{
    if (!r)
        return;
    ls__exchange_close(&r->exchange);
    free(r->bad);
    free(r->word);
    free(r);
}

ls__seam *ls__ranks_seam(ls__ranks *r)
{
    return &r->seam;
}

const ls_transport *ls__ranks_link(const ls__ranks *r)
{
    return r->link;
}

ls__word *ls__ranks_words(ls__ranks *r)
{
    return r->word;
}

int ls__ranks_compare(ls__ranks *r, const ls_trainer *t)
{
    ls__facts facts;

    ls__facts_of(t, &facts);
    return ls__agree(r->link, &facts);
}
