/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost of steps and the limits of the machine: FLOP and bytes, times,
 * backends, instruction levels and measured roofs (the roofline model). */
#ifndef LOCKSTEP_MEASURE_H
#define LOCKSTEP_MEASURE_H

#include <lockstep/trainer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------ What a step costs ------ */

/* An operator of a step, by the FLOP of its matrix products (two for each
 * multiply-add; elementwise work is not counted) for one row of the batch. */
typedef struct ls_cost {
    const char *op;   /* "dense" */
    const char *name; /* "blocks_0.Dense_0"; may be empty */
    double forward, backward;
    /* Bytes that must be read and written, each array once: inputs, the value,
     * what is kept for backward, gradients and what they are added to, of a row
     * of the batch; and parameters and their gradients, of a chunk (a table is
     * counted by the rows that are picked, with the row of the batch). */
    double forward_bytes, backward_bytes;
    double chunk_forward_bytes, chunk_backward_bytes;
} ls_cost;

/* Stores operator i = 0, 1, .. in the order in which they run and returns true;
 * false past the last, and for a gradient function of your own. */
LS_API bool ls_trainer_cost_bytes(const ls_trainer *trainer, int i,
                                  ls_cost *cost, size_t size);
static inline bool ls_trainer_cost(const ls_trainer *trainer, int i,
                                   ls_cost *cost)
{
    return ls_trainer_cost_bytes(trainer, i, cost, sizeof *cost);
}

/* The work of a step: FLOP and bytes by the sum of the above, and the bytes
 * that reduction and update must at least read and write. */
typedef struct ls_work {
    double row_flops;    /* a row; 0: not known */
    double reduce_bytes; /* a step: each device's gradient, and the sum */
    double update_bytes; /* a step: gradient, parameters, moments */
    double row_bytes, chunk_bytes; /* of the operators; 0: not known */
    int64_t chunk_rows;  /* of a shard that run through all operators together;
                            the last chunk may have less */
    int64_t shards;      /* of a step: devices times micro-batches */
} ls_work;

/* Stores what a step of the trainer does. */
LS_API void ls_trainer_work_bytes(const ls_trainer *trainer, ls_work *work,
                                  size_t size);
static inline void ls_trainer_work(const ls_trainer *trainer, ls_work *work)
{
    ls_trainer_work_bytes(trainer, work, sizeof *work);
}

/* Seconds of one worker in the last ls_step: at work in each phase, and the
 * rest of the step, at barriers, with nothing to do or helping a worker that is
 * behind. */
typedef struct ls_times {
    double gradients, reduce, update, waiting;
} ls_times;

/* Have each worker read the clock as it enters and leaves a phase, from the
 * next step on (some 0.2 microseconds a step).  LS_ENOMEM. */
LS_API int ls_trainer_clock(ls_trainer *trainer);

/* Stores the times of a worker in the last step.  LS_EINVAL: there is no such
 * worker, or the clock was not on in that step. */
LS_API int ls_trainer_times_bytes(const ls_trainer *trainer, int worker,
                                  ls_times *times, size_t size);
static inline int ls_trainer_times(const ls_trainer *trainer, int worker,
                                   ls_times *times)
{
    return ls_trainer_times_bytes(trainer, worker, times, sizeof *times);
}

/* ====== Tuning ====== */

/* Have BLIS use its fused kernels for AVX-512 or AVX2, whichever the CPU has:
 * sets the environment variable BLIS_ARCH_TYPE unless the user did.  Left to
 * itself BLIS goes by the CPU's name, and the "blis" backend is refused
 * (LS_ENOTSUP) where it takes kernels that round otherwise than native's.  The
 * variable is the process's, and BLIS reads it once: call this first thing in
 * main, if at all.  The library itself never does. */
LS_API void ls_blis_tune(void);

/* Stores which BLIS and which of its kernels are used: "BLIS 0.9.0, kernels skx
 * (BLIS_ARCH_TYPE is set)".  Starts BLIS. */
LS_API void ls_blis_text(char text[LS_TEXT]);

/* An instruction level of the library's own kernels. */
typedef struct ls_isa {
    const char *name; /* "x86-64-v4" */
    bool here;        /* this CPU has it */
    bool used;        /* the best there is, or what LS_ISA names */
} ls_isa;

/* Stores level i = 0, 1, .. of those compiled in, the best first, and returns
 * true; false past the last. */
LS_API bool ls_isa_level_bytes(int i, ls_isa *isa, size_t size);
static inline bool ls_isa_level(int i, ls_isa *isa)
{
    return ls_isa_level_bytes(i, isa, sizeof *isa);
}

/* Checks the environment variable LS_ISA.  LS_EINVAL: it names a level that is
 * unknown or not of this CPU; the message names this CPU's levels.  (Opening a
 * pool says the same.) */
LS_API int ls_isa_check(void);

/* Returns the name of backend i = 0, 1, .., "native" first; NULL past the
 * last.  One may be named here and not be built in. */
LS_API const char *ls_backend_name(int i);

/* The products of a backend (NULL: native) on this CPU, as text: "f32
 * products"; of bf16 layers "AMX products", "AVX512-BF16 products", or
 * "rounding, then f32 products", the same bytes, which saves no time.  Where
 * the CPU has AMX and the kernel refuses it, the text says so.  LS_EINVAL,
 * LS_ENOTSUP: as opening a trainer with it. */
LS_API int ls_backend_text(char text[LS_TEXT], const char *backend,
                           ls_precision precision);

/* The most multiply-adds a second, in FLOP/s (two each), of the pool's first
 * workers with an instruction level (NULL: the one in use): the best of five
 * runs of about 10 ms.  LS_EINVAL: more workers than the pool has, or a level
 * that is not of this CPU. */
LS_API int ls_measure_flops(ls_pool *pool, int workers, const char *isa,
                            double *flops);

/* The most FLOP/s of the products of layers of a precision ("native"), two for
 * each multiply-add of theirs, as ls_measure_flops measures them: of AMX, of
 * AVX512-BF16 or of fused multiply-adds, whichever products use on this CPU;
 * for LS_F32X3_LAYERS a third of it.
 * LS_EINVAL: more workers than the pool has, or an unknown precision. */
LS_API int ls_measure_products(ls_pool *pool, int workers,
                               ls_precision precision, double *flops);

/* The most bytes a second, read and written together, of memcpy between arrays
 * that no cache holds: four times all L3 (known if the mesh was opened with
 * details), 64 MB to 1 GB each.  LS_ENOMEM. */
LS_API int ls_measure_copy(ls_pool *pool, int workers,
                           double *bytes_per_second);

#ifdef __cplusplus
}
#endif

#endif
