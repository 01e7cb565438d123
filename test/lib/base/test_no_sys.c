/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that where there is no /sys (a chroot, some containers) the library
 * prints nothing, and has as many cores as the affinity mask.  hwloc by itself
 * prints a line at every look. */
#define _GNU_SOURCE /* RTLD_NEXT, memfd_create */
#include "calls.h"
#include "lockstep.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ------ A machine without /sys ------ */

/* hwloc asks with these whether files of /sys are there, by paths from the
 * root with and without its "/". */

static bool in_sys(const char *path)
{
    return !strncmp(path + (*path == '/'), "sys/", 4);
}

int access(const char *path, int mode)
{
    return faccessat(AT_FDCWD, path, mode, 0);
}

int faccessat(int folder, const char *path, int mode, int flags)
{
    int (*real)(int, const char *, int, int);

    if (in_sys(path)) {
        errno = ENOENT;
        return -1;
    }
    *(void **)&real = dlsym(RTLD_NEXT, "faccessat");
    return real(folder, path, mode, flags);
}

/* ------ */

static int said, out, err; /* what is printed goes to `said` meanwhile */

static void listen(void)
{
    said = memfd_create("said", 0);
    ck_assert_int_ge(said, 0);
    out = dup(1);
    err = dup(2);
    ck_assert_int_eq(dup2(said, 1), 1);
    ck_assert_int_eq(dup2(said, 2), 2);
}

static off_t bytes_heard(void)
{
    off_t bytes;

    fflush(NULL);
    bytes = lseek(said, 0, SEEK_END);
    dup2(out, 1);
    dup2(err, 2);
    close(said);
    close(out);
    close(err);
    return bytes;
}

TEST(test_silent)
{
    ls_mesh *mesh = NULL;
    ls_pool *pool = NULL;
    cpu_set_t mask;
    int status;

    listen();
    status = ls_mesh_open(&mesh, NULL);
    if (!status)
        status = ls_pool_open(&pool, mesh, NULL);
    ck_assert_int_eq(bytes_heard(), 0);
    ck_assert_msg(!status, "%s", ls_errmsg());
    ck_assert_int_eq(sched_getaffinity(0, sizeof mask, &mask), 0);
    ck_assert_int_le(ls_mesh_workers(mesh), CPU_COUNT(&mask));
    for (int w = 0; w < ls_mesh_workers(mesh); w++)
        ck_assert(CPU_ISSET(ls_mesh_worker_pu(mesh, w), &mask));
    ls_pool_close(pool);
    ls_mesh_close(mesh);
}

MAIN()
