/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing the file of a recorded step (record_form.h). */
#ifndef LS_AUDIT_RECORD_FILE_H
#define LS_AUDIT_RECORD_FILE_H

#include "audit/record_form.h"
#include "audit/where.h"
#include "base/memory.h"
#include "base/names.h"
#include "file/file.h"
#include "model/params.h"
#include <lockstep/record.h>

#include <jansson.h>

struct ls_record {
    ls__aside file;
    const ls_trainer *trainer;
    json_t *head;             /* but the state after the step, until the end */
    const ls__params *layout; /* of arrays with padding */
    bool values;
    int64_t at;               /* bytes that were written */
    ls__record_entry *entry;
    int64_t entries, most;
    ls__names known;          /* name -> its place among the names */
    ls__arena texts;          /* of known */
    size_t bytes;             /* of all names */
};

/* Begin the file of a cleared record.  LS_EIO, LS_ENOMEM; dropped after a
 * failure, too. */
int ls__record_create(ls_record *r, const char *path, const ls__params *layout,
                      bool values);

/* Write an array.  Of floats each NaN is 7fc00000, a denormal a zero of its
 * sign and padding 0, and a double's NaN is 7ff8000000000000: where those may
 * differ, nothing that counts does. */
int ls__record_array(ls_record *r, const ls__where *place, const void *words,
                     int64_t n, ls__word_kind kind);

/* Write the tail: the file has its name then. */
int ls__record_finish(ls_record *r);

/* Free a record, or NULL; what was not finished is gone. */
void ls__record_drop(ls_record *r);

#endif
