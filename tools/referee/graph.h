/* SPDX-License-Identifier: BSD-3-Clause */
/* The graph in a record's head, as the referee understands it by itself. */
#ifndef REFEREE_GRAPH_H
#define REFEREE_GRAPH_H

#include "record.h"

/* Take in nodes of the first record's head. */
void graph_read(void);

/* Take in the parameters of a record's head; returns why they are none, or
 * NULL. */
const char *slots_differ(const record *r);

/* Words are read from now on, of that record. */
void words_begin(record *r);

#endif
