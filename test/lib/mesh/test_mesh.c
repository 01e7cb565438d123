/* SPDX-License-Identifier: BSD-3-Clause */
/* Meshes are plans, so they are tested on machines we do not own. */
#define _GNU_SOURCE /* sched_setaffinity */
#include "base/error.h"
#include "calls.h"
#include "mesh/mesh.h"

#include <check.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char BIG[] = "pack:2 numa:2 core:16 pu:2";

static ls_mesh *open_mesh(ls_mesh_options o)
{
    ls_mesh *mesh = NULL;

    o.size = sizeof o;
    ck_assert_msg(ls_mesh_open(&mesh, &o) == 0, "%s", ls_errmsg());
    return mesh;
}

/* A plan is described by one line. */
static const struct {
    ls_mesh_options options;
    int devices, workers, cores, first_pu, last_pu;
    const char *text;
} plans[] = {
    {{.topology = BIG}, 8, 8, 64, 0, 14,
     "8 devices on 8 workers (PU 0-14:2)"},
    {{.devices = 64, .topology = BIG}, 64, 64, 64, 0, 126,
     "64 devices on 64 workers (PU 0-126:2)"},
    {{.devices = 3, .workers = 2, .topology = BIG}, 3, 2, 64, 0, 2,
     "3 devices on 2 workers (PU 0, 2)"},
    {{.topology = "core:2 pu:1"}, 8, 2, 2, 0, 1,
     "8 devices on 2 workers (PU 0, 1)"},
    {{.topology = "core:1 pu:1"}, 8, 1, 1, 0, 0,
     "8 devices on 1 worker (PU 0)"},
    {{.devices = 1, .topology = "core:1 pu:2"}, 1, 1, 1, 0, 0,
     "1 device on 1 worker (PU 0)"},
    {{.devices = 16, .topology = "pack:2 core:8 pu:1"}, 16, 16, 16, 0, 15,
     "16 devices on 16 workers (PU 0-15)"},
    {{.topology = "pack:2 core:2 pu:2(indexes=0,4,2,6,1,5,3,7)"}, 8, 4, 4, 0,
     3, "8 devices on 4 workers (PU 0, 2, 1, 3)"},
    {{.topology = "core:6 pu:1(indexes=9,4,5,6,7,20)"}, 8, 6, 6, 4, 20,
     "8 devices on 6 workers (PU 4-7, 9, 20)"},
    {{.devices = 2, .workers = 5, .topology = "core:2 pu:1"}, 2, 5, 2, 0, 0,
     "2 devices on 5 workers (PU 0, 1; oversubscribed)"},
    {{.devices = 65536, .workers = 65536, .topology = "core:1 pu:1"}, 65536,
     65536, 1, 0, 0, "65536 devices on 65536 workers (PU 0; oversubscribed)"},
    {{.topology = "pack:2 core:8 pu:1", .cpus = "8-15"}, 8, 8, 8, 8, 15,
     "8 devices on 8 workers (PU 8-15)"},
    {{.topology = "core:8 pu:1", .cpus = "7,1,2-3"}, 8, 4, 4, 1, 7,
     "8 devices on 4 workers (PU 1-3, 7)"},
    {{.workers = 3, .topology = "core:2 pu:2", .cpus = "1-3"}, 8, 3, 2, 1, 3,
     "8 devices on 3 workers (PU 1-3; oversubscribed)"},
    {{.axes = "data:2,model:3", .topology = "core:2 pu:1"}, 6, 2, 2, 0, 1,
     "6 devices (data:2,model:3) on 2 workers (PU 0, 1)"},
};

/* Devices, workers, cores and PUs follow from options and topology. */
LOOP_TEST(test_plan, 0, sizeof plans / sizeof *plans)
{
    ls_mesh *mesh = open_mesh(plans[_i].options);

    ck_assert_int_eq(ls_mesh_devices(mesh), plans[_i].devices);
    ck_assert_int_eq(ls_mesh_workers(mesh), plans[_i].workers);
    ck_assert_int_eq(ls_mesh_usable_cores(mesh), plans[_i].cores);
    ck_assert_int_eq(ls_mesh_worker_pu(mesh, 0), plans[_i].first_pu);
    ck_assert_int_eq(ls_mesh_worker_pu(mesh, plans[_i].workers - 1),
                     plans[_i].last_pu);
    ck_assert_str_eq(ls_mesh_text(mesh), plans[_i].text);
    ck_assert(!mesh->topology.bindable);
    ls_mesh_close(mesh);
}

/* No two workers share a core, even where cores have two PUs. */
TEST(test_one_pu_per_core)
{
    ls_mesh *mesh = open_mesh((ls_mesh_options){.size = sizeof(ls_mesh_options),
                                                .devices = 64,
                                                .topology = BIG});

    for (int w = 0; w < 64; w++)
        ck_assert_int_eq(ls_mesh_worker_pu(mesh, w), 2 * w);
    ck_assert_int_eq(ls_mesh_worker_pu(mesh, -1), -1);
    ck_assert_int_eq(ls_mesh_worker_pu(mesh, 64), -1);
    ls_mesh_close(mesh);
}

