/* SPDX-License-Identifier: BSD-3-Clause */
/* A machine described: levels, kinds of cores, where a PU lies.  Only reads the
 * topology. */
#include "machine/machine.h"

#include <hwloc.h>
#include <stdio.h>
#include <string.h>

/* ------ Levels ------ */

/* clang-format off */
static const struct {
    const char *name;
    hwloc_obj_type_t type;
} levels[] = {
    { "package", HWLOC_OBJ_PACKAGE },
    { "die", HWLOC_OBJ_DIE },
    { "numa", HWLOC_OBJ_NUMANODE },
    { "L3", HWLOC_OBJ_L3CACHE },
    { "L2", HWLOC_OBJ_L2CACHE },
    { "L1d", HWLOC_OBJ_L1CACHE },
    { "core", HWLOC_OBJ_CORE },
    { "PU", HWLOC_OBJ_PU },
};
/* clang-format on */

static int64_t bytes_of(hwloc_obj_t o)
{
    if (o->type == HWLOC_OBJ_NUMANODE)
        return (int64_t)o->attr->numanode.local_memory;
    return hwloc_obj_type_is_cache(o->type) ? (int64_t)o->attr->cache.size : 0;
}

static ls_level level_of(hwloc_topology_t handle, size_t i)
{
    ls_level level = {.name = levels[i].name};
    hwloc_obj_t o = NULL;

    while ((o = hwloc_get_next_obj_by_type(handle, levels[i].type, o))) {
        int64_t bytes = bytes_of(o);

        if (!level.count++ || bytes < level.least)
            level.least = bytes;
        if (bytes > level.most)
            level.most = bytes;
    }
    return level;
}

bool ls__machine_level(const ls__topology *t, int i, ls_level *level)
{
    for (size_t l = 0; i >= 0 && l < sizeof levels / sizeof *levels; l++) {
        ls_level found = level_of(t->handle, l);

        if (found.count && i-- == 0) {
            *level = found;
            return true;
        }
    }
    return false;
}

const char *ls__machine_cpu(const ls__topology *t)
{
    hwloc_obj_t from[] = {
        hwloc_get_obj_by_type(t->handle, HWLOC_OBJ_PACKAGE, 0),
        hwloc_get_root_obj(t->handle)};
    const char *name = NULL;

    for (size_t i = 0; i < 2 && !name; i++)
        if (from[i])
            name = hwloc_obj_get_info_by_name(from[i], "CPUModel");
    return name ? name : "";
}

/* ------ Kinds of cores ------ */

/* The operating system's name for the kind of a PU. */
static void name_kind(hwloc_topology_t handle, hwloc_obj_t pu, char name[32])
{
    int kind = hwloc_cpukinds_get_by_cpuset(handle, pu->cpuset, 0);
    struct hwloc_info_s *info;
    unsigned n;

    if (kind < 0 || hwloc_cpukinds_get_info(handle, (unsigned)kind, NULL, NULL,
                                            &n, &info, 0) < 0)
        return;
    for (unsigned i = 0; i < n; i++)
        if (!strcmp(info[i].name, "CoreType"))
            snprintf(name, 32, "%s", info[i].value);
}

/* Counts the cores that all limits but the quota leave, the first places. */
static int allowed_of_kind(const ls__topology *t, int kind)
{
    int n = 0;

    for (int i = 0; i < t->limits.chosen; i++)
        n += t->place[i].kind == kind;
    return n;
}

/* A core is of the kind of its first PU; without cores PUs are counted. */
bool ls__machine_kind(const ls__topology *t, int i, ls_core_kind *kind)
{
    ls_core_kind found = {.cores = 0};
    hwloc_obj_t pu = NULL, last = NULL;

    while ((pu = hwloc_get_next_obj_by_type(t->handle, HWLOC_OBJ_PU, pu))) {
        hwloc_obj_t core =
            hwloc_get_ancestor_obj_by_type(t->handle, HWLOC_OBJ_CORE, pu);
        bool second = core && core == last;

        last = core;
        if (second || ls__topology_slow(t, pu) != i)
            continue;
        if (!found.cores++)
            name_kind(t->handle, pu, found.name);
    }
    if (!found.cores)
        return false;
    found.allowed = allowed_of_kind(t, i);
    *kind = found;
    return true;
}

/* ------ Places ------ */

static int above(const ls__topology *t, hwloc_obj_t pu, hwloc_obj_type_t type)
{
    hwloc_obj_t o = hwloc_get_ancestor_obj_by_type(t->handle, type, pu);

    return o ? (int)o->logical_index : -1;
}

/* NUMA nodes are not in the tree: those of a PU are its nodeset. */
static int numa_of(const ls__topology *t, hwloc_obj_t pu)
{
    int first = hwloc_bitmap_first(pu->nodeset);
    hwloc_obj_t node =
        first < 0 ? NULL
                  : hwloc_get_numanode_obj_by_os_index(t->handle,
                                                       (unsigned)first);

    return node ? (int)node->logical_index : -1;
}

ls_place ls__machine_place(const ls__topology *t, struct hwloc_obj *pu)
{
    return (ls_place){
        .pu = (int)pu->os_index,
        .core = above(t, pu, HWLOC_OBJ_CORE),
        .l3 = above(t, pu, HWLOC_OBJ_L3CACHE),
        .numa = numa_of(t, pu),
        .package = above(t, pu, HWLOC_OBJ_PACKAGE),
    };
}
