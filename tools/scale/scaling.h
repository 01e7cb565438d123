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
 * times the rows of fold 1.  The measurement closes what was opened.  A
 * negative status ends it and is returned. */
typedef int scaling_open_fn(void *user, ls_pool *pool, int fold,
                               ls_trainer **trainer, ls_batch **batch);

/* The same where there are ranks: open it with this transport, which lives as
 * long; NULL: with none. */
typedef int scaling_open_on_fn(void *user, ls_pool *pool, int fold,
                                  const ls_transport *transport,
                                  ls_trainer **trainer, ls_batch **batch);

/* Give the batch its rows for a step, 0, 1, ..; the same for the same step. */
typedef int scaling_fill_fn(void *user, int64_t step, ls_batch *batch);

/* What is trained, on which counts of workers and ranks, and how often. */
typedef struct scaling_options {
    scaling_open_fn *open;
    scaling_fill_fn *fill; /* NULL: the batch stays as it was opened */
    void *user;               /* of both, and of progress */
    const ls_mesh_options *mesh; /* its workers do not count; NULL: defaults */
    const ls_pool_options *pool; /* NULL: the caller pinned */
    int n_workers;            /* how many counts of workers follow; 0: 1, 2,
                                 4, .. below the usable cores, and these */
    const int *workers;       /* counts in any order; 1 is added */
    bool weak;                /* fold is the workers instead of 1 */
    int repeats;              /* runs of each count, in turn; 0: 5 */
    int steps;                /* timed, of a run; 0: about half a second */
    double row_flops;         /* of a row; 0: ls_trainer_work says */
    bool no_roofs;            /* half a second less for each count; */
    bool core_roof;           /* but a core's products, which take little */
    void (*progress)(void *user, int run, int runs, int workers); /* or NULL */
    ls_precision precision;   /* whose products' roof is measured */
    const ls_transport *transport; /* between ranks that all call
                                 scaling_run alike; NULL: there are none */
    scaling_open_on_fn *open_on; /* instead of open; ranks need it */
    int n_ranks;              /* how many counts of ranks follow; 0: 1, 2, 4, ..
                                 below the transport's, and these */
    const int *ranks;         /* counts in any order, of which the first so many
                                 train; 1 is added */
} scaling_options;

/* What was found for one count of workers and ranks. */
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

/* What a measurement was of. */
typedef struct scaling_info {
    int devices, repeats, steps; /* steps: timed, of a run */
    ls_work work;
} scaling_info;

/* A measurement. */
typedef struct scaling {
    bool weak;
    scaling_info info;
    double cache; /* bytes of all L3; 0: not known */
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
 * for it (ls_transport.abort).  LS_EINVAL: no open, or counts that make no
 * sense.  LS_EIO. */
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

/* What workers stand on, on the machine of a model. */
typedef struct scaling_ground {
    const scaling_point *from; /* the measured count that it goes on from */
    int devices;      /* that train */
    double speed;     /* of a core, as a multiple of one that was measured */
    double rate;      /* bytes/s of memory, of all workers; 0: not known */
    double cache;     /* bytes of their last caches */
    double far;       /* floats for each parameter that who adds gradients reads
                         over the busiest link between packages, */
    double far_rate;  /* and bytes/s of one; 0: not known */
    double barriers;  /* seconds of a step, beyond what `from` waited, */
    double nodes_barrier; /* and of the barrier more that it has where NUMA
                             nodes add their own devices' gradients first */
} scaling_ground;

/* A model, not a measurement, of a step on so many workers.  Gradients take as
 * long as the busiest worker's part of the devices (scaling_share), less that
 * in which others help that are done before (ls_work.aid); reduction,
 * and the part of the update that workers share, are divided; and where bytes
 * do not fit the caches (of gradients those of a chunk on each worker) no phase
 * is faster than memory.  The caller's part of the update and the waiting
 * stay. */
typedef struct scaling_guess {
    double seconds, speedup; /* a step; over 1 worker as it was measured */
    double compute;  /* gradients by the cores alone, */
    double aid;      /* less what others help, which is not above 0, */
    double memory;   /* and what memory adds to them */
    double reduce, update;
    double barriers; /* of the ground, all of them, */
    double nodes_barrier; /* the one more among them, */
    double serial;   /* and what a step waits and starts in any case */
    bool roof;       /* a phase is at the rate of memory */
} scaling_guess;

/* What the model says of so many workers.  on NULL: of this machine, from the
 * largest count that is verified and not oversubscribed, whose copy roof is the
 * rate.  LS_EINVAL: workers below 1. */
int scaling_model(const scaling *s, const scaling_ground *on, int workers,
                  scaling_guess *guess);

/* The busiest worker's part of the gradients of all devices: whole ones or, of
 * more workers than devices, a part of one, which the workers of the smallest
 * team share evenly. */
double scaling_share(int devices, int workers);

/* Workers of all ranks. */
static inline int scaling_hands(const scaling_point *p)
{
    return p->ranks > 1 ? p->ranks * p->workers : p->workers;
}

/* The largest count of one rank whose numbers tell something: verified, and
 * with a core for each worker. */
const scaling_point *scaling_best(const scaling *s);

/* Bytes that the operators read and write in a step of so many rows; 0: not
 * known. */
double scaling_bytes(const ls_work *work, int64_t rows);

/* Write s->advice. */
void scaling_advise(scaling *s);

#endif
