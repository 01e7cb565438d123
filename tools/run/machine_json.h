/* SPDX-License-Identifier: BSD-3-Clause */
/* A machine as JSON: what lockstep-info shows of it, and a report of speed. */
#ifndef TOOLS_MACHINE_JSON_H
#define TOOLS_MACHINE_JSON_H

#include <jansson.h>
#include <lockstep.h>

/* An object: the CPU, levels, kinds of cores, usable cores and why, the mesh
 * and what is to be known about it; and, where this machine is meant, the
 * instruction levels and BLIS.  NULL: no memory. */
json_t *machine_json(const ls_mesh *mesh, bool here);

#endif
