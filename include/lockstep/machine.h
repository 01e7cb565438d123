/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine as a mesh sees it: cores, caches, and where workers sit. */
#ifndef LOCKSTEP_MACHINE_H
#define LOCKSTEP_MACHINE_H

#include <lockstep/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The operating system's number of the PU that a worker is planned on; -1: no
 * such worker. */
LS_API int ls_mesh_worker_pu(const ls_mesh *mesh, int worker);

/* Returns a text of the limits on usable cores, a number of cores for each in
 * turn: "2 usable cores: machine 64, cpuset 32, affinity 4, quota 1.5
 * CPUs (/sys/fs/cgroup/job/cpu.max)"; and "cpus 3" where that leaves fewer. */
LS_API const char *ls_mesh_cores_text(const ls_mesh *mesh);

/* The CPU's name, "AMD EPYC"; empty when nobody says. */
LS_API const char *ls_mesh_cpu(const ls_mesh *mesh);

/* The planned place of a worker.  Numbers below are hwloc's logical ones, -1
 * where the machine tells none. */
typedef struct ls_place {
    int pu;      /* the operating system's number */
    int core, l3, numa, package;
    int kind;    /* of ls_mesh_kind: 0 is the fastest */
    int device, devices; /* its first one, and how many it runs */
} ls_place;

/* Stores the place of worker 0, 1, .. and returns true; false past the last. */
LS_API bool ls_mesh_place_bytes(const ls_mesh *mesh, int worker,
                                ls_place *place, size_t size);
static inline bool ls_mesh_place(const ls_mesh *mesh, int worker,
                                 ls_place *place)
{
    return ls_mesh_place_bytes(mesh, worker, place, sizeof *place);
}

/* A level of the machine: how many it has, allowed here or not, and for caches
 * and NUMA memory the bytes of the smallest and of the largest. */
typedef struct ls_level {
    const char *name; /* package die numa L3 L2 L1d core PU */
    int count;
    int64_t least, most; /* 0 where there is nothing to measure */
} ls_level;

/* Stores level i = 0, 1, .. and returns true; false past the last.  L2 and L1d,
 * and levels that group nothing, are known only if the mesh was opened with
 * details. */
LS_API bool ls_mesh_level_bytes(const ls_mesh *mesh, int i, ls_level *level,
                                size_t size);
static inline bool ls_mesh_level(const ls_mesh *mesh, int i, ls_level *level)
{
    return ls_mesh_level_bytes(mesh, i, level, sizeof *level);
}

/* A kind of cores, as hybrid CPUs have several. */
typedef struct ls_core_kind {
    char name[32]; /* "IntelCore"; empty when nobody says */
    int cores;     /* the machine's */
    int allowed;   /* of them, by cpuset and affinity */
} ls_core_kind;

/* Stores kind i = 0, 1, .., the fastest first, and returns true; false past the
 * last. */
LS_API bool ls_mesh_kind_bytes(const ls_mesh *mesh, int i, ls_core_kind *kind,
                               size_t size);
static inline bool ls_mesh_kind(const ls_mesh *mesh, int i, ls_core_kind *kind)
{
    return ls_mesh_kind_bytes(mesh, i, kind, sizeof *kind);
}

#ifdef __cplusplus
}
#endif

#endif
