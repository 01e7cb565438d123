/* SPDX-License-Identifier: BSD-3-Clause */
/* A description of the machine: its levels, its kinds of cores, and the place
 * of a processing unit (PU).  The public calls of a mesh hand this on. */
#ifndef LS_MACHINE_MACHINE_H
#define LS_MACHINE_MACHINE_H

#include <lockstep/machine.h>
#include "machine/topology.h"

/* The same as ls_mesh_level, ls_mesh_kind and ls_mesh_cpu. */
bool ls__machine_level(const ls__topology *topology, int i, ls_level *level);
bool ls__machine_kind(const ls__topology *topology, int i, ls_core_kind *kind);
const char *ls__machine_cpu(const ls__topology *topology);

/* The place of a PU; its kind and the devices are left at 0. */
ls_place ls__machine_place(const ls__topology *topology, struct hwloc_obj *pu);

#endif
