/* SPDX-License-Identifier: BSD-3-Clause */
/* Measured roofs (roofline model): rates that no program on these cores can
 * beat, so that a rate can be stated as a share of them.
 *
 * Every worker that takes part notes when it began and ended; the rate counts
 * from the first beginning to the last end, and the best of a few rounds is
 * kept, because other programs can only make it worse. */
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "kernel/roof.h"
#include "pool/call.h"
#include <lockstep/machine.h>
#include <lockstep/measure.h>

#include <string.h>

enum { ROUNDS = 5, FMA_LOOPS = 1 << 16 /* between two looks at the clock */ };
static const double FMA_SECONDS = 0.01;
static const int64_t COPY_LEAST = 64 << 20, COPY_MOST = (int64_t)1 << 30;

/* Written by its worker, on a line of its own. */
typedef struct lap {
    _Alignas(64) double begin;
    double end;
    double work;
} lap;

_Static_assert(sizeof(lap) % 64 == 0, "workers share no cache line");

typedef struct race {
    ls_pool *pool;
    int workers;               /* that take part */
    lap *lap;                  /* [workers] */
    ls__roof *loop;            /* of the race of multiply-adds */
    char *from, *to;           /* of the copy race */
    int64_t bytes;             /* of each */
    double best;               /* of work a second */
} race;

/* ------ The two races: a job each, and a lap inside it ------ */

/* Levels differ a hundredfold: a lap lasts so long, however slow one is. */
static double fma_lap(race *r, int worker)
{
    double begin = ls__seconds(), work = 0;
    float io[16] = {0};

    (void)worker;
    do
        work += (double)r->loop(FMA_LOOPS, io);
    while (ls__seconds() - begin < FMA_SECONDS);
    return work;
}

/* A worker's part of the arrays. */
static int64_t part(const race *r, int worker, int64_t *first)
{
    *first = r->bytes / r->workers * worker;
    return r->bytes / r->workers;
}

/* Read and written, as STREAM counts. */
static double copy_lap(race *r, int worker)
{
    int64_t first, n = part(r, worker, &first);

    memcpy(r->to + first, r->from + first, (size_t)n);
    return 2.0 * (double)n;
}

/* The first touch puts the pages near their worker. */
static void touch(void *user, int worker)
{
    race *r = user;
    int64_t first, n;

    if (worker >= r->workers)
        return;
    n = part(r, worker, &first);
    memset(r->from + first, 1, (size_t)n);
    memset(r->to + first, 0, (size_t)n);
}

static void time_lap(race *r, int worker, double (*run)(race *, int))
{
    ls__pool_barrier(r->pool);
    if (worker >= r->workers)
        return;
    ls__pool_at("measure", -1);
    r->lap[worker].begin = ls__seconds();
    r->lap[worker].work = run(r, worker);
    r->lap[worker].end = ls__seconds();
}

static void fma_job(void *user, int worker)
{
    time_lap(user, worker, fma_lap);
}

static void copy_job(void *user, int worker)
{
    time_lap(user, worker, copy_lap);
}

/* ------ Running them ------ */

static double rate(const race *r)
{
    double begin = r->lap[0].begin, end = r->lap[0].end, work = 0;

    for (int w = 0; w < r->workers; w++) {
        const lap *l = &r->lap[w];

        begin = l->begin < begin ? l->begin : begin;
        end = l->end > end ? l->end : end;
        work += l->work;
    }
    return end > begin ? work / (end - begin) : 0;
}

static int run_race(race *r, ls__job *job)
{
    int status = 0;

    r->lap = ls__block_zero((size_t)r->workers * sizeof *r->lap, "laps");
    if (!r->lap)
        return LS_ENOMEM;
    for (int i = 0; i < ROUNDS && status == 0; i++) {
        status = ls__pool_call(r->pool, NULL, job, r);
        r->best = rate(r) > r->best ? rate(r) : r->best;
    }
    ls__block_free(r->lap);
    return status;
}

static int check_workers(const ls_pool *pool, int workers)
{
    if (workers >= 1 && workers <= ls_pool_workers(pool))
        return 0;
    return ls__fail(LS_EINVAL, "measure: %d workers; the pool has %d", workers,
                    ls_pool_workers(pool));
}

static int race_flops(ls_pool *pool, int workers, ls__roof *loop, double *flops)
{
    race r = {.pool = pool, .workers = workers, .loop = loop};
    int status = check_workers(pool, workers);

    if (status == 0)
        status = run_race(&r, fma_job);
    if (status == 0)
        *flops = r.best;
    return status;
}

int ls_measure_flops(ls_pool *pool, int workers, const char *isa,
                     double *flops)
{
    LS__NEED(pool);
    LS__NEED(flops);

    ls__roof *loop = ls__roof_of_level(isa);

    if (!loop)
        return ls__fail(LS_EINVAL, "measure: \"%s\" is no instruction level "
                        "of this CPU", isa);
    return race_flops(pool, workers, loop, flops);
}

/* The number of products of the unit that make one of a layer's. */
static const int products[] = {
    [LS_F32_LAYERS] = 1, [LS_BF16_LAYERS] = 1, [LS_F32X3_LAYERS] = 3};
enum { PRECISIONS = sizeof products / sizeof *products };

int ls_measure_products(ls_pool *pool, int workers, ls_precision precision,
                        double *flops)
{
    LS__NEED(pool);
    LS__NEED(flops);

    double rate;
    int status;

    if ((int)precision < 0 || (int)precision >= PRECISIONS)
        return ls__fail(LS_EINVAL, "measure: precision %d is unknown",
                        (int)precision);
    status = race_flops(pool, workers, ls__roof_of_products(precision), &rate);
    if (status == 0)
        *flops = rate / products[precision];
    return status;
}

/* Enough to leave the last caches: four times what they hold together. */
static int64_t copy_bytes(const ls_pool *pool)
{
    int64_t bytes = COPY_LEAST;
    ls_level level;

    for (int i = 0; ls_mesh_level(ls__pool_mesh(pool), i, &level); i++)
        if (!strcmp(level.name, "L3") && 4 * level.most * level.count > bytes)
            bytes = 4 * level.most * level.count;
    return bytes < COPY_MOST ? bytes : COPY_MOST;
}

int ls_measure_copy(ls_pool *pool, int workers, double *bytes_per_second)
{
    LS__NEED(pool);
    LS__NEED(bytes_per_second);

    race r = {.pool = pool, .workers = workers, .bytes = copy_bytes(pool)};
    int status = check_workers(pool, workers);

    if (status < 0)
        return status;
    r.from = ls__block((size_t)r.bytes, "measure");
    r.to = ls__block((size_t)r.bytes, "measure");
    status = r.from && r.to ? ls__pool_call(pool, NULL, touch, &r) : LS_ENOMEM;
    if (status == 0)
        status = run_race(&r, copy_job);
    ls__block_free(r.from);
    ls__block_free(r.to);
    if (status == 0)
        *bytes_per_second = r.best;
    return status;
}
