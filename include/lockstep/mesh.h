/* SPDX-License-Identifier: BSD-3-Clause */
/* Meshes: devices, their axes, and where workers sit. */
#ifndef LOCKSTEP_MESH_H
#define LOCKSTEP_MESH_H

#include <lockstep/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A mesh is a plan, without threads: how many devices there are and along
 * which named axes, and on which processing unit (PU) each worker will sit. */
typedef struct ls_mesh ls_mesh;

/* A function that is told a sentence for the program's log.  The text has no
 * newline and is valid during the call. */
typedef void ls_log_fn(void *user, const char *text);

/* The options of a mesh; ls_mesh_open copies them. */
typedef struct ls_mesh_options {
    size_t size; /* ls_mesh_defaults() writes it */
    int devices;          /* 0: 8, or the product of axes if given */
    int workers;          /* 0: min(devices, usable cores); where they are
                             more than devices, several share a device */
    const char *axes;     /* "data:4" or "data:2,model:2"; NULL: "data" */
    const char *topology; /* hwloc synthetic text, whose cores have a PU each
                             where it ends with them, or a FILE.xml of lstopo's;
                             NULL: this machine */
    const char *cpus;     /* the processors that workers may sit on, by the
                             operating system's numbers: "8-15", "0,2,4-7";
                             NULL: all that the calling thread may use */
    bool details;         /* look at all caches too, for ls_mesh_level */
    ls_log_fn *log;       /* called with each ls_mesh_note while the mesh
                             opens; NULL: not called */
    void *log_user;
    bool pin;             /* a pool's workers sit on a PU each even where they
                             leave some of the usable cores to other programs,
                             which may begin with the same ones */
} ls_mesh_options;

/* Returns options that ask for 8 devices along "data" on this machine's usable
 * cores. */
LS_API void ls_mesh_defaults_bytes(ls_mesh_options *options, size_t size);
static inline ls_mesh_options ls_mesh_defaults(void)
{
    ls_mesh_options o;

    ls_mesh_defaults_bytes(&o, sizeof o);
    return o;
}

/* Plan a mesh; options NULL means the defaults.  Usable cores are those the
 * calling thread may run on (cpuset and affinity), but no more than its CPU
 * quota, rounded down to one or more (cgroup v1 and v2, the least of its
 * group's and of all groups' above).  A core takes one worker; workers are
 * placed on the fastest kind of cores first, and neighbours share caches and
 * NUMA nodes.
 * Workers that take all cores that the calling thread may run on, or that cpus
 * names, are pinned to a PU each by a pool; fewer may run on any of these,
 * since another program may have planned the same ones.
 * More workers than usable cores is allowed and is oversubscription; the second
 * PUs of the cores come first then.
 * LS_EINVAL: a count that is negative or beyond 65536, malformed axes, topology
 * or cpus, or a processor that is not there, is offline or may not be used.
 * LS_EIO, LS_EFORMAT: a topology file. */
LS_API int ls_mesh_open(ls_mesh **mesh, const ls_mesh_options *options);
/* Free the mesh.  Pools keep a copy of their own, so this is safe once they are
 * open. */
LS_API void ls_mesh_close(ls_mesh *mesh);

/* Returns the number of devices, which is the product of the axes' sizes. */
LS_API int ls_mesh_devices(const ls_mesh *mesh);
/* Returns the number of threads that a pool will have, the caller included. */
LS_API int ls_mesh_workers(const ls_mesh *mesh);
/* Returns the number of usable cores, as ls_mesh_open counts them. */
LS_API int ls_mesh_usable_cores(const ls_mesh *mesh);

/* Returns the size of a named axis, or 0 when the mesh has no such axis. */
LS_API int ls_mesh_axis_size(const ls_mesh *mesh, const char *axis);

/* Returns a text such as "8 devices on 2 workers (PU 0, 1)", which says
 * "oversubscribed" when there are more workers than usable cores. */
LS_API const char *ls_mesh_text(const ls_mesh *mesh);

/* Returns sentence i = 0, 1, .. of what the user should know about the plan;
 * NULL past the last.  There is a sentence where a cpuset, a binding (mpirun's
 * default) or a quota leaves fewer cores than workers were wanted; workers are
 * more than cores; cores stay idle because devices are fewer; some workers sit
 * on a slower kind; Linux moves pages between NUMA nodes by itself. */
LS_API const char *ls_mesh_note(const ls_mesh *mesh, int i);

#ifdef __cplusplus
}
#endif

#endif
