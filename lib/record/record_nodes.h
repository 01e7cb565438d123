/* SPDX-License-Identifier: BSD-3-Clause */
/* The nodes of a plan as objects. */
#ifndef LS_RECORD_RECORD_NODES_H
#define LS_RECORD_RECORD_NODES_H

#include "plan/plan.h"
#include "record/record_step.h"

/* Show them, inputs first; returns the first status below 0. */
int ls__show_nodes(const ls__onlooker *show, const ls__plan *plan);

#endif
