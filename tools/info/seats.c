/* SPDX-License-Identifier: BSD-3-Clause */
/* See seats.h. */
#define _GNU_SOURCE
#include "info/seats.h"
#include "opt/json_parts.h"
#include "opt/opt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A rank's message to the others. */
typedef struct seat {
    char machine[64];
    int32_t workers;
    int32_t pinned; /* 0: they go wherever a core is free */
    char pus[184];  /* "0-3,8": of the workers, in order */
} seat;

int seats_join(seats *s, int status, bool apart)
{
    int joined = launch_has_mpi() ? launch_join(&s->launch) : OPT_GO;

    return joined == OPT_GO ? launch_agree(&s->launch, status, apart) : joined;
}

int seats_meet(seats *s, int64_t devices, const char *asked)
{
    int status = launch_open(&s->launch), dealt;
    const ls_transport *t = s->launch.transport;

    if (status != OPT_GO || !t)
        return status;
    s->met = true;
    if (devices && (dealt = ls_transport_sums(t->ranks, (int)devices)) < 0)
        return opt_check_usage(dealt);
    dealt = ls_transport_cpus(t, asked, s->cpus, sizeof s->cpus);
    s->shared = dealt == 0;
    return opt_check_usage(dealt < 0 ? dealt : 0);
}

const char *seats_cpus(const seats *s, const char *asked)
{
    return *s->cpus ? s->cpus : asked;
}

/* No rank has more devices than its share rounded up. */
int seats_workers(const seats *s, int64_t devices)
{
    const ls_transport *t = s->launch.transport;

    if (!t)
        return (int)devices;
    return s->shared ? 1 : (int)((devices + t->ranks - 1) / t->ranks);
}

/* ------ What a rank tells ------ */

static int pu_of(const ls_mesh *mesh, int worker)
{
    ls_place p;

    ls_mesh_place(mesh, worker, &p);
    return p.pu;
}

/* "0-3,8"; a list that does not fit ends with two dots. */
static void write_pus(const ls_mesh *mesh, char *text, size_t room)
{
    int workers = ls_mesh_workers(mesh);
    size_t at = 0;

    for (int w = 0, last; w < workers; w = last + 1) {
        char part[40];
        int first = pu_of(mesh, w), n;

        for (last = w; last + 1 < workers &&
                       pu_of(mesh, last + 1) == first + last + 1 - w;)
            last++;
        n = snprintf(part, sizeof part, last > w ? "%s%d-%d" : "%s%d",
                     w ? "," : "", first, first + last - w);
        if (at + (size_t)n + 4 > room) {
            strcpy(text + at, ",..");
            return;
        }
        memcpy(text + at, part, (size_t)n + 1);
        at += (size_t)n;
    }
}

int seats_gather(seats *s, const ls_mesh *mesh)
{
    seat mine = {.workers = ls_mesh_workers(mesh), .pinned = !s->shared};

    if (!s->met)
        return OPT_GO;
    (void)gethostname(mine.machine, sizeof mine.machine - 1);
    write_pus(mesh, mine.pus, sizeof mine.pus);
    s->of = launch_gather(&s->launch, &mine, sizeof mine);
    return s->of ? OPT_GO : OPT_FAILED;
}

/* ------ What is shown ------ */

static int machine_width(const seats *s)
{
    size_t most = strlen("machine");

    for (int r = 0; r < s->launch.transport->ranks; r++)
        if (strlen(s->of[r].machine) > most)
            most = strlen(s->of[r].machine);
    return (int)most;
}

void seats_print(const seats *s)
{
    int width = machine_width(s);

    printf("\n  %-5s  %-*s  %7s  %s\n", "ranks", width, "machine", "workers",
           "PU");
    for (int r = 0; r < s->launch.transport->ranks; r++) {
        const seat *one = &s->of[r];

        printf("  %5d  %-*s  %7d  %s\n", r, width, one->machine, one->workers,
               one->pinned ? one->pus : "any, cores are fewer than ranks");
    }
}

json_t *seats_json(const seats *s)
{
    json_t *list = json_array();

    for (int r = 0; r < s->launch.transport->ranks; r++)
        list = json_and(
            list, json_pack("{s:i, s:s, s:i, s:b, s:s}", "rank", r, "machine",
                            s->of[r].machine, "workers", s->of[r].workers,
                            "pinned", s->of[r].pinned, "pus", s->of[r].pus));
    return list;
}
