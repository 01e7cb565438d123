/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources: rows of data by their numbers. */
#ifndef LOCKSTEP_SOURCE_H
#define LOCKSTEP_SOURCE_H

#include <lockstep/random.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A source gives rows in any order.  Fill one in for data of your own, or let
 * one of the functions below do it.  It is a plain value; a source that
 * ls_loader_open or ls_source_weigh took over is not closed by the program. */
typedef struct ls_source {
    int64_t rows;
    int64_t classes; /* labels are below this; 0: not known */
    int n_arrays;
    const ls_array_spec *arrays; /* one row of each: LS_F32 or LS_I32 */
    bool weighted;              /* rows have weights */
    bool by_epoch; /* rows are others in each epoch: row r of epoch e (0, 1, ..)
                      has the index e * rows + r, which ls_loader_fill asks
                      for */
    /* out[a] = rows index[0..n) of array a, (n, its row shape); and, if
     * weighted, out[n_arrays] (n) = their weights, floats.  Indices may repeat.
     * What it writes depends on index alone; it is called by one thread at a
     * time, which may be another than the one that opened the source.  A
     * negative return is a failure. */
    int (*fill)(void *user, int64_t n, const int64_t *index,
                void *const *out);
    void (*close)(void *user); /* NULL: nothing is left to do */
    void *user;
} ls_source;

/* Make a source of arrays in memory (LS_F32 or LS_I32), whose leading axes are
 * equally many rows.  The data is borrowed until the source is
 * closed.  LS_ESHAPE names the array at fault. */
LS_API int ls_source_arrays(ls_source *source, int n_arrays,
                            const ls_array *arrays);

/* What a row of a source takes from an array whose rows follow each other in
 * time: row i takes rows i + at .. i + at + length - 1 of it, (length, its row
 * shape); with length 0 row i + at alone, of its row shape. */
typedef struct ls_series {
    ls_array array;
    int64_t at, length; /* not negative */
} ls_series;

/* Make a source of windows of arrays in memory (LS_F32 or LS_I32), of which no
 * copy is made: with {x, 0, W} and {y, W - 1 + H, 0} a row has W rows of x and
 * the y that is H rows after the last of them.  It has as many rows as fit into
 * all of the arrays, one at least.  The data is borrowed until the source is
 * closed.  LS_ESHAPE and LS_EINVAL name the array at fault. */
LS_API int ls_source_series(ls_source *source, int n_series,
                            const ls_series *series);

/* Give the rows of a source weights (finite, not negative), borrowed until it
 * is closed; those it has are multiplied.  The source is taken over, and is
 * as it was on a failure. */
LS_API int ls_source_weigh(ls_source *source, const float *weights,
                           int64_t rows);

/* ------ what the rows are ------ */

/* Store the root of a tree over all rows of a source as 64 hex digits, to which
 * a transcript commits (ls_transcript_options.source): the rows are one array
 * of words, row after row, of each its arrays and then its weight, and a leaf
 * has 4096 of them (docs/transcript.md).  Reads every row.  LS_ENOTSUP: rows
 * are others in each epoch; LS_EUSER: the source failed; LS_EINVAL,
 * LS_ENOMEM. */
LS_API int ls_source_root(const ls_source *source, char root[65]);

/* A word of a batch, and what two sides say it is. */
typedef struct ls_row_claim {
    size_t size;     /* set by ls_row_claim_defaults */
    int64_t step;
    int64_t batch;   /* rows of a full one */
    int64_t batches; /* of an epoch; with a window 0 */
    bool shuffle;    /* as in ls_loader_options, with key */
    ls_key key;
    int64_t window;  /* so many rows of the source, one array, are a row of the
                        batch: row i begins at number i of ls_random_randint
                        with ls_key_fold_in(key, step), from 0 to
                        rows - window; 0: a row is a row */
    int array;       /* of the source; n_arrays: the weights of rows */
    int64_t element; /* of that array of the batch */
    uint32_t a, b;   /* its bits */
} ls_row_claim;

LS_API void ls_row_claim_defaults_bytes(ls_row_claim *claim, size_t size);
static inline ls_row_claim ls_row_claim_defaults(void)
{
    ls_row_claim c;

    ls_row_claim_defaults_bytes(&c, sizeof c);
    return c;
}

/* Write evidence for referee/referee.c: which row it is of, and that row's leaf
 * with its proof under the root of all rows.  Where the source has no weights,
 * evidence of one is the root, and whether the row is of the batch (it weighs
 * 1) or fills it up (0).  Reads every row.  LS_ENOTSUP, LS_EINVAL: there is no
 * such word; LS_EUSER, LS_EIO, LS_ENOMEM. */
LS_API int ls_source_evidence(const ls_source *source,
                              const ls_row_claim *claim, const char *path);

/* Close a source and clear it.  A cleared source is accepted. */
LS_API void ls_source_close(ls_source *source);

#ifdef __cplusplus
}
#endif

#endif
