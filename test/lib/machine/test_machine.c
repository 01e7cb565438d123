/* SPDX-License-Identifier: BSD-3-Clause */
/* The description of a machine: levels, kinds, places, instruction levels,
 * and what may be measured.  (Golden texts of whole machines:
 * test/tools/info/info.sh.) */
#define _GNU_SOURCE /* sched_setaffinity */
#include "calls.h"
#include "lockstep.h"

#include <check.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static const char BIG[] =
    "pack:2 numa:2(memory=64GiB) l3:2(size=32MiB) core:4 pu:2";

static ls_mesh *open_mesh(ls_mesh_options o)
{
    ls_mesh *mesh = NULL;

    o.size = sizeof o;
    ck_assert_msg(ls_mesh_open(&mesh, &o) == 0, "%s", ls_errmsg());
    return mesh;
}

/* Levels are listed from the top with their number and size. */
TEST(test_levels)
{
    static const ls_level want[] = {
        {"package", 2, 0, 0},
        {"numa", 4, (int64_t)64 << 30, (int64_t)64 << 30},
        {"L3", 8, 32 << 20, 32 << 20},
        {"core", 32, 0, 0},
        {"PU", 64, 0, 0},
    };
    ls_mesh *mesh = open_mesh((ls_mesh_options){.size = sizeof(ls_mesh_options),
                                                .topology = BIG,
                                                .details = true});
    ls_level level;
    int n = sizeof want / sizeof *want;

    for (int i = 0; i < n; i++) {
        ck_assert(ls_mesh_level(mesh, i, &level));
        ck_assert_str_eq(level.name, want[i].name);
        ck_assert_int_eq(level.count, want[i].count);
        ck_assert_int_eq(level.least, want[i].least);
        ck_assert_int_eq(level.most, want[i].most);
    }
    ck_assert(!ls_mesh_level(mesh, n, &level));
    ck_assert(!ls_mesh_level(mesh, -1, &level));
    ck_assert_str_eq(ls_mesh_cpu(mesh), "");
    ls_mesh_close(mesh);
}

/* Machines whose cores are alike have one kind, with all of them. */
TEST(test_one_kind)
{
    ls_mesh *mesh = open_mesh((ls_mesh_options){.size = sizeof(ls_mesh_options),
                                                .topology = BIG});
    ls_core_kind kind;

    ck_assert(ls_mesh_kind(mesh, 0, &kind));
    ck_assert_int_eq(kind.cores, 32);
    ck_assert_int_eq(kind.allowed, 32);
    ck_assert_str_eq(kind.name, "");
    ck_assert(!ls_mesh_kind(mesh, 1, &kind));
    ck_assert(!ls_mesh_kind(mesh, -1, &kind));
    ls_mesh_close(mesh);
}

/* Neighbours fill an L3, then a NUMA node, then a package; those beyond the
 * cores go the same way over the second PUs; devices are dealt in order. */
TEST(test_places)
{
    ls_mesh *mesh = open_mesh((ls_mesh_options){
        .devices = 96, .workers = 70, .topology = BIG, .details = true});
    int device = 0;
    ls_place p;

    for (int w = 0; w < 70; w++) {
        int core = w % 32;

        ck_assert(ls_mesh_place(mesh, w, &p));
        ck_assert_int_eq(p.pu, 2 * core + (w >= 32 && w < 64));
        ck_assert_int_eq(p.core, core);
        ck_assert_int_eq(p.l3, core / 4);
        ck_assert_int_eq(p.numa, core / 8);
        ck_assert_int_eq(p.package, core / 16);
        ck_assert_int_eq(p.kind, 0);
        ck_assert_int_eq(p.device, device);
        device += p.devices;
    }
    ck_assert_int_eq(device, 96);
    ck_assert(!ls_mesh_place(mesh, 70, &p));
    ck_assert(!ls_mesh_place(mesh, -1, &p));
    ls_mesh_close(mesh);
}

/* A caller bound to fewer cores than it wants workers, as mpirun binds by
 * default, is told so; one that wants no more is not. */
