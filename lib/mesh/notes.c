/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes of a plan for its user, as text: why so many cores are usable, and
 * whatever makes a run slower than the machine could be.  The library prints
 * none of it; the tools do, and a program's log callback is told while the mesh
 * opens.
 *
 * A limit is worth a note only where it leaves fewer cores than workers were
 * wanted: eight devices do not mind a quota of twelve CPUs. */
#include "base/error.h"
#include "mesh/mesh.h"
#include <lockstep/machine.h>

#include <stdarg.h>
#include <stdio.h>

static void note(ls_mesh *mesh, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void note(ls_mesh *mesh, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(mesh->note[mesh->notes++], LS__MESH_NOTE, format, args);
    va_end(args);
}

/* "1.5 CPUs (/sys/fs/cgroup/job/cpu.max)" */
enum { QUOTA_TEXT = LS__QUOTA_WHERE + 32 };

static const char *quota_text(const ls__quota *q, char out[QUOTA_TEXT])
{
    double cpus = (double)q->time / (double)q->period;

    snprintf(out, QUOTA_TEXT, "%g CPU%s (%s)", cpus,
             q->time == q->period ? "" : "s", q->where);
    return out;
}

/* The reason why a core that the quota allows in part is left out. */
static const char *rounded(const ls__quota *q)
{
    return q->time > q->period && q->time % q->period
               ? ", rounded down because all workers wait for one that is "
                 "stopped,"
               : "";
}

static void write_cores(ls_mesh *mesh)
{
    const ls__topology *t = &mesh->topology;
    const ls__limits *l = &t->limits;
    char quota[QUOTA_TEXT] = "none", chosen[32] = "";

    if (l->quota.period)
        quota_text(&l->quota, quota);
    if (l->chosen < l->affinity)
        snprintf(chosen, sizeof chosen, ", cpus %d", l->chosen);
    snprintf(mesh->cores_text, sizeof mesh->cores_text,
             "%d usable core%s: machine %d, cpuset %d, affinity %d%s, quota %s",
             t->cores, ls__s(t->cores), l->machine, l->cpuset, l->affinity,
             chosen, quota);
}

/* Does a limit cut below what is wanted and what was left before it? */
static bool bites(const ls_mesh *mesh, int before, int after)
{
    return after < before && after < mesh->wanted;
}

static void note_limits(ls_mesh *mesh)
{
    const ls__topology *t = &mesh->topology;
    const ls__limits *l = &t->limits;
    const char *fewer = "fewer than the workers wanted";
    char quota[QUOTA_TEXT];

    if (bites(mesh, l->machine, l->cpuset))
        note(mesh, "the cpuset of this process leaves %d of %d cores, %s (%d)",
             l->cpuset, l->machine, fewer, mesh->wanted);
    if (bites(mesh, l->cpuset, l->affinity))
        note(mesh, "the calling thread is bound to %d of %d cores, %s (%d); "
             "taskset binds so, and mpirun unless told --bind-to none",
             l->affinity, l->cpuset, fewer, mesh->wanted);
    if (bites(mesh, l->chosen, t->cores))
        note(mesh, "a quota of %s%s leaves %d of %d cores, %s (%d)",
             quota_text(&l->quota, quota), rounded(&l->quota), t->cores,
             l->chosen, fewer, mesh->wanted);
}

/* Only where the devices are the limit: a count of workers was a choice. */
static void note_idle(ls_mesh *mesh)
{
    int cores = mesh->topology.cores;

    if (mesh->chosen || mesh->devices >= cores)
        return;
    note(mesh, "%d device%s leave%s %d of %d usable cores idle; %d workers "
         "would use them all, and share the devices' shards",
         mesh->devices, ls__s(mesh->devices), mesh->devices == 1 ? "s" : "",
         cores - mesh->devices, cores, cores);
}

static void note_places(ls_mesh *mesh)
{
    const ls__topology *t = &mesh->topology;

    note_idle(mesh);
    if (ls__mesh_oversubscribed(mesh))
        note(mesh, "%d workers share %d usable core%s and wait for each "
             "other; %d would be faster", mesh->workers, t->cores,
             ls__s(t->cores), t->cores);
    else if (mesh->workers > t->fast)
        note(mesh, "%d of %d workers sit on cores of a slower kind, and each "
             "step waits for them; %d workers would use the fast kind alone",
             mesh->workers - t->fast, mesh->workers, t->fast);
    if (t->balancing)
        note(mesh, "Linux balances memory between NUMA nodes by itself, "
             "which takes time and moves what was placed on purpose: sysctl "
             "kernel.numa_balancing=0");
}

void ls__mesh_write_notes(ls_mesh *mesh)
{
    const char *variable = mesh->topology.variable;

    write_cores(mesh);
    if (variable)
        note(mesh, "%s is set in the environment: the machine is what it says",
             variable);
    note_limits(mesh);
    note_places(mesh);
}

const char *ls_mesh_cores_text(const ls_mesh *mesh)
{
    LS__NEED_OR(mesh, "");
    return mesh->cores_text;
}

const char *ls_mesh_note(const ls_mesh *mesh, int i)
{
    LS__NEED_OR(mesh, NULL);
    return i >= 0 && i < mesh->notes ? mesh->note[i] : NULL;
}
