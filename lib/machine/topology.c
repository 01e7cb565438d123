/* SPDX-License-Identifier: BSD-3-Clause */
/* Discovery of usable cores.
 *
 * A core is usable when the cpuset (cgroup) allows one of its PUs and the
 * calling thread's affinity mask does too; hwloc knows the first and not the
 * second, and neither knows the CPU quota, which is a number and not a set
 * (quota.c).  The first such PU of each core is taken: two workers on one core
 * (SMT, hyper-threading) would share its vector units and gain nothing.  More
 * workers than cores get the second PUs next.
 *
 * The order of cores is hwloc's logical one: those below a common cache, NUMA
 * node or package follow each other.  Fast kinds come before slow ones (hybrid
 * CPUs), because a step waits for the slowest worker.  A kind may hold PUs that
 * are not allowed, so it only orders what is usable.
 *
 * Discovery asks for cores and for the levels above that bring neighbours
 * together (packages, dies, shared caches), and for nothing else: no devices,
 * no distances, which take seconds to read on some wide machines (hwloc issue
 * 756); and it does not visit each PU to ask it by cpuid, which waits whenever
 * one is busy, since Linux knows the same.  Where Linux tells of no cores (some
 * sandboxes), each PU counts as one. */
#include "machine/topology.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "machine/cpus.h"
#include "machine/machine.h"

#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SYNTHETIC_LIMIT = 4096, /* PUs */
    XML_LIMIT = 64 << 20    /* bytes */
};

/* hwloc 2.11 and 2.12 ask firmware for the frequency of each AMD core, which
 * takes seconds where there are many (issue 756); hybrid Intel CPUs, for which
 * kinds matter, are not asked that way, and a plan asks nobody. */
static bool kinds_are_slow(void)
{
    unsigned version = hwloc_get_api_version();

    return version >= 0x00020b00 && version < 0x00020d00 &&
           access("/sys/devices/cpu_atom", F_OK) != 0;
}

static unsigned long quick_flags(bool plan)
{
    unsigned long flags = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED;

#if HWLOC_API_VERSION >= 0x00020800
    flags |= HWLOC_TOPOLOGY_FLAG_NO_DISTANCES |
             HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS;
    if (!plan && kinds_are_slow())
        flags |= HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;
#endif
    return flags;
}

/* Types to discover, NUMA nodes and PUs apart.  Without the levels that group
 * cores, their logical order would only be that of their numbers. */
