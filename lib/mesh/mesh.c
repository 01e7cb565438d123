/* SPDX-License-Identifier: BSD-3-Clause */
/* Planning: options in, a checked mesh out.
 *
 * The number of devices comes from the options or from the axes, and the two
 * must agree; the number of workers from the options or from the machine.
 * Workers sit on usable cores in the topology's order, then on the second PUs
 * of these cores, and wrap around when there are more of them. */
#include "mesh/mesh.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"
#include "machine/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_DEVICES = 8 };

/* ------ Counts ------ */

static int check_count(const char *what, int n)
{
    if (n >= 0 && n <= LS__MESH_LIMIT)
        return 0;
    return ls__fail(LS_EINVAL, "mesh: %s is %d, must be 1 to 65536 or 0 for "
                    "the default", what, n);
}

/* Settle devices from the axes, or a bare axis from the devices. */
static int count_devices(ls_mesh *mesh, const ls_mesh_options *o,
                         const char *axes)
{
    int64_t product = 1;

    if (!mesh->axis[0].size)
        mesh->axis[0].size = o->devices ? o->devices : DEFAULT_DEVICES;
    for (int i = 0; i < mesh->axes && product <= LS__MESH_LIMIT; i++)
        product *= mesh->axis[i].size;
    if (product > LS__MESH_LIMIT)
        return ls__fail(LS_EINVAL, "axes \"%s\": more than 65536 devices",
                        axes);
    if (o->devices && o->devices != product)
        return ls__fail(LS_EINVAL, "axes \"%s\" make %d devices, %d are "
                        "asked for", axes, (int)product, o->devices);
    LS__ASSERT(product >= 1);
    mesh->devices = (int)product;
    return 0;
}

static void count_workers(ls_mesh *mesh, int asked)
{
    int cores = mesh->topology.cores;

    mesh->chosen = asked > 0;
    mesh->wanted = asked ? asked : mesh->devices;
    mesh->workers = mesh->devices < cores ? mesh->devices : cores;
    if (asked)
        mesh->workers = asked;
}

/* Two programs that both leave cores free would both take the first ones, and
 * Linux can help neither.  A machine that is only described has no others. */
static bool pins(const ls_mesh *mesh, bool asked)
{
    const ls__topology *t = &mesh->topology;

    return asked || !t->bindable || mesh->workers >= t->limits.chosen;
}

/* ------ Text ------ */

/* The number of pu[0..n) that follow each other at one positive step. */
static int run_length(const int *pu, int n, int *step)
{
    int length = 1;

    *step = n > 1 ? pu[1] - pu[0] : 0;
    while (length < n && *step > 0 &&
           pu[length] - pu[length - 1] == *step)
        length++;
    return length;
}

/* "0, 1" or, from three on, "0-15" and "0-30:2" (every second, as taskset
 * writes it).  Returns the end. */
static char *write_pus(char *out, const int *pu, int n)
{
    for (int i = 0, step; i < n;) {
        int length = run_length(pu + i, n - i, &step);

        out += sprintf(out, "%s%d", i ? ", " : "", pu[i]);
        if (length < 3)
            length = 1;
        else
            out += sprintf(out, "-%d", pu[i + length - 1]);
        if (length > 1 && step > 1)
            out += sprintf(out, ":%d", step);
        i += length;
    }
    return out;
}

/* Several axes are listed; a single one says nothing more than the count. */
static char *write_axes(char *out, const ls_mesh *mesh)
{
    for (int i = 0; mesh->axes > 1 && i < mesh->axes; i++)
        out += sprintf(out, "%s%s:%d", i ? "," : " (", mesh->axis[i].name,
                       mesh->axis[i].size);
    return out + sprintf(out, "%s", mesh->axes > 1 ? ")" : "");
}

static int write_text(ls_mesh *mesh)
{
    int pus = mesh->topology.pus;
    int used = mesh->workers < pus ? mesh->workers : pus;
    size_t size = 128 + LS__MESH_AXES * (LS__MESH_NAME + 12) +
                  (size_t)used * 40; /* three ints and their signs */
    char *out = mesh->text = ls__new(size, 1, "mesh text");

    if (!out)
        return LS_ENOMEM;
    out += sprintf(out, "%d device%s", mesh->devices,
                   ls__s(mesh->devices));
    out = write_axes(out, mesh);
    out += sprintf(out, " on %d worker%s (", mesh->workers,
                   ls__s(mesh->workers));
    if (mesh->pins)
        out = write_pus(out + sprintf(out, "PU "), mesh->topology.pu, used);
    else
        out += sprintf(out, "any of %d cores", mesh->topology.limits.chosen);
    sprintf(out, "%s)",
            ls__mesh_oversubscribed(mesh) ? "; oversubscribed" : "");
    LS__ASSERT(strlen(mesh->text) < size);
    return 0;
}

/* ------ The public functions ------ */

LS__DEFAULTS(ls_mesh_options, ls_mesh_defaults_bytes)

