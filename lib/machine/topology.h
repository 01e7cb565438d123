/* SPDX-License-Identifier: BSD-3-Clause */
/* Topology: the processing units (PUs) that this process may use, and the
 * binding of threads to them (affinity).  The only room that knows of hwloc.
 *
 * pu[] begins with one PU of each core that may be used, the
 * fastest kind of cores first, in the topology's logical order, so neighbours
 * share caches and NUMA nodes; then come the cores' second PUs in the same
 * order, and so on.  There is at least one.  The handle is only read after
 * ls__topology_open, so threads may share it. */
#ifndef LS_MACHINE_TOPOLOGY_H
#define LS_MACHINE_TOPOLOGY_H

#include <stdbool.h>

#include "machine/quota.h"
#include <lockstep/machine.h>

struct hwloc_topology;
struct hwloc_obj;
struct hwloc_bitmap_s;

/* Cores left after each limit in turn. */
typedef struct ls__limits {
    int machine;
    int cpuset;   /* the process's, set from outside (cgroup) */
    int affinity; /* the calling thread's (taskset, mpirun) */
    int chosen;   /* the program's own list of processors */
    ls__quota quota;
} ls__limits;

typedef struct ls__topology {
    struct hwloc_topology *handle;
    ls__limits limits;
    int cores;      /* usable: min(limits.chosen, quota rounded down) */
    int fast;       /* of limits.chosen, those of the fastest kind */
    int pus;        /* >= limits.chosen */
    int *pu;        /* [pus] the operating system's numbers */
    ls_place *place; /* [pus] where they lie, without devices */
    bool bindable;  /* false: a synthetic machine, a plan only */
    bool balancing; /* Linux moves pages between its NUMA nodes */
    const char *variable; /* in the environment, which may have told hwloc of
                             another machine; NULL: none */
} ls__topology;

/* Options of discovery: all zero is a quick look at this machine. */
typedef struct ls__topology_options {
    const char *plan; /* a synthetic text, or FILE.xml of hwloc's form; NULL:
                         this machine */
    const char *root; /* below it proc/ and sys/ tell of quotas and NUMA
                         balancing; NULL: they are not asked */
    const char *cpus; /* the processors to use, "8-15"; NULL: all that may be */
    bool details;     /* all caches too */
} ls__topology_options;

/* A set of PUs: where a thread may run. */
typedef struct hwloc_bitmap_s ls__affinity;

/* Discover this machine, or build the one that is described.  LS_EINVAL: not a
 * synthetic text, or processors that may not be used.  LS_EFORMAT: not such a
 * file.  LS_ENOTSUP: hwloc cannot tell anything here. */
int ls__topology_open(ls__topology *topology, const ls__topology_options *o);
int ls__topology_copy(ls__topology *to, const ls__topology *from);
/* Accepts a cleared struct. */
void ls__topology_close(ls__topology *topology);

/* The number of kinds of cores faster than a PU's: 0 where all are alike. */
int ls__topology_slow(const ls__topology *topology, struct hwloc_obj *pu);

/* Put the calling thread on one PU and verify that it runs there.  Returns 0
 * or an errno. */
int ls__topology_bind(const ls__topology *topology, int pu);

/* Let the calling thread run on all of pu[] but the cores of its first
 * `workers` and what shares them; on all of it where nothing else is left. */
void ls__topology_roam(const ls__topology *topology, int workers);

/* The calling thread's affinity, NULL when it cannot be had; and giving that
 * back to the calling thread. */
ls__affinity *ls__topology_save(const ls__topology *topology);
void ls__topology_restore(const ls__topology *topology,
                          const ls__affinity *saved);
void ls__affinity_free(ls__affinity *affinity);

#endif
