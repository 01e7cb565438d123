/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes that operators read and write. */
#ifndef LS_PLAN_TRAFFIC_H
#define LS_PLAN_TRAFFIC_H

#include "plan/plan.h"

/* The memory traffic of one instruction, forward and backward, each array
 * counted once for each: values and gradients for each row, parameters and
 * their gradients for each chunk. */
typedef struct ls__traffic {
    double forward, backward;             /* bytes a row */
    double chunk_forward, chunk_backward; /* bytes a chunk */
} ls__traffic;

/* Counted from shapes and from what the operator's struct says, so that none
 * can be without. */
ls__traffic ls__instr_traffic(const ls__plan *plan, const ls__instr *in);

#endif
