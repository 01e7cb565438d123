/* SPDX-License-Identifier: BSD-3-Clause */
/* A record while its step is made: its head, then each array in the order in
 * which it is made. */
#ifndef LS_AUDIT_RECORD_WRITE_H
#define LS_AUDIT_RECORD_WRITE_H

#include "audit/record_file.h"
#include "audit/record_rows.h"
#include "audit/record_step.h"
#include "plan/plan.h"

struct ls_record {
    ls__record_file file;
    const ls_trainer *trainer;
    json_t *head; /* but the state after the step */
};

typedef struct ls__writing {
    const ls_trainer *trainer;
    const ls_record_options *options; /* without a path nothing is written */
    ls_record *record;                /* NULL: nothing is */
    ls__record_rows rows;             /* of the batch in their data */
    ls__touch_fn *touch;
    void *user;
} ls__writing;

/* Each returns a status. */
int ls__writing_begin(ls__writing *w, const ls__plan *plan);
int ls__writing_array(ls__writing *w, const ls__where *at, void *words,
                      int64_t n, ls__word_kind kind);

/* Show which rows of the data a batch of so many has, where that is known. */
int ls__writing_rows(ls__writing *w, int64_t rows);

/* Give the record up; NULL is accepted. */
void ls__record_drop(ls_record *record);

#endif
