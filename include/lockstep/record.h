/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of a step: hashes of every array that one training step makes, in its
 * order.  Two records name the first operator and the first element in which
 * two programs, compilers or machines differ.
 * docs/transcript.md describes the file; lockstep-train --record writes one,
 * lockstep-inspect A.lsr B.lsr compares two. */
#ifndef LOCKSTEP_RECORD_H
#define LOCKSTEP_RECORD_H

#include <lockstep/source.h>
#include <lockstep/transcript.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opaque: a record that waits for what follows its step. */
typedef struct ls_record ls_record;

typedef struct ls_record_options {
    size_t size; /* set by ls_record_defaults */
    const char *path; /* of the file; one that is there is replaced */
    int device;  /* whose inside is written: forward, backward; -1: all
                    devices' */
    bool values; /* the numbers too, not their hashes alone */
    int64_t batches; /* taken before the step, and the program's own numbers
                        then, as ls_trainer_root has them: a record gives the
                        root of the state; -1: it does not */
    int n_controls;
    const ls_control *controls;
    const ls_source *source; /* the rows are of these, whose root transcripts
                        have: a record has their numbers and ways to the root.
                        Reads every row, so that no loader may read ahead
                        (ls_loader_options.no_thread); NULL: it has none */
    int64_t batch;   /* rows of a full batch */
    int64_t epoch;   /* batches of an epoch; with a window 0 */
    bool shuffle;    /* as in ls_loader_options, with key */
    ls_key key;
    int64_t window;  /* rows of the source, one array, that make a row of the
                        batch: row i begins at number i of ls_random_randint
                        with ls_key_fold_in(key, batches), from 0 to
                        rows - window; 0: a row is a row */
    ls_record **record; /* the file waits for ls_record_end; NULL: it is whole
                           when the step is made */
} ls_record_options;

LS_API void ls_record_defaults_bytes(ls_record_options *options, size_t size);
static inline ls_record_options ls_record_defaults(void)
{
    ls_record_options o;
    ls_record_defaults_bytes(&o, sizeof o);
    return o;
}

/* Train on one batch as ls_step does, with the same bytes, and write down what
 * it made: parameters and moments before; and of each device the rows, the
 * value of each node, what it keeps for backward, the gradient of each of its
 * inputs and, after each chunk of rows, of its parameters; the device's
 * gradient and sums; the mean, squares of blocks, norm and rule; parameters and
 * moments after.  The devices run one after the other on the caller, and memory
 * is allocated.  The file appears under its name when it is whole.
 * LS_ENOTSUP: a gradient function of your own, several processes, or a function
 * between reduction and update; LS_EINVAL names a device that there is not;
 * what ls_step returns; LS_EIO, LS_ENOMEM: there is no file, and only if the
 * message says so was the step made all the same. */
LS_API int ls_trainer_record_bytes(ls_trainer *trainer, const ls_batch *batch,
                                   const ls_record_options *options,
                                   ls_result *result, size_t size);
static inline int ls_trainer_record(ls_trainer *trainer, const ls_batch *batch,
                                    const ls_record_options *options,
                                    ls_result *result)
{
    return ls_trainer_record_bytes(trainer, batch, options, result,
                                   sizeof *result);
}

/* Finish a record that waited, once all that belongs to its step is over (its
 * evaluation, say): batches and the program's numbers are those of the state
 * now; batches -1: they are not known.  The record is gone then, after a
 * failure too, and is ended before its trainer is closed.  LS_EINVAL; LS_EIO,
 * LS_ENOMEM: there is no file. */
LS_API int ls_record_end(ls_record *record, int64_t batches, int n_controls,
                         const ls_control *controls);

/* ------ The first difference ------ */

enum { LS_RECORD_TEXT = 512 };

typedef struct ls_record_difference {
    bool same;
    char text[LS_RECORD_TEXT]; /* where, and both values; "" if same */
    int64_t element; /* of the array there; of a double 0 or 1, the word that
                        differs; -1: it is not known, for one of the records
                        has no values */
    uint32_t a, b;   /* its bits */
    char place[LS_RECORD_TEXT]; /* of the array alone, as text begins */
    int64_t leaf;    /* of 4096 elements; -1: it is a number, no array */
    int device;      /* whose inside it is; -1: what all devices share */
} ls_record_difference;

/* Find the first array or number, in the step's order, that differs in two
 * records.  All before it are the same, and so are its inputs.
 * LS_EFORMAT: one is no record, or has been changed; LS_EINVAL: they are of two
 * trainings, steps or devices, and the message says what tells them apart;
 * LS_EIO, LS_ENOMEM. */
LS_API int ls_record_compare_bytes(const char *a, const char *b,
                                   ls_record_difference *difference,
                                   size_t size);
static inline int ls_record_compare(const char *a, const char *b,
                                    ls_record_difference *difference)
{
    return ls_record_compare_bytes(a, b, difference, sizeof *difference);
}

/* Name number i, from 0, of what the referee (tools/referee) does not judge of
 * a training, before anybody asks: operators, update and schedules, and before
 * the first update first values (those that the program gave, and orthogonal
 * ones of more than 1,048,576 numbers), as "operator \"own\" (node 3 \"x\")".
 * Returns 1 with the text, or 0 where there are no more than i.  A batch whose
 * rows have no root (ls_source_root) is not judged either, and not named.
 * LS_EINVAL. */
LS_API int ls_record_unjudged(const ls_trainer *trainer, int i,
                              char text[LS_RECORD_TEXT]);

#ifdef __cplusplus
}
#endif

#endif
