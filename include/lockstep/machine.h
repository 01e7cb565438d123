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

/* Traffic of a training step over the link from one NUMA node to another.  Each
 * pair is what would be read without the measures below, and what is read.  No
 * byte of a result depends on it.
 *
 * Gradients, in floats of 4 bytes for each parameter of the model: a device's
 * gradient lies on the node of its worker, and each worker adds all of them
 * over an equal part of the parameters.  Where it makes less cross the links,
 * the workers of a node first add the gradients of its own devices, and only
 * these sums are read elsewhere.  Who shares the device of a worker on another
 * node reads its gradient once more.
 *
 * Weights, likewise, as products read them: packed for the forward pass and
 * for the backward one, an equal part by each worker.  Workers below one L3
 * would read all of it together for each chunk of rows; instead the workers of
 * a node pack them for themselves, which reads parameters once a step.
 *
 * Rows, as a share of the batch: it would lie where its loader made it.
 *
 * Positions of a generator that workers share (ls_generator_share), in floats
 * for each parameter: each worker reads an equal part of the packed weights.
 * They would lie where the first worker is; instead each node copies them once
 * for a sequence. */
typedef struct ls_link {
    int from, to;  /* nodes as in ls_place; the reader sits on `to` */
    bool packages; /* they lie in different packages */
    double flat;   /* floats, if all gradients were added at once, */
    double floats; /* and as they are added */
    double weights_flat; /* floats for a chunk, if nodes shared them packed, */
    double weights;      /* and for a step, as each node packs its own */
    double rows_flat;    /* of the batch, if it lay on one node, */
    double rows;         /* and as loaders place it: 0 */
    double position_flat; /* floats for a position, of one copy, */
    double position;      /* and as each node has its own: 0 */
} ls_link;

/* Stores link i = 0, 1, .. between nodes that workers sit on and returns true;
 * false past the last, where all sit on one, or without memory. */
LS_API bool ls_mesh_link_bytes(const ls_mesh *mesh, int i, ls_link *link,
                               size_t size);
static inline bool ls_mesh_link(const ls_mesh *mesh, int i, ls_link *link)
{
    return ls_mesh_link_bytes(mesh, i, link, sizeof *link);
}

#ifdef __cplusplus
}
#endif

#endif
