/* SPDX-License-Identifier: BSD-3-Clause */
/* Quotas are read from a faked proc and sys tree, and turned into usable cores
 * on synthetic machines.  (Real groups: test/tools/info/info.sh.) */
#define _GNU_SOURCE /* nftw, mkdtemp, asprintf */
#include "calls.h"
#include "mesh/mesh.h"
#include "machine/quota.h"

#include <check.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 10 };

/* ------ Trees ------ */

static const char V2[] = "1 0 0:1 / / rw - ext4 /dev/sda rw\n"
    "30 1 0:28 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n";
static const char V1[] =
    "31 1 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cg rw,cpu,cpuacct\n";
static const char V1_GROUP[] =
    "9:name=systemd:/user\n5:cpuset:/other\n4:cpu,cpuacct:/a/b\n0::/user\n";

#define CG "/sys/fs/cgroup"
#define CPU "/sys/fs/cgroup/cpu,cpuacct"
#define SELF "/proc/self/cgroup"
#define MOUNTS "/proc/self/mountinfo"

/* What is in the files, and what it must mean.  where is the end of the file's
 * name; time 0: no quota.  cores: of a machine of 8. */
static const struct tree {
    const char *name;
    const char *file[FILES][2];
    long long time, period;
    const char *where;
    int cores;
} trees[] = {
    {"nothing is there", {{NULL}}, 0, 0, "", 8},
    {"v2: 1.5 CPUs are one core",
     {{SELF, "0::/job\n"},
      {MOUNTS, V2},
      {CG "/job/cpu.max", "150000 100000\n"}},
     150000,
     100000,
     CG "/job/cpu.max",
     1},
    {"v2: exactly 2",
     {{SELF, "0::/job\n"},
      {MOUNTS, V2},
      {CG "/job/cpu.max", "200000 100000\n"}},
     200000,
     100000,
     CG "/job/cpu.max",
     2},
    {"v2: 3.5 CPUs are three, no end of line",
     {{SELF, "0::/job"}, {MOUNTS, V2}, {CG "/job/cpu.max", "175000 50000"}},
     175000,
     50000,
     CG "/job/cpu.max",
     3},
    {"v2: half a CPU is one core",
     {{SELF, "0::/job\n"}, {MOUNTS, V2}, {CG "/job/cpu.max", "5000 10000\n"}},
     5000,
     10000,
     CG "/job/cpu.max",
     1},
    {"v2: more than the machine has",
     {{SELF, "0::/j\n"}, {MOUNTS, V2}, {CG "/j/cpu.max", "6400000 100000\n"}},
     6400000,
     100000,
     CG "/j/cpu.max",
     8},
    {"v2: max is none",
     {{SELF, "0::/job\n"}, {MOUNTS, V2}, {CG "/job/cpu.max", "max 100000\n"}},
     0,
     0,
     "",
     8},
    {"v2: a parent's is less",
     {{SELF, "0::/a/b/c\n"},
      {MOUNTS, V2},
      {CG "/a/b/c/cpu.max", "400000 100000\n"},
      {CG "/a/b/cpu.max", "max 100000\n"},
      {CG "/a/cpu.max", "250000 100000\n"}},
     250000,
     100000,
     CG "/a/cpu.max",
     2},
    {"v2: the own is less than the parents'",
     {{SELF, "0::/a/b/c\n"},
      {MOUNTS, V2},
      {CG "/a/b/c/cpu.max", "100000 100000\n"},
      {CG "/a/cpu.max", "250000 100000\n"}},
     100000,
     100000,
     CG "/a/b/c/cpu.max",
     1},
    {"v2: only the parent has the controller",
     {{SELF, "0::/a/b\n"}, {MOUNTS, V2}, {CG "/a/cpu.max", "150000 100000\n"}},
     150000,
     100000,
     CG "/a/cpu.max",
     1},
    {"v2: a neighbour's is not ours",
     {{SELF, "0::/a\n"},
      {MOUNTS, V2},
      {CG "/ab/cpu.max", "100000 100000\n"},
      {CG "/a/b/cpu.max", "100000 100000\n"}},
     0,
     0,
     "",
     8},
    {"v2: a container's own view",
     {{SELF, "0::/\n"}, {MOUNTS, V2}, {CG "/cpu.max", "150000 100000\n"}},
     150000,
     100000,
     CG "/cpu.max",
     1},
    {"v2: a container that sees the host's names",
     {{SELF, "0::/docker/abc/job\n"},
      {MOUNTS, "30 1 0:28 /docker/abc " CG " rw - cgroup2 cgroup2 rw\n"},
      {CG "/job/cpu.max", "300000 100000\n"},
      {CG "/cpu.max", "150000 100000\n"}},
     150000,
     100000,
     CG "/cpu.max",
     1},
    {"v2: a group out of sight",
     {{SELF, "0::/../other\n"},
      {MOUNTS, V2},
      {"/sys/fs/other/cpu.max", "100000 100000\n"}},
     0,
     0,
     "",
     8},
    {"v2: a blank in the name of the mount",
     {{SELF, "0::/job\n"},
      {MOUNTS, "30 1 0:28 / /my\\040groups rw - cgroup2 none rw\n"},
      {"/my groups/job/cpu.max", "150000 100000\n"}},
     150000,
     100000,
     "/my groups/job/cpu.max",
     1},
    {"v2: a colon in the name of the group",
     {{SELF, "0::/a:b\n"}, {MOUNTS, V2}, {CG "/a:b/cpu.max", "1 1\n"}},
     1,
     1,
     CG "/a:b/cpu.max",
     1},
    {"v2: nonsense",
     {{SELF, "0::/job\n"},
      {MOUNTS, V2},
      {CG "/job/cpu.max", "many\n"},
      {CG "/cpu.max", "-5 0\n"}},
     0,
     0,
     "",
     8},
    {"v2: an empty file, broken lines",
     {{SELF, "0:\n0::\n\n"},
      {MOUNTS, "a - b\n - \n1 2 3 - cgroup2 x y\n"},
      {CG "/cpu.max", ""}},
     0,
     0,
     "",
     8},
    {"v1: own quota",
     {{SELF, V1_GROUP},
      {MOUNTS, V1},
      {CPU "/a/b/cpu.cfs_quota_us", "350000\n"},
      {CPU "/a/b/cpu.cfs_period_us", "100000\n"}},
     350000,
     100000,
     CPU "/a/b/cpu.cfs_quota_us",
     3},
    {"v1: -1 is none, the parent's counts",
     {{SELF, V1_GROUP},
      {MOUNTS, V1},
      {CPU "/a/b/cpu.cfs_quota_us", "-1\n"},
      {CPU "/a/b/cpu.cfs_period_us", "100000\n"},
      {CPU "/a/cpu.cfs_quota_us", "25000\n"},
      {CPU "/a/cpu.cfs_period_us", "10000\n"}},
     25000,
     10000,
     CPU "/a/cpu.cfs_quota_us",
     2},
    {"v1: another controller's group is not looked at",
     {{SELF, V1_GROUP},
      {MOUNTS, V1},
      {CPU "/other/cpu.cfs_quota_us", "100000\n"},
      {CPU "/other/cpu.cfs_period_us", "100000\n"}},
     0,
     0,
     "",
     8},
    {"v1 and v2 together: the least",
     {{SELF, V1_GROUP},
      {MOUNTS,
       "30 1 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
       "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cg rw,cpu\n"},
      {CG "/unified/user/cpu.max", "600000 100000\n"},
      {CPU "/a/cpu.cfs_quota_us", "500000\n"},
      {CPU "/a/cpu.cfs_period_us", "100000\n"}},
     500000,
     100000,
     CPU "/a/cpu.cfs_quota_us",
     5},
};

