/* SPDX-License-Identifier: BSD-3-Clause */
/* A recorded step at work: what its phases (record_step.c) and its devices
 * (record_devices.c) share. */
#ifndef LS_AUDIT_RECORDING_H
#define LS_AUDIT_RECORDING_H

#include "audit/record_write.h"
#include "train/device.h"
#include "train/step.h"

typedef struct ls__recording {
    ls__step step; /* the first: phases are given this */
    ls__writing out;
    int of; /* the device that is shown, -1: all */
    ls__beside own;
    float *mean;
    int device, micro; /* running now */
    int status;        /* of the writing: the first one below 0 ends that, and
                          not the step */
} ls__recording;

/* Show an array, a double, the rows of a shard or of the batch. */
void ls__recording_array(ls__recording *r, const ls__where *w,
                         const void *words, int64_t n, ls__word_kind kind);
void ls__recording_double(ls__recording *r, const char *phase,
                          const char *what, double x);
void ls__recording_rows(ls__recording *r, const char *phase,
                        const ls_shard *shard);

/* Run all devices, those that meet on the way together, and show what they
 * make. */
void ls__recording_devices(ls__recording *r);

#endif