/* Surplus workers go around the cores again. */
TEST(test_round_robin)
{
    ls_mesh *mesh = open_mesh((ls_mesh_options){.size = sizeof(ls_mesh_options),
                                                .workers = 7,
                                                .topology = "core:3 pu:1"});

    for (int w = 0; w < 7; w++)
        ck_assert_int_eq(ls_mesh_worker_pu(mesh, w), w % 3);
    ck_assert(ls__mesh_oversubscribed(mesh));
    ls_mesh_close(mesh);
}

/* Axes have sizes by name; batches are cut along "data" only. */
TEST(test_axes)
{
    static const struct {
        const char *axes;
        int asked, devices, data, model;
    } row[] = {
        {NULL, 0, 8, 8, 0},       {"data", 0, 8, 8, 0},
        {"data", 5, 5, 5, 0},     {"data:4", 0, 4, 4, 0},
        {"data:4", 4, 4, 4, 0},   {"data:2,model:2", 0, 4, 2, 2},
        {"model:3", 0, 3, 0, 3},  {"model", 6, 6, 0, 6},
        {"a:1,b:1,c:1,d:1,e:1,model:1,data:2,h:1", 2, 2, 2, 1},
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        ls_mesh *mesh = open_mesh((ls_mesh_options){
            .axes = row[i].axes, .devices = row[i].asked,
            .topology = "core:2 pu:1"});

        ck_assert_int_eq(ls_mesh_devices(mesh), row[i].devices);
        ck_assert_int_eq(ls_mesh_axis_size(mesh, "data"), row[i].data);
        ck_assert_int_eq(ls_mesh_axis_size(mesh, "model"), row[i].model);
        ck_assert_int_eq(ls_mesh_axis_size(mesh, "dat"), 0);
        ls_mesh_close(mesh);
    }
}

static const struct {
    ls_mesh_options options;
    const char *message;
} refused[] = {
    {{.devices = -1}, "mesh: devices is -1"},
    {{.devices = 65537}, "mesh: devices is 65537"},
    {{.devices = 1000000000}, "mesh: devices is 1000000000"},
    {{.workers = -7}, "mesh: workers is -7"},
    {{.workers = 65537}, "mesh: workers is 65537"},
    {{.axes = ""}, "axes \"\": a name (letters, digits, _) is missing at "
                   "character 1"},
    {{.axes = "data:2,"}, "is missing at character 8"},
    {{.axes = ":2"}, "is missing at character 1"},
    {{.axes = "data:"}, "axes \"data:\": a size is missing at character 6"},
    {{.axes = "data:x"}, "a size is missing at character 6"},
    {{.axes = "data:-2"}, "a size is missing at character 6"},
    {{.axes = "data:0"}, "a size that is not 1 to 65536 at character 6"},
    {{.axes = "data:65537"}, "a size that is not 1 to 65536"},
    {{.axes = "data:99999999999999999999"}, "a size that is not 1 to 65536"},
    {{.axes = "data:2;model:2"}, "an unexpected character at character 7"},
    {{.axes = "data 2"}, "an unexpected character at character 5"},
    {{.axes = "data,model:2"}, "a size is missing at character 5"},
    {{.axes = "data:2,model"}, "a size is missing at character 13"},
    {{.axes = "data:2,data:2"}, "a name given before at character 8"},
    {{.axes = "a:1,b:1,c:1,d:1,e:1,f:1,g:1,h:1,i:1"}, "more than 8 axes"},
    {{.axes = "abcdefghijklmnopqrstuvwxyz0123456789:2"},
     "a name longer than 31 letters at character 1"},
    {{.axes = "data:65536,model:65536"}, "more than 65536 devices"},
    {{.axes = "data:2,model:2", .devices = 8},
     "axes \"data:2,model:2\" make 4 devices, 8 are asked for"},
    {{.topology = "core:4097 pu:1"}, "core:4097 pu:1\": more than 4096 PUs"},
    {{.topology = "pack:65536 65536 65536 65536 pu:2"}, "more than 4096 PUs"},
    {{.topology = "pu:99999999999999999999"}, "more than 4096 PUs"},
    {{.topology = "nonsense"}, "topology \"nonsense\": not a hwloc synthetic"},
    {{.topology = ""}, "topology \"\": not a hwloc synthetic"},
    {{.topology = "core:0 pu:1"}, "\"core:0 pu:1\": not a hwloc synthetic"},
    {{.topology = "core:8 pu:1", .cpus = ""}, "cpus \"\": not a list"},
    {{.topology = "core:8 pu:1", .cpus = "1-"}, "cpus \"1-\": not a list"},
    {{.topology = "core:8 pu:1", .cpus = "-1"}, "not a list"},
    {{.topology = "core:8 pu:1", .cpus = "1,,2"}, "not a list"},
    {{.topology = "core:8 pu:1", .cpus = "1,"}, "not a list"},
    {{.topology = "core:8 pu:1", .cpus = "3-2"}, "not a list"},
    {{.topology = "core:8 pu:1", .cpus = "1 2"}, "not a list"},
    {{.topology = "core:8 pu:1", .cpus = "99999999999"}, "not a list"},
    {{.topology = "core:8 pu:1", .cpus = "6-9"},
     "cpus \"6-9\": processor 8 may not be used: this machine has none"},
    {{.cpus = "65535"}, "processor 65535 may not be used: this machine has"},
};