static void make_parents(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = 0;
        ck_assert(mkdir(path, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
}

static void write_file(const char *root, const char *name, const char *text)
{
    char *path = NULL;
    FILE *file;

    ck_assert_int_gt(asprintf(&path, "%s%s", root, name), 0);
    make_parents(path);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
    free(path);
}

static void make_root(char root[32])
{
    strcpy(root, "/tmp/lockstep-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
}

static int remove_one(const char *path, const struct stat *info, int flag,
                      struct FTW *ftw)
{
    (void)info;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static void remove_root(const char *root)
{
    ck_assert_int_eq(nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void make_tree(char root[32], const struct tree *tree)
{
    make_root(root);
    for (int i = 0; i < FILES && tree->file[i][0]; i++)
        write_file(root, tree->file[i][0], tree->file[i][1]);
}

/* ------ Tests ------ */

/* The least quota of the own group and all above it is found, with its file,
 * and rounded up to cores; a mesh is planned by it. */
LOOP_TEST(test_tree, 0, sizeof trees / sizeof *trees)
{
    const struct tree *t = &trees[_i];
    ls_mesh_options o = {.size = sizeof o, .topology = "core:8 pu:1"};
    char root[32];
    ls_mesh *mesh;
    ls__quota q;

    make_tree(root, t);
    q = ls__quota_read(root);
    ck_assert_msg(q.time == t->time && q.period == t->period,
                  "%s: %lld of %lld", t->name, (long long)q.time,
                  (long long)q.period);
    if (t->period) {
        ck_assert_int_eq(strncmp(q.where, root, strlen(root)), 0);
        ck_assert_str_eq(q.where + strlen(root), t->where);
    }
    ck_assert_int_eq(ls__mesh_open_below(&mesh, &o, root), 0);
    ck_assert_int_eq(ls_mesh_usable_cores(mesh), t->cores);
    ck_assert_int_eq(ls_mesh_workers(mesh), t->cores);
    ck_assert((ls_mesh_note(mesh, 0) != NULL) == (t->cores < 8));
    ls_mesh_close(mesh);
    remove_root(root);
}

/* Lines longer than the buffer are passed over whole. */
TEST(test_long_lines)
{
    char root[32], *lines = malloc(70000);
    ls__quota q;

    memset(lines, 'x', 60000);
    sprintf(lines + 60000, "\n%s", V2);
    make_root(root);
    write_file(root, MOUNTS, lines);
    write_file(root, SELF, "0::/job\n");
    write_file(root, CG "/job/cpu.max", "150000 100000\n");
    q = ls__quota_read(root);
    ck_assert_int_eq(ls__quota_cores(&q), 1);
    memset(lines, '/', 60000); /* the group's name itself */
    memcpy(lines, "0::", 3);
    write_file(root, SELF, lines);
    q = ls__quota_read(root);
    ck_assert_int_eq(q.period, 0);
    remove_root(root);
    free(lines);
}

/* Rounding up survives numbers that no Linux would write. */
TEST(test_rounding)
{
    ck_assert_int_eq(ls__quota_cores(&(ls__quota){0}), INT32_MAX);
    ck_assert_int_eq(ls__quota_cores(&(ls__quota){.time = 1, .period = 1000}),
                     1);
    ck_assert_int_eq(ls__quota_cores(&(ls__quota){INT64_MAX, 1, ""}),
                     INT32_MAX);
    ck_assert_int_eq(ls__quota_cores(&(ls__quota){199, 100, ""}), 1);
    ck_assert_int_eq(ls__quota_cores(&(ls__quota){200, 100, ""}), 2);
    ck_assert_int_eq(ls__quota_cores(&(ls__quota){INT64_MAX, INT64_MAX, ""}),
                     1);
}

/* The quota takes cores from the front of the order and leaves the other PUs
 * to those who ask for more workers; all of it is said. */
TEST(test_said)
{
    ls_mesh_options o = {.size = sizeof o,
                         .topology = "pack:2 core:4 pu:1", .workers = 3};
    char root[32];
    ls_mesh *mesh;

    make_tree(root, &trees[1]);
    ck_assert_int_eq(ls__mesh_open_below(&mesh, &o, root), 0);
    ck_assert_str_eq(ls_mesh_text(mesh),
                     "8 devices on 3 workers (PU 0-2; oversubscribed)");
    ck_assert_ptr_nonnull(strstr(ls_mesh_cores_text(mesh),
                                 "1 usable core: machine 8, cpuset 8, "
                                 "affinity 8, quota 1.5 CPUs (/tmp/"));
    ck_assert_ptr_nonnull(strstr(ls_mesh_note(mesh, 0), "a quota of 1.5 CPUs"));
    ck_assert_ptr_nonnull(strstr(ls_mesh_note(mesh, 0), "), rounded down "
                                 "because all workers wait for one that is "
                                 "stopped, leaves 1 of 8 cores"));
    ck_assert_ptr_nonnull(strstr(ls_mesh_note(mesh, 1),
                                 "3 workers share 1 usable core "));
    ck_assert_ptr_null(ls_mesh_note(mesh, 2));
    ck_assert_ptr_null(ls_mesh_note(mesh, -1));
    ls_mesh_close(mesh);
    o.devices = o.workers = 1; /* nobody misses the other cores */
    ck_assert_int_eq(ls__mesh_open_below(&mesh, &o, root), 0);
    ck_assert_ptr_null(ls_mesh_note(mesh, 0));
    ls_mesh_close(mesh);
    remove_root(root);
}

/* NUMA balancing is said where it is on and there are nodes to balance. */
TEST(test_balancing)
{
    static const struct {
        const char *topology, *file;
        bool said;
    } row[] = {
        {"numa:2 core:4 pu:1", "1\n", true},
        {"numa:2 core:4 pu:1", "2\n", true},
        {"numa:2 core:4 pu:1", "0\n", false},
        {"numa:2 core:4 pu:1", "", false},
        {"core:8 pu:1", "1\n", false},
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        ls_mesh_options o = {.size = sizeof o, .topology = row[i].topology};
        char root[32];
        ls_mesh *mesh;

        make_root(root);
        write_file(root, "/proc/sys/kernel/numa_balancing", row[i].file);
        ck_assert_int_eq(ls__mesh_open_below(&mesh, &o, root), 0);
        ck_assert((ls_mesh_note(mesh, 0) != NULL) == row[i].said);
        if (row[i].said)
            ck_assert_ptr_nonnull(
                strstr(ls_mesh_note(mesh, 0), "kernel.numa_balancing=0"));
        ls_mesh_close(mesh);
        remove_root(root);
    }
}

typedef struct heard {
    char text[4][512];
    int n;
} heard;

static void listen(void *user, const char *text)
{
    heard *h = user;

    if (h->n < 4)
        snprintf(h->text[h->n], sizeof h->text[0], "%s", text);
    h->n++;
}

/* A log callback is told each note once, in order, while the mesh opens, and
 * nothing later; without one nothing is told, and a failure tells nothing. */
TEST(test_log)
{
    heard h = {.n = 0};
    ls_mesh_options o = {.size = sizeof o,
                         .topology = "core:2 pu:1", .workers = 3,
                         .log = listen, .log_user = &h};
    ls_mesh *mesh, *copy;

    ck_assert_int_eq(ls_mesh_open(&mesh, &o), 0);
    ck_assert_int_eq(h.n, 1);
    ck_assert_str_eq(h.text[0], ls_mesh_note(mesh, 0));
    ck_assert_ptr_null(ls_mesh_note(mesh, 1));
    ck_assert_int_eq(ls__mesh_copy(&copy, mesh), 0);
    ls_mesh_close(copy);
    ls_mesh_close(mesh);
    o.devices = -1;
    ck_assert_int_lt(ls_mesh_open(&mesh, &o), 0);
    ck_assert_int_eq(h.n, 1);
}

MAIN()
