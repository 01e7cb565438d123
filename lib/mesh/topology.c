/* Discovery of usable cores, and binding.
 *
 * A core is usable when the cpuset (cgroup) allows one of its PUs and the
 * calling thread's affinity mask does too; hwloc's default topology knows the
 * first and not the second.  Of each core the first such PU is taken: two
 * workers on one core would share its vector units and gain nothing.
 *
 * Discovery asks for cores and for the levels above that bring neighbours
 * together (packages, dies, shared caches), and for nothing else: no devices,
 * no distances, which take seconds to read on some wide machines (hwloc issue
 * 756); and it does not visit each PU to ask it by cpuid, which waits whenever
 * one is busy, since Linux knows the same.  Where Linux tells of no cores (some
 * sandboxes), each PU counts as one.
 *
 * Not here yet: CPU quotas (cpu.max), kinds of cores, NUMA homes. */
#include "mesh/topology.h"
#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

enum { SYNTHETIC_LIMIT = 4096 }; /* PUs */

static unsigned long quick_flags(void)
{
#if HWLOC_API_VERSION >= 0x00020800
    return HWLOC_TOPOLOGY_FLAG_NO_DISTANCES |
           HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS | HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;
#else
    return 0;
#endif
}

/* Types to discover beside NUMA nodes and PUs.  Without the levels that group
 * cores, their logical order would only be that of their numbers. */
static void quick_types(hwloc_topology_t handle)
{
    static const hwloc_obj_type_t grouping[] = {
        HWLOC_OBJ_PACKAGE, HWLOC_OBJ_DIE, HWLOC_OBJ_GROUP, HWLOC_OBJ_L3CACHE};

    hwloc_topology_set_all_types_filter(handle, HWLOC_TYPE_FILTER_KEEP_NONE);
    for (size_t i = 0; i < sizeof grouping / sizeof *grouping; i++)
        hwloc_topology_set_type_filter(handle, grouping[i],
                                       HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
    hwloc_topology_set_type_filter(handle, HWLOC_OBJ_CORE,
                                   HWLOC_TYPE_FILTER_KEEP_ALL);
}

/* The PUs that a synthetic text asks for, or one more than the limit: hwloc
 * 2.9 takes 4 s for 4096 of them and over a minute for 16384.  What is no
 * sensible number is left for hwloc to refuse. */
static int64_t synthetic_pus(const char *text)
{
    int64_t pus = 1;
    int depth = 0; /* of attributes in parentheses */
    char before = ' ';

    for (; *text; before = *text++) {
        depth += (*text == '(') - (*text == ')');
        if (depth || (before != ' ' && before != ':'))
            continue;
        long n = strtol(text, NULL, 10);
        if (n > SYNTHETIC_LIMIT / pus)
            return SYNTHETIC_LIMIT + 1;
        pus *= n > 0 ? n : 1;
    }
    return pus;
}

static void quick_discovery(hwloc_topology_t handle)
{
    hwloc_topology_set_flags(handle, quick_flags());
    hwloc_topology_set_components(
        handle, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    quick_types(handle);
}

static int load(hwloc_topology_t handle, const char *synthetic)
{
    quick_discovery(handle);
    if (synthetic && synthetic_pus(synthetic) > SYNTHETIC_LIMIT)
        return ls__fail(LS_EINVAL, "topology \"%s\": more than %d PUs",
                        synthetic, SYNTHETIC_LIMIT);
    if (synthetic && hwloc_topology_set_synthetic(handle, synthetic) < 0)
        return ls__fail(LS_EINVAL,
                        "topology \"%s\": not a hwloc synthetic description "
                        "such as \"pack:2 core:4 pu:2\"", synthetic);
    if (hwloc_topology_load(handle) < 0)
        return ls__fail(LS_ENOTSUP, "topology: hwloc cannot load it: %s",
                        strerror(errno));
    return 0;
}

/* The PUs allowed by the cpuset and by the calling thread's affinity. */
static hwloc_bitmap_t usable_set(const ls__topology *t)
{
    hwloc_bitmap_t set =
        hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(t->handle));
    hwloc_bitmap_t mask = t->bindable ? ls__topology_save(t) : NULL;

    if (set && mask && hwloc_bitmap_intersects(set, mask))
        hwloc_bitmap_and(set, set, mask);
    hwloc_bitmap_free(mask);
    return set;
}

/* Take the first usable PU of each core.  The PUs of a core are neighbours in
 * logical order; a machine that reports no cores counts its PUs. */
static void take_cores(ls__topology *t, hwloc_const_bitmap_t usable)
{
    hwloc_obj_t pu = NULL, taken = NULL;

    while ((pu = hwloc_get_next_obj_by_type(t->handle, HWLOC_OBJ_PU, pu))) {
        hwloc_obj_t core =
            hwloc_get_ancestor_obj_by_type(t->handle, HWLOC_OBJ_CORE, pu);

        if (!hwloc_bitmap_isset(usable, pu->os_index) ||
            (core && core == taken))
            continue;
        taken = core;
        t->pu[t->cores++] = (int)pu->os_index;
    }
}

static int find_cores(ls__topology *t)
{
    int n = hwloc_get_nbobjs_by_type(t->handle, HWLOC_OBJ_PU);
    hwloc_bitmap_t usable = usable_set(t);

    if (!usable)
        return ls__no_memory("topology", sizeof(long));
    t->pu = ls__new((size_t)n, sizeof *t->pu, "topology");
    if (t->pu)
        take_cores(t, usable);
    hwloc_bitmap_free(usable);
    if (!t->pu)
        return LS_ENOMEM;
    return t->cores ? 0 : ls__fail(LS_ENOTSUP, "topology: no usable core");
}

int ls__topology_open(ls__topology *topology, const char *synthetic)
{
    ls__topology t = {0};
    int status;

    if (hwloc_topology_init(&t.handle) < 0)
        return ls__no_memory("topology", sizeof(void *));
    status = load(t.handle, synthetic);
    if (!status) {
        t.bindable = hwloc_topology_is_thissystem(t.handle);
        status = find_cores(&t);
    }
    if (status)
        ls__topology_close(&t);
    else
        *topology = t;
    return status;
}

int ls__topology_copy(ls__topology *to, const ls__topology *from)
{
    ls__topology t = *from;
    size_t bytes = (size_t)from->cores * sizeof *from->pu;

    t.handle = NULL;
    t.pu = ls__new((size_t)from->cores, sizeof *from->pu, "topology");
    if (!t.pu)
        return LS_ENOMEM;
    memcpy(t.pu, from->pu, bytes);
    if (hwloc_topology_dup(&t.handle, from->handle) < 0) {
        free(t.pu);
        return ls__no_memory("topology", bytes);
    }
    *to = t;
    return 0;
}

void ls__topology_close(ls__topology *topology)
{
    if (topology->handle)
        hwloc_topology_destroy(topology->handle);
    free(topology->pu);
    memset(topology, 0, sizeof *topology);
}

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

void ls__topology_restore(const ls__topology *topology, ls__affinity *saved)
{
    if (saved)
        (void)hwloc_set_cpubind(topology->handle, saved, HWLOC_CPUBIND_THREAD);
    hwloc_bitmap_free(saved);
}
