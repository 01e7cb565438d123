/* Which processing units (PUs) this process may use, and how a thread is put
 * on one.  The only place, with topology.c, that knows of hwloc.
 *
 * Invariants: pu[] holds one PU per usable core, in the topology's logical
 * order, so neighbours share caches; there is at least one.  The handle is
 * only read after ls__topology_open, so threads may share it. */
#ifndef LS_MESH_TOPOLOGY_H
#define LS_MESH_TOPOLOGY_H

#include <stdbool.h>

struct hwloc_topology;
struct hwloc_bitmap_s;

typedef struct ls__topology {
    struct hwloc_topology *handle;
    int cores;     /* usable ones */
    int *pu;       /* [cores] the operating system's number of each one's PU */
    bool bindable; /* false: a synthetic machine, a plan only */
} ls__topology;

/* A set of PUs: where a thread may run. */
typedef struct hwloc_bitmap_s ls__affinity;

/* Discover this machine, or build the synthetic one that the text describes
 * (NULL: none).  LS_EINVAL: not a synthetic text.  LS_ENOTSUP: hwloc cannot
 * tell anything here. */
int ls__topology_open(ls__topology *topology, const char *synthetic);
int ls__topology_copy(ls__topology *to, const ls__topology *from);
/* Accepts a cleared struct. */
void ls__topology_close(ls__topology *topology);

/* Put the calling thread on one PU and verify that it runs there.  Returns 0
 * or an errno. */
int ls__topology_bind(const ls__topology *topology, int pu);

/* Where the calling thread may run, NULL when it cannot be had; restoring it
 * also frees it and accepts NULL. */
ls__affinity *ls__topology_save(const ls__topology *topology);
void ls__topology_restore(const ls__topology *topology, ls__affinity *saved);

#endif
