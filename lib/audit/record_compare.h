/* SPDX-License-Identifier: BSD-3-Clause */
/* The first difference of two records. */
#ifndef LS_AUDIT_RECORD_COMPARE_H
#define LS_AUDIT_RECORD_COMPARE_H

#include "audit/record_read.h"
#include <lockstep/record.h>

/* Two records of one step; `first` is what ls_record_compare gives. */
typedef struct ls__two_records {
    ls__record of[2];
    int64_t at; /* the array that differs; -1: none does */
    ls_record_difference *first;
} ls__two_records;

/* ls_record_compare; shut after a failure, too. */
int ls__record_first(const char *a, const char *b, ls__two_records *two);
void ls__two_records_shut(ls__two_records *two);

#endif