TEST(test_bound_caller)
{
    ls_mesh *mesh = open_mesh(ls_mesh_defaults());
    cpu_set_t old, one;
    const char *cpuset;
    bool several;

    ck_assert_int_eq(sched_getaffinity(0, sizeof old, &old), 0);
    CPU_ZERO(&one);
    CPU_SET((size_t)ls_mesh_worker_pu(mesh, 0), &one);
    ls_mesh_close(mesh);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);

    mesh = open_mesh((ls_mesh_options){.size = sizeof(ls_mesh_options),
                                       .workers = 2});
    ck_assert_int_eq(ls_mesh_usable_cores(mesh), 1);
    ck_assert_ptr_nonnull(strstr(ls_mesh_cores_text(mesh), "affinity 1,"));
    /* The whole test may be bound to one core already. */
    ck_assert_ptr_nonnull(cpuset = strstr(ls_mesh_cores_text(mesh), "cpuset "));
    several = strtol(cpuset + strlen("cpuset "), NULL, 10) > 1;
    if (several)
        ck_assert_ptr_nonnull(strstr(ls_mesh_note(mesh, 0),
                                     "the calling thread is bound to 1 of"));
    ck_assert_ptr_nonnull(strstr(ls_mesh_note(mesh, several),
                                 "2 workers share 1 usable core and"));
    ls_mesh_close(mesh);

    mesh = open_mesh((ls_mesh_options){.size = sizeof(ls_mesh_options),
                                       .devices = 1});
    ck_assert_ptr_null(ls_mesh_note(mesh, 0));
    ls_mesh_close(mesh);
    ck_assert_int_eq(sched_setaffinity(0, sizeof old, &old), 0);
}

/* Cores that stay idle because devices are few are said, but not where the
 * number of workers was chosen. */
TEST(test_idle_cores)
{
    ls_mesh_options o = {.size = sizeof o, .devices = 31, .topology = BIG};
    ls_mesh *mesh = open_mesh(o);

    ck_assert_str_eq(ls_mesh_note(mesh, 0),
                     "31 devices leave 1 of 32 usable cores idle; 32 workers "
                     "would use them all, and share the devices' shards");
    ck_assert_ptr_null(ls_mesh_note(mesh, 1));
    ls_mesh_close(mesh);
    o.workers = 31;
    mesh = open_mesh(o);
    ck_assert_ptr_null(ls_mesh_note(mesh, 0));
    ls_mesh_close(mesh);
    o = (ls_mesh_options){.size = sizeof(ls_mesh_options),
                          .devices = 32, .topology = BIG};
    mesh = open_mesh(o);
    ck_assert_ptr_null(ls_mesh_note(mesh, 0));
    ls_mesh_close(mesh);
}

/* Exactly one of the levels is in use, and this CPU has it. */
TEST(test_isa)
{
    int used = 0;
    ls_isa isa;

    ck_assert_int_eq(ls_isa_check(), 0);
    for (int i = 0; ls_isa_level(i, &isa); i++) {
        used += isa.used;
        ck_assert(isa.here || !isa.used);
    }
    ck_assert_int_eq(used, 1);
    ck_assert(!ls_isa_level(-1, &isa));
}

/* A rate is measured for workers that there are and levels that there are. */
TEST(test_measure)
{
    ls_mesh *mesh = open_mesh((ls_mesh_options){.size = sizeof(ls_mesh_options),
                                                .workers = 2});
    ls_pool *pool = NULL;
    double rate = -1;

    ck_assert_int_eq(ls_pool_open(&pool, mesh, NULL), 0);
    ck_assert_int_eq(ls_measure_flops(pool, 3, NULL, &rate), LS_EINVAL);
    ck_assert_str_eq(ls_errmsg(), "measure: 3 workers; the pool has 2");
    ck_assert_int_eq(ls_measure_flops(pool, 0, NULL, &rate), LS_EINVAL);
    ck_assert_int_eq(ls_measure_copy(pool, 0, &rate), LS_EINVAL);
    ck_assert_int_eq(ls_measure_flops(pool, 1, "sse", &rate), LS_EINVAL);
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "\"sse\" is no instruction"));
    ck_assert(rate == -1);
    ck_assert_int_eq(ls_measure_flops(pool, 2, NULL, &rate), 0);
    ck_assert(rate > 0);
    for (int p = LS_F32_LAYERS; p <= LS_F32X3_LAYERS; p++) {
        rate = -1;
        ck_assert_int_eq(ls_measure_products(pool, 1, (ls_precision)p, &rate),
                         0);
        ck_assert(rate > 0);
    }
    ck_assert_int_eq(ls_measure_products(pool, 1, (ls_precision)3, &rate),
                     LS_EINVAL);
    ck_assert_int_eq(ls_measure_copy(pool, 2, &rate), 0);
    ck_assert(rate > 0);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
}

MAIN()
