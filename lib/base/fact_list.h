/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts: names with texts, in the order of telling differences.  What must be
 * equal, on all ranks or when a run goes on, is a list of these. */
#ifndef LS_BASE_FACT_LIST_H
#define LS_BASE_FACT_LIST_H

#include "base/memory.h"
#include <lockstep/base.h>

#include <jansson.h>

/* A cleared one is empty. */
typedef struct ls__facts {
    ls__arena arena;
    ls_setting *fact;
    int count, room;
    bool failed; /* there was no memory for one of them */
} ls__facts;

/* Add a fact, whole, however long it is.  Where there is no memory the list has
 * failed, and stays as it is. */
__attribute__((format(printf, 3, 4))) void
ls__facts_put(ls__facts *f, const char *name, const char *format, ...);

/* Add a number: the shortest text that reads back as it. */
void ls__facts_put_real(ls__facts *f, const char *name, double x);

/* SHA-256 of names and texts, as 64 hex digits. */
void ls__facts_hash(int count, const ls_setting *fact, char hex[65]);

/* A text that fits: all of it, or its beginning and its hash, so that two that
 * differ are seen to. */
void ls__facts_part(char *to, size_t room, const char *text);

/* A new object of the texts, NULL: no memory; the list is given up. */
json_t *ls__facts_json(ls__facts *f);

/* Accepts a cleared list. */
void ls__facts_free(ls__facts *f);

#endif
