/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of a step: every array that one training step makes, hashed in the
 * order in which it is made, so that two records name the first operator and
 * the first element in which two programs, compilers or machines differ.
 * docs/transcript.md describes the file; lockstep-train --record writes one,
 * lockstep-inspect A.lsr B.lsr compares two. */
#ifndef LOCKSTEP_RECORD_H
#define LOCKSTEP_RECORD_H

#include <lockstep/trainer.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ls_record_options {
    size_t size; /* set by ls_record_defaults */
    const char *path; /* of the file; one that is there is replaced */
    int device;  /* whose inside is written: forward, backward; -1: all
                    devices' */
    bool values; /* the numbers too, not their hashes alone */
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

/* ------ The first difference ------ */

enum { LS_RECORD_TEXT = 512 };

typedef struct ls_record_difference {
    bool same;
    char text[LS_RECORD_TEXT]; /* where, and both values; "" if same */
    int64_t element; /* of the array there; of a double 0 or 1, the word that
                        differs; -1: it is not known, for one of the records
                        has no values */
    uint32_t a, b;   /* its bits */
    char place[LS_RECORD_TEXT]; /* of the array alone, as text begins: what the
                        functions below find it by */
    int64_t leaf;    /* of 4096 elements; -1: it is a number, no array */
    int device;      /* whose inside it is; -1: what all devices share */
} ls_record_difference;

/* Find the first array or number, in the order in which the step makes them, in
 * which two records differ; all before are the same, so its inputs are.
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

/* The bits of a leaf of the array at a place of a record with values, into
 * value[4096]; of a number its one word, leaf 0.  Returns how many;
 * LS_ENOTFOUND: there is no such place or leaf; LS_ENOTSUP: the record has no
 * values; LS_EFORMAT, LS_EIO, LS_ENOMEM. */
LS_API int ls_record_leaf(const char *record, const char *place, int64_t leaf,
                          uint32_t value[4096]);

/* The hash of a leaf of the array at a place, as 64 hex digits: SHA-256 of its
 * bytes, little end first, and a byte 0.  The record needs no values.
 * LS_ENOTFOUND; LS_EFORMAT, LS_EIO, LS_ENOMEM. */
LS_API int ls_record_leaf_hash(const char *record, const char *place,
                               int64_t leaf, char hash[65]);

/* Write evidence for referee/referee.c: what element `element` at a place was
 * made of, from a record with values, and what two sides say it is.  LS_ENOTSUP
 * names the operator that the referee has no rule for, or why there is none
 * here; else as above. */
LS_API int ls_record_evidence(const char *record, const char *place,
                              int64_t element, uint32_t a, uint32_t b,
                              const char *path);

/* Is there a rule of the referee for it, and evidence?  kind is "operator"
 * (name: ls_node_op), "update" (ls_optimizer_name) or "schedule"
 * (ls_schedule_name).  False for any other; of an operator some forms may have
 * no evidence all the same, which ls_record_evidence says.  A dispute that
 * comes to what is not judged ends there, with its name. */
LS_API bool ls_record_judges(const char *kind, const char *name);

/* Name what of a training is not judged, before any dispute: number i, from 0,
 * of its operators, update and schedules, and before the first update of its
 * first values (those that the program gave, and orthogonal ones of more than
 * 1,048,576 numbers), as "operator \"own\" (node 3 \"x\")".  Returns 1 with the
 * text, or 0 where there are no more than i.  Two things are not named: what
 * max pooling and dropout keep, which is no float and not judged in any
 * training; and a batch whose rows have no root (ls_source_root), which is not
 * judged either.  LS_EINVAL. */
LS_API int ls_record_unjudged(const ls_trainer *trainer, int i,
                              char text[LS_RECORD_TEXT]);

#ifdef __cplusplus
}
#endif

#endif