static int plan(ls_mesh *mesh, const ls_mesh_options *o, const char *root)
{
    const char *axes = o->axes ? o->axes : "data";
    ls__topology_options t = {
        .plan = o->topology, .root = root, .cpus = o->cpus,
        .details = o->details};
    int status;

    if ((status = check_count("devices", o->devices)) ||
        (status = check_count("workers", o->workers)) ||
        (status = ls__mesh_parse_axes(mesh, axes)) ||
        (status = count_devices(mesh, o, axes)) ||
        (status = ls__topology_open(&mesh->topology, &t)))
        return status;
    count_workers(mesh, o->workers);
    mesh->pins = pins(mesh, o->pin);
    ls__mesh_write_notes(mesh);
    return write_text(mesh);
}

int ls__mesh_open_below(ls_mesh **mesh, const ls_mesh_options *options,
                        const char *root)
{
    ls_mesh_options o = ls_mesh_defaults();
    int status = ls__sized_take("mesh", &o, sizeof o, options);
    ls_mesh *m;

    if (status < 0)
        return status;
    if (!(m = ls__new(1, sizeof *m, "mesh")))
        return LS_ENOMEM;
    status = plan(m, &o, root);
    if (status) {
        ls_mesh_close(m);
        return status;
    }
    for (int i = 0; o.log && i < m->notes; i++)
        o.log(o.log_user, m->note[i]);
    *mesh = m;
    return 0;
}

int ls_mesh_open(ls_mesh **mesh, const ls_mesh_options *options)
{
    LS__NEED(mesh);

    bool plan_only = options && options->topology;

    return ls__mesh_open_below(mesh, options, plan_only ? NULL : "");
}

int ls__mesh_copy(ls_mesh **copy, const ls_mesh *mesh)
{
    ls_mesh *m = ls__new(1, sizeof *m, "mesh");
    int status;

    if (!m)
        return LS_ENOMEM;
    *m = *mesh;
    m->text = NULL;
    memset(&m->topology, 0, sizeof m->topology);
    status = ls__topology_copy(&m->topology, &mesh->topology);
    if (!status)
        status = write_text(m);
    if (status)
        ls_mesh_close(m);
    else
        *copy = m;
    return status;
}

void ls_mesh_close(ls_mesh *mesh)
{
    if (!mesh)
        return;
    ls__topology_close(&mesh->topology);
    free(mesh->text);
    free(mesh);
}

int ls_mesh_devices(const ls_mesh *mesh)
{
    LS__NEED_OR(mesh, 0);
    return mesh->devices;
}

int ls_mesh_workers(const ls_mesh *mesh)
{
    LS__NEED_OR(mesh, 0);
    return mesh->workers;
}

int ls_mesh_usable_cores(const ls_mesh *mesh)
{
    LS__NEED_OR(mesh, 0);
    return mesh->topology.cores;
}

const ls_place *ls__mesh_place(const ls_mesh *mesh, int worker)
{
    LS__ASSERT(worker >= 0 && worker < mesh->workers);
    return &mesh->topology.place[worker % mesh->topology.pus];
}

int ls_mesh_worker_pu(const ls_mesh *mesh, int worker)
{
    LS__NEED(mesh);
    if (worker < 0 || worker >= mesh->workers)
        return -1;
    return mesh->topology.pu[worker % mesh->topology.pus];
}

const char *ls_mesh_text(const ls_mesh *mesh)
{
    LS__NEED_OR(mesh, "");
    return mesh->text;
}

bool ls__mesh_oversubscribed(const ls_mesh *mesh)
{
    return mesh->workers > mesh->topology.cores;
}

/* ------ The machine under it ------ */

bool ls_mesh_level_bytes(const ls_mesh *mesh, int i, ls_level *level,
                         size_t size)
{
    LS__NEED_OR(mesh, false);
    LS__NEED_OR(level, false);

    ls_level l;

    if (!ls__machine_level(&mesh->topology, i, &l))
        return false;
    ls__sized_put(level, size, &l, sizeof l);
    return true;
}

bool ls_mesh_kind_bytes(const ls_mesh *mesh, int i, ls_core_kind *kind,
                        size_t size)
{
    LS__NEED_OR(mesh, false);
    LS__NEED_OR(kind, false);

    ls_core_kind k;

    if (!ls__machine_kind(&mesh->topology, i, &k))
        return false;
    ls__sized_put(kind, size, &k, sizeof k);
    return true;
}

const char *ls_mesh_cpu(const ls_mesh *mesh)
{
    LS__NEED_OR(mesh, "");
    return ls__machine_cpu(&mesh->topology);
}

int ls__mesh_dealt(const ls_mesh *mesh, int shards, int worker)
{
    return (int)((int64_t)worker * shards / mesh->workers);
}

bool ls_mesh_place_bytes(const ls_mesh *mesh, int worker, ls_place *place,
                         size_t size)
{
    LS__NEED_OR(mesh, false);
    LS__NEED_OR(place, false);

    ls_place p;

    if (worker < 0 || worker >= mesh->workers)
        return false;
    p = *ls__mesh_place(mesh, worker);
    p.device = ls__mesh_dealt(mesh, mesh->devices, worker);
    p.devices = ls__mesh_dealt(mesh, mesh->devices, worker + 1) - p.device;
    ls__sized_put(place, size, &p, sizeof p);
    return true;
}
