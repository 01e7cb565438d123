/* SPDX-License-Identifier: BSD-3-Clause */
/* Cores for the ranks of one machine.  Ranks with equal masks divide their
 * cores, since no launcher has told them which ones to take; a mask that no
 * other rank has came from a launcher, and stays. */
#include "base/error.h"
#include "base/memory.h"
#include "base/sha.h"
#include "ranks/link.h"
#include <lockstep/machine.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A place where a rank may run: two are equal if every byte is. */
typedef struct spot {
    char machine[64];
    char mask[65]; /* the hash of its PUs */
} spot;

_Static_assert(sizeof(spot) == 64 + 65, "no padding, which would differ");

/* One text for all processes of a running kernel, in containers too. */
static void name_machine(char name[64])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (!file || !fgets(name, 64, file))
        (void)gethostname(name, 63);
    if (file)
        fclose(file);
}

/* Open a mesh that has a worker on each usable core: with the most devices that
 * a mesh can have, no core goes without one. */
static int open_all(ls_mesh **mesh, const char *cpus)
{
    ls_mesh_options o = ls_mesh_defaults();

    o.devices = 65536;
    o.cpus = cpus;
    return ls_mesh_open(mesh, &o);
}

static void hash_mask(const ls_mesh *mesh, char hex[65])
{
    ls__sha256 sha;

    ls__sha256_init(&sha);
    for (int w = 0; w < ls_mesh_workers(mesh); w++) {
        int pu = ls_mesh_worker_pu(mesh, w);

        ls__sha256_update(&sha, &pu, sizeof pu);
    }
    ls__sha256_hex(&sha, hex);
}

/* PUs of cores first .. last-1 as a list; an empty one does not fit. */
static void write_list(const ls_mesh *mesh, int first, int last, char *list,
                       size_t room)
{
    size_t at = 0;

    for (int w = first; w < last && at < room; w++)
        at += (size_t)snprintf(list + at, room - at, "%s%d", at ? "," : "",
                               ls_mesh_worker_pu(mesh, w));
    if (at >= room)
        *list = 0;
}

static int deal(const ls_transport *t, const spot *of, const ls_mesh *mesh,
                char *list, size_t room)
{
    int ranks = 0, mine = 0, cores = ls_mesh_workers(mesh);

    for (int r = 0; r < t->ranks; r++) {
        bool equal = !memcmp(&of[r], &of[t->rank], sizeof *of);

        mine += equal && r < t->rank;
        ranks += equal;
    }
    if (cores < ranks)
        return 0;
    if (ranks > 1)
        write_list(mesh, (int)((int64_t)mine * cores / ranks),
                   (int)((int64_t)(mine + 1) * cores / ranks), list, room);
    return ranks == 1 || *list;
}

static int meet(const ls_transport *t, const ls_mesh *mesh, char *list,
                size_t room)
{
    spot *of = ls__new((size_t)t->ranks, sizeof *of, "places of ranks");
    int status;

    if (!of)
        return LS_ENOMEM;
    name_machine(of[t->rank].machine);
    hash_mask(mesh, of[t->rank].mask);
    status = ls__link_gather_each(t, of, sizeof *of);
    if (status == 0)
        status = deal(t, of, mesh, list, room);
    free(of);
    return status;
}

int ls_transport_cpus(const ls_transport *t, const char *cpus, char *list,
                      size_t room)
{
    LS__NEED_AS(t, "transport", LS_EINVAL);
    LS__NEED(list);

    ls_mesh *mesh;
    int status;

    if (room < 1)
        return ls__fail(LS_EINVAL, "ls_transport_cpus: no room for the list");
    *list = 0;
    if ((status = open_all(&mesh, cpus)) < 0)
        return status;
    status = meet(t, mesh, list, room);
    ls_mesh_close(mesh);
    return status;
}
