/* SPDX-License-Identifier: BSD-3-Clause */
/* See prediction.h. */
#include "scale/prediction.h"
#include "opt/opt.h"

static const double LINE = 40e-9; /* seconds, where nothing was measured */

int prediction_open(prediction *p, const char *text, const char *cpus)
{
    int status = described_open(&p->here, NULL, cpus);

    return status == OPT_GO ? described_open(&p->on, text, cpus) : status;
}

void prediction_close(prediction *p)
{
    described_close(&p->on);
    described_close(&p->here);
}

/* ------ What was measured ------ */

static measured measure(const prediction *p, const findings *r, double line)
{
    const scaling_point *one = &r->point[0], *all = scaling_best(r->scaling);
    int workers = all->workers < p->here.cores ? all->workers : p->here.cores;

    return (measured){
        .core = one->flops_roof,
        .copy = one->copy_roof,
        .node = all->copy_roof / described_spread(&p->here, workers).nodes,
        .cache = p->here.cache * p->here.caches / p->here.cores,
        .line = line > 0 ? line : LINE,
        .line_is_assumed = !(line > 0),
    };
}

/* ------ Both machines ------ */

static scaling_guess guess_on(const described *on, const scaling *s,
                              int devices, int workers)
{
    scaling_ground g = described_ground(on, devices, workers);
    scaling_guess guess = {0};

    g.from = &s->point[0];
    (void)scaling_model(s, &g, workers, &guess);
    return guess;
}

/* Rows of a step: those of a device are the same. */
static double rows_of(const prediction *p, const findings *r, int workers)
{
    return (double)r->point[0].rows * p->devices / r->info.devices *
           (r->weak ? workers : 1);
}

static void predict(prediction *p, const findings *r, int workers)
{
    predicted *row = &p->row[p->rows++];
    const predicted *one = &p->row[0];

    row->workers = workers;
    row->guess = guess_on(&p->on, r->scaling, p->devices, workers);
    row->rows = rows_of(p, r, workers) / row->guess.seconds;
    row->speedup = row->rows / one->rows;
    row->efficiency = row->speedup / workers;
}

static void check(prediction *p, const findings *r, const scaling_point *point)
{
    p->check[p->checks++] = (checked){
        .workers = point->workers,
        .predicted = guess_on(&p->here, r->scaling, r->info.devices,
                              point->workers).seconds,
        .measured = point->seconds};
}

void prediction_make(prediction *p, const findings *r, const assumed *a,
                     double line, int devices)
{
    const assumed nothing = {0};
    int count[DOUBLINGS], n = count_all(count, 0, NULL, p->on.cores);

    p->measured = measure(p, r, line);
    p->devices = devices;
    described_settle(&p->on, &p->measured, a);
    described_settle(&p->here, &p->measured, &nothing);
    for (int i = 0; i < n; i++)
        predict(p, r, count[i]);
    for (int i = 0; i < r->points && p->checks < DOUBLINGS; i++)
        if (r->point[i].ranks == 1 && r->point[i].verified &&
            r->point[i].workers <= p->here.cores)
            check(p, r, &r->point[i]);
}
