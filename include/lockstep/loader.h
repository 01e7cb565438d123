/* SPDX-License-Identifier: BSD-3-Clause */
/* Loaders: batches from a source of rows, prefetched while a step computes. */
#ifndef LOCKSTEP_LOADER_H
#define LOCKSTEP_LOADER_H

#include <lockstep/source.h>
#include <lockstep/trainer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A loader makes the batch of each step from a source. */
typedef struct ls_loader ls_loader;

/* The options of a loader; ls_loader_open copies them. */
typedef struct ls_loader_options {
    size_t size; /* ls_loader_defaults() writes it */
    int64_t batch;    /* rows of a step; 0: all */
    bool shuffle;     /* epoch e (0, 1, ..) takes the rows in the order
                         ls_random_permutation(ls_key_fold_in(key, e), rows) */
    ls_key key;
    ls_uneven uneven; /* LS_UNEVEN_PAD: the last, short batch of an epoch and
                         one that does not divide are filled up with rows of
                         weight 0; else the short one is skipped, and a batch
                         that does not divide is LS_ESHAPE or, with
                         LS_UNEVEN_CUT, cut with the same bytes as padded */
    bool no_thread;   /* make a batch when it is asked for, not before */
} ls_loader_options;

/* Returns options that give each step all rows in their order. */
LS_API void ls_loader_defaults_bytes(ls_loader_options *options, size_t size);
static inline ls_loader_options ls_loader_defaults(void)
{
    ls_loader_options o;

    ls_loader_defaults_bytes(&o, sizeof o);
    return o;
}

/* Cut a source into batches for a trainer, whose inputs are the source's arrays
 * of the same names (and sizes: shapes may differ).  A thread makes the batch
 * of the next step while this one is computed; it runs on no worker's core
 * where others are allowed, else anywhere on the allowed ones.  Takes the
 * source over, and closes it in the end, unless it fails.  The trainer is
 * borrowed until the last ls_loader_fill.  Over ranks all of them call it, and
 * each reads the rows of its own devices, and a few to be compared: LS_EINVAL
 * names what a rank has otherwise.  LS_ENOTFOUND, LS_ESHAPE, LS_EINVAL name
 * what does not fit the trainer. */
LS_API int ls_loader_open(ls_loader **loader, const ls_trainer *trainer,
                          ls_source *source, const ls_loader_options *options);
/* Close the loader and its source. */
LS_API void ls_loader_close(ls_loader *loader);

/* Returns the number of batches of an epoch. */
LS_API int64_t ls_loader_batches(const ls_loader *loader);

/* Set all inputs and weights of a batch to the rows of a step: batch
 * step % batches of epoch step / batches, so that any step can be had at any
 * time, and steps in order come from the thread.  The batch, which must be the
 * trainer's, is good until the next call with this loader.  rows (may be NULL):
 * how many without padding.  Allocates nothing.  LS_EUSER: the source failed on
 * these rows. */
LS_API int ls_loader_fill(ls_loader *loader, int64_t step, ls_batch *batch,
                          int64_t *rows);

/* Returns the seconds that calls of ls_loader_fill took so far, which is how
 * long steps waited. */
LS_API double ls_loader_seconds(const ls_loader *loader);

#ifdef __cplusplus
}
#endif

#endif
