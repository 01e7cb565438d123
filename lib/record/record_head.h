/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines that a record begins with. */
#ifndef LS_RECORD_RECORD_HEAD_H
#define LS_RECORD_RECORD_HEAD_H

#include "graph/graph.h"
#include "plan/plan.h"
#include "record/record_file.h"

/* Write them, of a record of one device, or -1, of all. */
int ls__record_head(ls__record_file *f, const ls_trainer *t,
                    const ls__plan *plan, int device);

/* Sizes as a text, "4x16"; returns it. */
const char *ls__shape_sizes(char out[LS__SHAPE_TEXT], int rank,
                            const int64_t *shape);

#endif