static void choose_types(hwloc_topology_t handle, bool details)
{
    static const hwloc_obj_type_t grouping[] = {
        HWLOC_OBJ_PACKAGE, HWLOC_OBJ_DIE, HWLOC_OBJ_GROUP, HWLOC_OBJ_L3CACHE};
    static const hwloc_obj_type_t all[] = {
        HWLOC_OBJ_PACKAGE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE,
        HWLOC_OBJ_L1CACHE};

    hwloc_topology_set_all_types_filter(handle, HWLOC_TYPE_FILTER_KEEP_NONE);
    for (size_t i = 0; i < sizeof grouping / sizeof *grouping; i++)
        hwloc_topology_set_type_filter(handle, grouping[i],
                                       HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
    for (size_t i = 0; details && i < sizeof all / sizeof *all; i++)
        hwloc_topology_set_type_filter(handle, all[i],
                                       HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_type_filter(handle, HWLOC_OBJ_CORE,
                                   HWLOC_TYPE_FILTER_KEEP_ALL);
}

/* Does Linux tell here of the cores of this PU? */
static bool told_of(int pu)
{
    static const char *const file[] = {"package_cpus", "core_cpus",
                                       "core_siblings", "thread_siblings"};
    char path[96];
    bool told = false;

    for (size_t i = 0; i < sizeof file / sizeof *file && !told; i++) {
        snprintf(path, sizeof path,
                 "/sys/devices/system/cpu/cpu%d/topology/%s", pu, file[i]);
        told = access(path, R_OK) == 0;
    }
    return told;
}

/* The first PU that is online; PU 0 need not be. */
static int first_online(void)
{
    FILE *file = fopen("/sys/devices/system/cpu/online", "re");
    int first = 0;

    if (file) {
        if (fscanf(file, "%d", &first) != 1)
            first = 0;
        fclose(file);
    }
    return first;
}

/* Say whom hwloc shall not ask.  Not x86: see above.  Not Linux where it tells
 * of no cores: hwloc would give up with a line on stderr, which nothing but its
 * environment can stop, and then count PUs as it does without Linux. */
static void choose_sources(hwloc_topology_t handle, bool plan)
{
    hwloc_topology_set_components(
        handle, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    if (!plan && !told_of(0) && !told_of(first_online()))
        hwloc_topology_set_components(
            handle, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "linux");
}

/* The environment variable that tells hwloc of a machine, if one is set. */
static const char *find_variable(void)
{
    static const char *const names[] = {
        "HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_FSROOT", "HWLOC_CPUID_PATH",
        "HWLOC_COMPONENTS", "HWLOC_THISSYSTEM"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]))
            return names[i];
    return NULL;
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

static int check_synthetic(const char *text)
{
    return synthetic_pus(text) <= SYNTHETIC_LIMIT
               ? 0
               : ls__fail(LS_EINVAL, "topology \"%.200s\": more than %d PUs",
                          text, SYNTHETIC_LIMIT);
}

/* Does a description end with cores, whose PUs hwloc wants to be told of? */
static bool ends_with_cores(const char *text)
{
    const char *last = strrchr(text, ' ');

    return strncmp(last ? last + 1 : text, "core:", 5) == 0;
}

/* Cores have one PU each where nothing is said of them. */
static int give_synthetic(hwloc_topology_t handle, const char *text)
{
    size_t room = strlen(text) + sizeof " pu:1";
    char *whole = ls__new(room, 1, "topology");
    int result;

    if (!whole)
        return LS_ENOMEM;
    snprintf(whole, room, "%s%s", text, ends_with_cores(text) ? " pu:1" : "");
    result = hwloc_topology_set_synthetic(handle, whole);
    free(whole);
    return result < 0 ? LS_EINVAL : 0;
}

static int set_synthetic(hwloc_topology_t handle, const char *text)
{
    int status = check_synthetic(text);

    if (status < 0 || (status = give_synthetic(handle, text)) == LS_ENOMEM)
        return status;
    if (status < 0)
        return ls__fail(LS_EINVAL, "topology \"%s\": not a hwloc synthetic "
                        "description such as \"pack:2 core:4 pu:2\"", text);
    return 0;
}

/* The reader of XML takes all there is into memory. */
static int check_xml(const char *path)
{
    struct stat info;

    if (stat(path, &info) < 0 || access(path, R_OK) < 0)
        return ls__fail(LS_EIO, "topology \"%s\": %s", path, strerror(errno));
    if (S_ISREG(info.st_mode) && info.st_size <= XML_LIMIT)
        return 0;
    return ls__fail(LS_EFORMAT, "topology \"%s\": %s", path,
                    S_ISREG(info.st_mode) ? "larger than any machine's"
                                          : "not a regular file");
}

static int set_xml(hwloc_topology_t handle, const char *path)
{
    int status = check_xml(path);

    if (status < 0)
        return status;
    if (hwloc_topology_set_xml(handle, path) < 0)
        return ls__fail(LS_EFORMAT, "topology \"%s\": not a file as lstopo "
                        "writes it", path);
    return 0;
}

static int set_plan(hwloc_topology_t handle, const char *plan)
{
    const char *end = strrchr(plan, '.');

    return end && !strcmp(end, ".xml") ? set_xml(handle, plan)
                                       : set_synthetic(handle, plan);
}

static int load(hwloc_topology_t handle, const ls__topology_options *o)
{
    const char *xml = getenv("HWLOC_XMLFILE");
    const char *synthetic = getenv("HWLOC_SYNTHETIC");
    int status;

    hwloc_topology_set_flags(handle, quick_flags(o->plan != NULL));
    choose_sources(handle, o->plan != NULL);
    choose_types(handle, o->details);
    if (o->plan && (status = set_plan(handle, o->plan)) < 0)
        return status;
    if (!o->plan && xml && (status = check_xml(xml)) < 0)
        return status;
    if (!o->plan && synthetic && (status = check_synthetic(synthetic)) < 0)
        return status;
    if (hwloc_topology_load(handle) == 0)
        return 0;
    return o->plan ? ls__fail(LS_EFORMAT, "topology \"%s\": hwloc cannot load "
                              "it: %s", o->plan, strerror(errno))
                   : ls__fail(LS_ENOTSUP, "topology: hwloc cannot load it: %s",
                              strerror(errno));
}

/* ------ Which PUs, in which order ------ */

/* A PU of the machine, and by what it is ordered. */
typedef struct entry {
    int nth;  /* PU of its core that is not shut out, from 0 */
    int slow; /* its core's kind, 0 is the fastest */
    int at;   /* in logical order */
    hwloc_obj_t pu;
} entry;

static int by_worth(const void *a, const void *b)
{
    const entry *x = a, *y = b;

    if (x->nth != y->nth)
        return x->nth < y->nth ? -1 : 1;
    if (x->slow != y->slow)
        return x->slow < y->slow ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

int ls__topology_slow(const ls__topology *t, struct hwloc_obj *pu)
{
    int kinds = hwloc_cpukinds_get_nr(t->handle, 0), efficiency = -1;
    int kind = kinds > 1
                   ? hwloc_cpukinds_get_by_cpuset(t->handle, pu->cpuset, 0)
                   : -1;

    if (kind >= 0)
        (void)hwloc_cpukinds_get_info(t->handle, (unsigned)kind, NULL,
                                      &efficiency, NULL, NULL, 0);
    return efficiency < 0 ? 0 : kinds - 1 - efficiency;
}

/* Fill entries with the PUs of a set (NULL: all) in logical order, PUs of a
 * core side by side; returns their number and counts the cores.  A machine that
 * reports no cores counts its PUs. */
static int take(const ls__topology *t, hwloc_const_bitmap_t set, entry *entries,
                int *cores)
{
    hwloc_obj_t pu = NULL, last = NULL;
    int n = 0, nth = 0;

    *cores = 0;
    while ((pu = hwloc_get_next_obj_by_type(t->handle, HWLOC_OBJ_PU, pu))) {
        hwloc_obj_t core =
            hwloc_get_ancestor_obj_by_type(t->handle, HWLOC_OBJ_CORE, pu);

        if (set && !hwloc_bitmap_isset(set, pu->os_index))
            continue;
        nth = core && core == last ? nth + 1 : 0;
        last = core;
        *cores += nth == 0;
        LS__ASSERT(n < hwloc_get_nbobjs_by_type(t->handle, HWLOC_OBJ_PU));
        entries[n] = (entry){.nth = nth, .slow = ls__topology_slow(t, pu),
                          .at = n, .pu = pu};
        n++;
    }
    return n;
}

/* Fill `may` with where the calling thread may run.  A mask without a PU of the
 * cpuset cannot be true and is passed over. */
static void ask_affinity(const ls__topology *t, hwloc_bitmap_t may)
{
    hwloc_const_bitmap_t cpuset =
        hwloc_topology_get_allowed_cpuset(t->handle);
    hwloc_bitmap_t mask = t->bindable ? ls__topology_save(t) : NULL;

    if (mask && hwloc_bitmap_intersects(cpuset, mask))
        hwloc_bitmap_and(may, mask, cpuset);
    else
        hwloc_bitmap_copy(may, cpuset);
    hwloc_bitmap_free(mask);
}

/* Count the cores that each limit leaves; the entries of the last stay. */
static int limit(ls__topology *t, const char *cpus, entry *entries)
{
    hwloc_bitmap_t may = hwloc_bitmap_alloc(), set = hwloc_bitmap_alloc();
    int status = may && set ? 0 : ls__no_memory("topology", sizeof(void *));

    if (status == 0) {
        ask_affinity(t, may);
        take(t, NULL, entries, &t->limits.machine);
        take(t, hwloc_topology_get_allowed_cpuset(t->handle), entries,
             &t->limits.cpuset);
        t->pus = take(t, may, entries, &t->limits.affinity);
        t->limits.chosen = t->limits.affinity;
    }
    if (status == 0 && cpus)
        status = ls__cpus_choose(t, cpus, may, set);
    if (status == 0 && cpus)
        t->pus = take(t, set, entries, &t->limits.chosen);
    hwloc_bitmap_free(may);
    hwloc_bitmap_free(set);
    return status;
}

static void order_entries(ls__topology *t, entry *entries)
{
    LS__ASSERT(t->pus >= t->limits.chosen && t->limits.chosen >= 1);
    qsort(entries, (size_t)t->pus, sizeof *entries, by_worth);
    for (int i = 0; i < t->pus; i++) {
        t->pu[i] = (int)entries[i].pu->os_index;
        t->place[i] = ls__machine_place(t, entries[i].pu);
        t->place[i].kind = entries[i].slow;
    }
    while (t->fast < t->limits.chosen &&
           entries[t->fast].slow == entries[0].slow)
        t->fast++;
}

static int find_cores(ls__topology *t, const char *cpus)
{
    int found = hwloc_get_nbobjs_by_type(t->handle, HWLOC_OBJ_PU);
    size_t n = found > 0 ? (size_t)found : 0;
    entry *entries = ls__new(n, sizeof *entries, "topology");
    int status = LS_ENOMEM;

    t->pu = ls__new(n, sizeof *t->pu, "topology");
    t->place = ls__new(n, sizeof *t->place, "topology");
    if (entries && t->pu && t->place)
        status = limit(t, cpus, entries);
    if (status == 0 && t->pus)
        order_entries(t, entries);
    free(entries);
    if (status == 0 && !t->pus)
        return ls__fail(LS_ENOTSUP, "topology: no usable core");
    return status;
}

/* ------ What Linux itself says ------ */

/* Automatic NUMA balancing, where there are nodes to balance. */
static bool balancing(hwloc_topology_t handle, const char *root)
{
    char path[512];
    FILE *file;
    int c = '0';

    if (hwloc_get_nbobjs_by_type(handle, HWLOC_OBJ_NUMANODE) < 2)
        return false;
    snprintf(path, sizeof path, "%s/proc/sys/kernel/numa_balancing", root);
    file = fopen(path, "re");
    if (file) {
        c = getc(file);
        fclose(file);
    }
    return c > '0' && c <= '9';
}

static void ask_linux(ls__topology *t, const char *root)
{
    int most;

    t->cores = t->limits.chosen;
    if (!root)
        return;
    t->balancing = balancing(t->handle, root);
    t->limits.quota = ls__quota_read(root);
    most = ls__quota_cores(&t->limits.quota);
    if (most < t->cores)
        t->cores = most;
}

/* ------ */

int ls__topology_open(ls__topology *topology, const ls__topology_options *o)
{
    ls__topology t = {0};
    int status;

    if (hwloc_topology_init(&t.handle) < 0)
        return ls__no_memory("topology", sizeof(void *));
    status = load(t.handle, o);
    if (!status) {
        t.variable = o->plan ? NULL : find_variable();
        t.bindable = hwloc_topology_is_thissystem(t.handle);
        status = find_cores(&t, o->cpus);
    }
    if (status) {
        ls__topology_close(&t);
        return status;
    }
    ask_linux(&t, o->root);
    LS__ASSERT(t.cores >= 1 && t.cores <= t.limits.chosen &&
               t.fast <= t.limits.chosen && t.limits.chosen <= t.pus);
    *topology = t;
    return 0;
}

int ls__topology_copy(ls__topology *to, const ls__topology *from)
{
    ls__topology t = *from;
    size_t n = (size_t)from->pus;

    t.handle = NULL;
    t.pu = ls__new(n, sizeof *t.pu, "topology");
    t.place = ls__new(n, sizeof *t.place, "topology");
    if (!t.pu || !t.place) {
        ls__topology_close(&t);
        return LS_ENOMEM;
    }
    memcpy(t.pu, from->pu, n * sizeof *t.pu);
    memcpy(t.place, from->place, n * sizeof *t.place);
    if (hwloc_topology_dup(&t.handle, from->handle) < 0) {
        t.handle = NULL;
        ls__topology_close(&t);
        return ls__no_memory("topology", n * sizeof *t.pu);
    }
    *to = t;
    return 0;
}

void ls__topology_close(ls__topology *topology)
{
    if (topology->handle)
        hwloc_topology_destroy(topology->handle);
    free(topology->pu);
    free(topology->place);
    memset(topology, 0, sizeof *topology);
}
