/* The same training on 1, 2, 4, .. workers, verified and measured. */
#include <lockstep.h> /* includes this file: before the guard */

#ifndef LOCKSTEP_SCALING_H
#define LOCKSTEP_SCALING_H

#include <lockstep/measure.h>
#include <lockstep/transport.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ====== Scaling: the same training on 1, 2, 4, .. workers ====== */

/* Open, on a pool, the trainer to be measured and a batch for it, with `fold`
 * times the rows of fold 1.  The measurement closes what was opened.  A
 * negative status ends it and is returned. */
typedef int ls_scaling_open_fn(void *user, ls_pool *pool, int fold,
                               ls_trainer **trainer, ls_batch **batch);

/* The same where there are ranks: open it with this transport, which lives as
 * long; NULL: with none. */
typedef int ls_scaling_open_on_fn(void *user, ls_pool *pool, int fold,
                                  const ls_transport *transport,
                                  ls_trainer **trainer, ls_batch **batch);

/* Give the batch its rows for a step, 0, 1, ..; the same for the same step. */
typedef int ls_scaling_fill_fn(void *user, int64_t step, ls_batch *batch);

/* What is trained, on which counts of workers and ranks, and how often. */
typedef struct ls_scaling_options {
    size_t size; /* ls_scaling_defaults() writes it */
    ls_scaling_open_fn *open;
    ls_scaling_fill_fn *fill; /* NULL: the batch stays as it was opened */
    void *user;               /* of both, and of progress */
    const ls_mesh_options *mesh; /* its workers do not count; NULL: defaults */
    const ls_pool_options *pool; /* NULL: the caller pinned */
    int counts;               /* how many counts of workers follow; 0: 1, 2,
                                 4, .. below the usable cores, and these */
    const int *count;         /* counts of workers in any order; 1 is added */
    bool weak;                /* fold is the workers instead of 1 */
    int repeats;              /* runs of each count, in turn; 0: 5 */
    int steps;                /* timed, of a run; 0: about half a second */
    double row_flops;         /* of a row; 0: ls_trainer_work says */
    bool no_roofs;            /* half a second less for each count */
    void (*progress)(void *user, int run, int runs, int workers); /* or NULL */
    ls_precision precision;   /* whose products' roof is measured */
    const ls_transport *transport; /* between ranks that all call
                                 ls_scaling_run alike; NULL: there are none */
    ls_scaling_open_on_fn *open_on; /* instead of open; ranks need it */
    int ranks;                /* how many counts of ranks follow; 0: 1, 2, 4, ..
                                 below the transport's, and these */
    const int *rank;          /* counts of ranks in any order, of which the
                                 first so many train; 1 is added */
} ls_scaling_options;

/* Returns options that are all 0; open must be set. */
LS_API void ls_scaling_defaults_sized(ls_scaling_options *options, size_t size);
static inline ls_scaling_options ls_scaling_defaults(void)
{
    ls_scaling_options o;

    ls_scaling_defaults_sized(&o, sizeof o);
    return o;
}

/* What was found for one count of workers and ranks. */
typedef struct ls_scaling_point {
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
} ls_scaling_point;

typedef struct ls_scaling ls_scaling;

/* Train the same from the start on each count of workers, all counts in turn,
 * repeats times: three steps, then the timed ones.  Verified is what ends in
 * the same bytes as the first run on 1 worker; with weak, what after the three
 * steps has the bytes of 1 worker given the same rows.  Opens a mesh and a pool
 * for each run.  Of several ranks each count of them takes all counts of
 * workers, fold being the workers of all ranks; ranks of one machine share out
 * its cores (ls_transport_cpus), and every rank gets the first one's findings.
 * Where it fails on one rank, that one should end the others, which may wait
 * for it (ls_transport.abort).  LS_EINVAL: no open, or counts that make no
 * sense.  LS_EIO. */
LS_API int ls_scaling_run(ls_scaling **scaling,
                          const ls_scaling_options *options);
/* Free a measurement. */
LS_API void ls_scaling_free(ls_scaling *scaling);

/* Stores point i = 0, 1, .. and returns true; false past the last.  Points are
 * in the order of rising ranks and then workers, both from 1. */
LS_API bool ls_scaling_get_sized(const ls_scaling *scaling, int i,
                                 ls_scaling_point *point, size_t size);
static inline bool ls_scaling_get(const ls_scaling *scaling, int i,
                                  ls_scaling_point *point)
{
    return ls_scaling_get_sized(scaling, i, point, sizeof *point);
}
/* Returns the seconds of the median step in one of the point's runs; NaN: there
 * is no such run. */
LS_API double ls_scaling_seconds(const ls_scaling *scaling, int i, int repeat);

/* What a measurement was of. */
typedef struct ls_scaling_info {
    int devices, repeats, steps; /* steps: timed, of a run */
    ls_work work;
} ls_scaling_info;

/* Stores what was measured. */
LS_API void ls_scaling_ask_sized(const ls_scaling *scaling,
                                 ls_scaling_info *info, size_t size);
static inline void ls_scaling_ask(const ls_scaling *scaling,
                                  ls_scaling_info *info)
{
    ls_scaling_ask_sized(scaling, info, sizeof *info);
}

/* Says in one sentence what costs most of a perfect speed-up, and what to do
 * about it: "update takes 11 %, all of it on the caller: use --state shard". */
LS_API const char *ls_scaling_advice(const ls_scaling *scaling);

/* Amdahl's serial share s, by least squares of the relative errors of
 * t(W) = t(1) (s + (1 - s) / W), t being the seconds a row, over the verified
 * counts of one rank that are not oversubscribed.  LS_EINVAL: fewer than
 * three. */
LS_API int ls_scaling_serial(const ls_scaling *scaling, double *share);

/* A model, not a measurement, of a step on more workers, from the largest count
 * that is verified and not oversubscribed: gradients take as long as the most
 * devices of a worker do; reduction, and the part of the update that workers
 * share, are divided; and where bytes do not fit the caches (of gradients those
 * of a chunk on each worker) none is faster than the copy roof of that count.
 * The caller's part of the update and the waiting stay. */
typedef struct ls_scaling_guess {
    double seconds, speedup;
    double memory; /* seconds of it in reduction and update */
    bool roof;     /* one of the two, or gradients, are at the copy roof */
} ls_scaling_guess;

/* Stores what the model says of so many workers.  LS_EINVAL: workers below 1.
 */
LS_API int ls_scaling_model_sized(const ls_scaling *scaling, int workers,
                                  ls_scaling_guess *guess, size_t size);
static inline int ls_scaling_model(const ls_scaling *scaling, int workers,
                                   ls_scaling_guess *guess)
{
    return ls_scaling_model_sized(scaling, workers, guess, sizeof *guess);
}

#ifdef __cplusplus
}
#endif

#endif
