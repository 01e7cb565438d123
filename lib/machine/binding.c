/* SPDX-License-Identifier: BSD-3-Clause */
/* Thread affinity: one PU, or all but those of the workers. */
#include "machine/topology.h"

#include <errno.h>
#include <hwloc.h>

/* Strict binding moves the thread before it returns; a hypervisor or a cpuset
 * changed meanwhile may still lie, so ask where the thread is. */
static int bind_and_look(hwloc_topology_t handle, hwloc_bitmap_t set,
                         unsigned pu)
{
    hwloc_bitmap_only(set, pu);
    if (hwloc_set_cpubind(handle, set,
                          HWLOC_CPUBIND_THREAD | HWLOC_CPUBIND_STRICT) < 0 ||
        hwloc_get_last_cpu_location(handle, set, HWLOC_CPUBIND_THREAD) < 0)
        return errno ? errno : EINVAL;
    return hwloc_bitmap_isset(set, pu) ? 0 : EXDEV;
}

int ls__topology_bind(const ls__topology *topology, int pu)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    int error = set ? bind_and_look(topology->handle, set, (unsigned)pu)
                    : ENOMEM;

    hwloc_bitmap_free(set);
    return error;
}

/* Take the core of a PU out of a set. */
static void leave_out(hwloc_topology_t handle, hwloc_bitmap_t set, int pu)
{
    hwloc_obj_t core = hwloc_get_pu_obj_by_os_index(handle, (unsigned)pu);

    while (core && core->type != HWLOC_OBJ_CORE)
        core = core->parent;
    if (core)
        hwloc_bitmap_andnot(set, set, core->cpuset);
    hwloc_bitmap_clr(set, (unsigned)pu);
}

/* A wish: a thread that may not have it runs where it was made. */
void ls__topology_roam(const ls__topology *t, int workers)
{
    hwloc_bitmap_t all = hwloc_bitmap_alloc(), rest = hwloc_bitmap_alloc();

    for (int i = 0; all && rest && i < t->pus; i++)
        hwloc_bitmap_set(all, (unsigned)t->pu[i]);
    if (all && rest && t->bindable) {
        hwloc_bitmap_copy(rest, all);
        for (int i = 0; i < workers && i < t->pus; i++)
            leave_out(t->handle, rest, t->pu[i]);
        (void)hwloc_set_cpubind(t->handle,
                                hwloc_bitmap_iszero(rest) ? all : rest,
                                HWLOC_CPUBIND_THREAD);
    }
    hwloc_bitmap_free(all);
    hwloc_bitmap_free(rest);
}

ls__affinity *ls__topology_save(const ls__topology *topology)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();

    if (set &&
        hwloc_get_cpubind(topology->handle, set, HWLOC_CPUBIND_THREAD) < 0) {
        hwloc_bitmap_free(set);
        set = NULL;
    }
    return set;
}

void ls__topology_restore(const ls__topology *topology,
                          const ls__affinity *saved)
{
    (void)hwloc_set_cpubind(topology->handle, saved, HWLOC_CPUBIND_THREAD);
}

void ls__affinity_free(ls__affinity *affinity)
{
    hwloc_bitmap_free(affinity);
}
