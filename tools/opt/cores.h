/* SPDX-License-Identifier: BSD-3-Clause */
/* Cores for workers, which only a mesh can tell. */
#ifndef TOOLS_CORES_H
#define TOOLS_CORES_H

#include <lockstep/machine.h>

/* Returns the usable cores of a mesh of such options but one worker; or a
 * negative status of lockstep's, with its message. */
static inline int cores_of(ls_mesh_options o)
{
    ls_mesh *mesh;
    int status, cores;

    o.workers = 1;
    if ((status = ls_mesh_open(&mesh, &o)) < 0)
        return status;
    cores = ls_mesh_usable_cores(mesh);
    ls_mesh_close(mesh);
    return cores;
}

#endif
