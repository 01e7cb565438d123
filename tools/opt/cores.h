/* SPDX-License-Identifier: BSD-3-Clause */
/* Cores for workers, which only a mesh can tell. */
#ifndef TOOLS_CORES_H
#define TOOLS_CORES_H

#include <lockstep/machine.h>

#include <string.h>

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

/* Stores the level of this name, as "L3", of a mesh with details; false: there
 * is none. */
static inline bool find_level(const ls_mesh *mesh, const char *name,
                              ls_level *level)
{
    for (int i = 0; ls_mesh_level(mesh, i, level); i++)
        if (!strcmp(level->name, name))
            return true;
    return false;
}

#endif
