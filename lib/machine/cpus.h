/* SPDX-License-Identifier: BSD-3-Clause */
/* Chosen processing units (PUs): a list such as "8-15" or "0,2,4-7", by the
 * operating system's numbers. */
#ifndef LS_MACHINE_CPUS_H
#define LS_MACHINE_CPUS_H

#include "machine/topology.h"

/* Fill a set with the PUs of a list, all of which must be in `may`, where this
 * thread may run.  LS_EINVAL: not such a list, or a PU that may not be used;
 * the message says why. */
int ls__cpus_choose(const ls__topology *topology, const char *list,
                    const ls__affinity *may, ls__affinity *set);

#endif