/* What cannot be planned is refused with the text and the place, and the
 * result is left alone. */
LOOP_TEST(test_refused, 0, sizeof refused / sizeof *refused)
{
    ls_mesh *mesh = (ls_mesh *)&mesh;
    ls_mesh_options o = refused[_i].options;

    o.size = sizeof o;
    ck_assert_int_eq(ls_mesh_open(&mesh, &o), LS_EINVAL);
    ck_assert_msg(strstr(ls_errmsg(), refused[_i].message) != NULL,
                  "\"%s\" is not in \"%s\"", refused[_i].message, ls_errmsg());
    ck_assert_ptr_eq(mesh, &mesh);
}

/* A mesh without options is 8 devices on PUs this thread may run on. */
TEST(test_this_machine)
{
    ls_mesh *mesh = NULL;
    cpu_set_t mask;

    ck_assert_int_eq(ls_mesh_open(&mesh, NULL), 0);
    ck_assert_int_eq(sched_getaffinity(0, sizeof mask, &mask), 0);
    ck_assert_int_eq(ls_mesh_devices(mesh), 8);
    ck_assert_int_ge(ls_mesh_usable_cores(mesh), 1);
    ck_assert_int_le(ls_mesh_usable_cores(mesh), CPU_COUNT(&mask));
    for (int w = 0; w < ls_mesh_workers(mesh); w++)
        ck_assert(CPU_ISSET((size_t)ls_mesh_worker_pu(mesh, w), &mask));
    ck_assert(mesh->topology.bindable);
    ls_mesh_close(mesh);
}

/* An affinity mask of one PU leaves one usable core, that one. */
TEST(test_affinity)
{
    cpu_set_t old, one;

    ck_assert_int_eq(sched_getaffinity(0, sizeof old, &old), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET((size_t)cpu, &old))
            continue;
        CPU_ZERO(&one);
        CPU_SET((size_t)cpu, &one);
        ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
        ls_mesh *mesh = open_mesh(ls_mesh_defaults());
        ck_assert_int_eq(ls_mesh_usable_cores(mesh), 1);
        ck_assert_int_eq(ls_mesh_workers(mesh), 1);
        ck_assert_int_eq(ls_mesh_worker_pu(mesh, 0), cpu);
        ls_mesh_close(mesh);
    }
    ck_assert_int_eq(sched_setaffinity(0, sizeof old, &old), 0);
}

/* Each of two processors that this thread may use can be chosen; the other one
 * cannot while the thread is bound to the first. */
TEST(test_cpus)
{
    cpu_set_t old, one;
    char text[16];
    int bound = -1;

    ck_assert_int_eq(sched_getaffinity(0, sizeof old, &old), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        ls_mesh *mesh = NULL;

        if (!CPU_ISSET((size_t)cpu, &old))
            continue;
        snprintf(text, sizeof text, "%d", cpu);
        if (bound >= 0) {
            ck_assert_int_eq(
                ls_mesh_open(&mesh,
                             &(ls_mesh_options){.size = sizeof(ls_mesh_options),
                                                .cpus = text}),
                LS_EINVAL);
            ck_assert(strstr(ls_errmsg(), "is bound to others"));
            break;
        }
        mesh = open_mesh((ls_mesh_options){.size = sizeof(ls_mesh_options),
                                           .cpus = text});
        ck_assert_int_eq(ls_mesh_workers(mesh), 1);
        ck_assert_int_eq(ls_mesh_worker_pu(mesh, 0), cpu);
        ls_mesh_close(mesh);
        bound = cpu;
        CPU_ZERO(&one);
        CPU_SET((size_t)cpu, &one);
        ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    }
    ck_assert_int_eq(sched_setaffinity(0, sizeof old, &old), 0);
}

/* A copy outlives its original and says the same. */
TEST(test_copy)
{
    ls_mesh *mesh = open_mesh((ls_mesh_options){.size = sizeof(ls_mesh_options),
                                                .axes = "data:2,model:2",
                                                .topology = BIG});
    ls_mesh *copy = NULL;

    ck_assert_int_eq(ls__mesh_copy(&copy, mesh), 0);
    ls_mesh_close(mesh);
    ck_assert_str_eq(ls_mesh_text(copy),
                     "4 devices (data:2,model:2) on 4 workers (PU 0-6:2)");
    ck_assert_int_eq(ls_mesh_axis_size(copy, "model"), 2);
    ck_assert_int_eq(ls_mesh_worker_pu(copy, 3), 6);
    ls_mesh_close(copy);
    ls_mesh_close(NULL);
}

MAIN()
