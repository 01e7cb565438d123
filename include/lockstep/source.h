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

/* Make a source of arrays in memory (LS_F32 or LS_I32), each with the same
 * number of rows on its first axis.  The data is borrowed until the source is
 * closed.  LS_ESHAPE names the array at fault. */
LS_API int ls_source_arrays(ls_source *source, int n_arrays,
                            const ls_array *arrays);

/* A window over an array whose rows follow each other in time.  Row i of the
 * source takes rows i + at .. i + at + length - 1 of it, (length, its row
 * shape); with length 0 row i + at alone, of its row shape. */
typedef struct ls_series {
    ls_array array;
    int64_t at, length; /* not negative */
} ls_series;

/* Make a source of sliding windows over arrays in memory (LS_F32 or LS_I32),
 * without a copy: with {x, 0, W} and {y, W - 1 + H, 0} a row has W rows of x
 * and the y that is H rows after the last of them.  It has as many rows as fit
 * into all of the arrays, one at least.  The data is borrowed until the source
 * is closed.  LS_ESHAPE and LS_EINVAL name the array at fault. */
LS_API int ls_source_series(ls_source *source, int n_series,
                            const ls_series *series);

/* Give the rows of a source weights (finite, not negative), borrowed until it
 * is closed; those it has are multiplied.  The source is taken over, and is
 * as it was on a failure. */
LS_API int ls_source_weigh(ls_source *source, const float *weights,
                           int64_t rows);

/* ------ what the rows are ------ */

/* Store the Merkle root of all rows of a source as 64 hex digits, to which a
 * transcript commits (ls_transcript_options.source).  The rows are one array of
 * words, row after row: a row's arrays, then its weight; a leaf has 4096 words
 * (docs/transcript.md).  Reads every row.  LS_ENOTSUP: rows are others in each
 * epoch; LS_EUSER: the source failed; LS_EINVAL, LS_ENOMEM. */
LS_API int ls_source_root(const ls_source *source, char root[65]);

/* Close a source and clear it.  A cleared source is accepted. */
LS_API void ls_source_close(ls_source *source);

#ifdef __cplusplus
}
#endif

#endif
