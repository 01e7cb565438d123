/* SPDX-License-Identifier: BSD-3-Clause */
/* A step that is being recorded. */
#ifndef LS_AUDIT_RECORD_STEP_H
#define LS_AUDIT_RECORD_STEP_H

#include "audit/where.h"
#include <lockstep/record.h>

/* Told of each array before it is hashed.  Tests spoil a number here, with
 * which the step goes on; nobody else does. */
typedef void ls__touch_fn(void *user, const ls__where *where, float *values,
                          int64_t floats);

/* ls_trainer_record, with arguments that were checked; without a path nothing
 * is written; touch NULL: nobody. */
int ls__record_step(ls_trainer *t, const ls_batch *batch,
                    const ls_record_options *o, ls__touch_fn *touch,
                    void *user, ls_result *result);

#endif
