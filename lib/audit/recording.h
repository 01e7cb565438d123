/* SPDX-License-Identifier: BSD-3-Clause */
/* A recorded step at work: what its phases (record_step.c) and its devices
 * (record_devices.c) share with its writing (record_write.c): the head, then
 * each array in the order in which it is made. */
#ifndef LS_AUDIT_RECORDING_H
#define LS_AUDIT_RECORDING_H

#include "audit/record_file.h"
#include "audit/record_rows.h"
#include "train/device.h"
#include "train/step.h"
#include <lockstep/record.h>

/* Told of each array before it is hashed.  Tests spoil a number here, with
 * which the step goes on; nobody else does. */
typedef void ls__touch_fn(void *user, const ls__where *where, float *values,
                          int64_t floats);

typedef struct ls__recording {
    ls__step step; /* the first: phases are given this */
    const ls_record_options *options; /* without a path nothing is written */
    ls_record *record;                /* NULL: nothing is */
    ls__record_rows rows;             /* of the batch in their data */
    ls__touch_fn *touch;
    void *user;
    int of; /* the device that is shown, -1: all */
    ls__beside own;
    float *mean;
    int device, micro; /* running now */
    int status;        /* of the writing: the first one below 0 ends that, and
                          not the step */
} ls__recording;

/* ls_trainer_record, with arguments that were checked; without a path nothing
 * is written; touch NULL: nobody. */
int ls__record_step(ls_trainer *t, const ls_batch *batch,
                    const ls_record_options *o, ls__touch_fn *touch,
                    void *user, ls_result *result);

/* Find the batch's rows in their data and begin the file.  A status. */
int ls__recording_begin(ls__recording *r);

/* Show an array, a double, the rows of a shard or of the batch. */
void ls__recording_array(ls__recording *r, const ls__where *w,
                         const void *words, int64_t n, ls__word_kind kind);
void ls__recording_double(ls__recording *r, const char *phase,
                          const char *what, double x);
void ls__recording_rows(ls__recording *r, const char *phase,
                        const ls_shard *shard);

/* Show which rows of the data a batch of so many has, where that is known. */
void ls__recording_numbers(ls__recording *r, int64_t rows);

/* Run all devices, those that meet on the way together, and show what they
 * make. */
void ls__recording_devices(ls__recording *r);

#endif
