/* SPDX-License-Identifier: BSD-3-Clause */
/* The same training on 1, 2, 4, .. workers, verified and measured (scaling.c),
 * and what follows from the times (scaling_model.c), which is arithmetic alone.
 *
 * What fails returns a negative status of lockstep's, with its message. */
#ifndef TOOLS_SCALING_H
#define TOOLS_SCALING_H

#include <lockstep.h>

enum { SCALING_ADVICE = 512 }; /* bytes of the sentence, with its end */

/* Open, on a pool, the trainer to be measured and a batch for it, with `fold`
 * times the rows of fold 1, and with this transport, which lives as long; NULL:
 * with none.  The measurement closes what was opened.  A negative status ends
 * it and is returned. */
typedef int scaling_open_fn(void *user, ls_pool *pool, int fold,
                            const ls_transport *transport,
                            ls_trainer **trainer, ls_batch **batch);

/* Give the batch its rows for a step, 0, 1, ..; the same for the same step. */
typedef int scaling_fill_fn(void *user, int64_t step, ls_batch *batch);

/* The training to measure, the counts of workers and ranks, and the repeats. */
typedef struct scaling_options {
    scaling_open_fn *open;
    scaling_fill_fn *fill;
    void *user;               /* of both, and of progress */
    const ls_mesh_options *mesh; /* its workers do not count */
    const ls_pool_options *pool; /* NULL: the caller pinned */
    int n_workers;            /* how many counts of workers follow; 0: 1, 2,
                                 4, .. below the usable cores, and these */
    const int *workers;       /* counts in any order; 1 is added */
    bool weak;                /* fold is the workers instead of 1 */
    int repeats;              /* runs of each count, in turn */
    int steps;                /* timed, of a run; 0: about half a second */
    bool no_roofs;            /* half a second less for each count */
    void (*progress)(void *user, int run, int runs, int workers); /* or NULL */
    ls_precision precision;   /* of the products' roof */
    const ls_transport *transport; /* between ranks that all call
                                 scaling_run alike; NULL: there are none */
    int n_ranks;              /* how many counts of ranks follow; 0: 1, 2, 4, ..
                                 below the transport's, and these */
    const int *ranks;         /* counts in any order, of which the first so many
                                 train; 1 is added */
} scaling_options;

/* The findings for one count of workers and ranks. */
typedef struct scaling_point {
    int workers;         /* of each rank */
    bool oversubscribed; /* more workers than usable cores */
    bool verified;       /* the state is the one that 1 worker makes */
    char state[65];      /* of ls_trainer_hash, after the last run */
    int64_t rows;        /* of a step */
    double seconds;      /* a step of the run that is the median (of an even
                            number the lower one): mean of the fifth of its
                            steps around the median one */
    double least, most;  /* of the runs */
    ls_times mean, max;  /* over the workers; of the same steps, so that the
                            means add up to them */
    double speedup;      /* in rows a second: median over the repeats of the
                            ratio to 1 worker's; NaN unless verified */
    double speedup_least, speedup_most; /* of the repeats */
    double efficiency;   /* speedup / workers of all ranks */
    double flops;        /* FLOP/s; 0: not known */
    double reduce_rate, update_rate; /* bytes/s in these phases; 0 for several
                                        ranks, whose messages are in them */
    double flops_roof, copy_roof;    /* measured on so many workers; or 0, as
                                        for several ranks:
                                        ls_measure_products, _copy */
    int ranks;           /* that train together; mean and max are those of the
                            first one's workers */
    double gradient_rate; /* bytes/s of the operators (ls_work) in gradients:
                            above copy_roof where caches keep them; 0: not
                            known, or several ranks */
} scaling_point;

/* The subject of a measurement. */
typedef struct scaling_info {
    int devices, repeats, steps; /* steps: timed, of a run */
    ls_work work;
} scaling_info;

/* A measurement. */
typedef struct scaling {
    bool weak;
    scaling_info info;
    double cut; /* share of the parameters that all workers update */
    int points;
    scaling_point *point; /* in the order of rising ranks and then workers, both
                             from 1 */
    double *seconds;      /* [point * info.repeats + repeat] a step */
    char advice[SCALING_ADVICE]; /* what costs most of a perfect speed-up, and
                                    what to do about it: "update takes 11 %, all
                                    of it on the caller: use --state shard" */
} scaling;

/* Train the same from the start on each count of workers, all counts in turn,
 * repeats times: three steps, then the timed ones.  Verified is what ends in
 * the same bytes as the first run on 1 worker; with weak, what after the three
 * steps has the bytes of 1 worker given the same rows.  Opens a mesh and a pool
 * for each run.  Every count of ranks is measured with every count of workers;
 * fold is ranks x workers.  Ranks of one machine share out its cores
 * (ls_transport_cpus), and every rank gets the first one's findings.
 * Where it fails on one rank, that one should end the others, which may wait
 * for it (ls_transport.abort).  The counts are from 1 to 65536, those of ranks
 * to the transport's.  LS_EINVAL: too many repeats or steps.  LS_EIO. */
int scaling_run(scaling **found, const scaling_options *options);

/* Free a measurement. */
void scaling_free(scaling *s);

/* Returns the seconds of the median step in one of the point's runs; NaN: there
 * is no such run. */
double scaling_seconds(const scaling *s, int i, int repeat);

/* Amdahl's serial share s, by least squares of the relative errors of
 * t(W) = t(1) (s + (1 - s) / W), t being the seconds a row, over the verified
 * counts of one rank that are not oversubscribed.  LS_EINVAL: fewer than
 * three. */
int scaling_serial(const scaling *s, double *share);

/* Workers of all ranks. */
static inline int scaling_hands(const scaling_point *p)
{
    return p->ranks > 1 ? p->ranks * p->workers : p->workers;
}

/* Chunks of a step of `rows` rows; 0: not known. */
double scaling_chunks(const ls_work *work, int64_t rows);

/* Bytes that the operators read and write in a step of `rows` rows; 0: not
 * known. */
double scaling_bytes(const ls_work *work, int64_t rows);

/* Write s->advice. */
void scaling_advise(scaling *s);

#endif
