/* SPDX-License-Identifier: BSD-3-Clause */
/* Every call of ours to threads, hwloc and files fails in turn: a status with a
 * message each time, nothing kept (descriptors, threads; memory by the leak
 * sanitizer), what was there before intact, and the same call works afterwards.
 *
 * The functions below stand before those of the libraries and call them.  Only
 * calls from this program count: hwloc and the C library call each other. */
#define _GNU_SOURCE
#include "picture_folder.h"
#include "small_model.h"

#include "base/error.h"
#include "faults.h"
#include "tasks.h"

#include <lockstep/files.h>
#include <lockstep/images.h>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <hwloc.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------ The functions before the libraries' ------ */

#define CALLED_FROM __builtin_return_address(0)

static const char *refused_call; /* the one that failed */
static int refused_errno;
static bool renamed;            /* a file is in its place */
static bool halves, interrupts; /* write does half; write and fsync: EINTR */

/* Is this call, from there, the one to fail? */
static bool fails(const void *from, const char *name, int error)
{
    if (!ours(from) || granted())
        return false;
    refused_call = name;
    errno = refused_errno = error;
    return true;
}

static void *next(const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);

    if (!f)
        abort();
    return f;
}

/* A function that fails as its own would, or calls that. */
#define FAILING(type, name, bad, error, params, args) \
    type name params \
    { \
        type(*real) params = next(#name); \
\
        return fails(CALLED_FROM, #name, error) ? bad : real args; \
    }

/* ThreadSanitizer calls these two where no code of ours may run yet. */
#if !defined(__SANITIZE_THREAD__)

FAILING(int, pthread_attr_init, ENOMEM, ENOMEM, (pthread_attr_t *attr), (attr))
FAILING(void *, mmap, MAP_FAILED, ENODEV,
        (void *at, size_t bytes, int protect, int flags, int fd, off_t from),
        (at, bytes, protect, flags, fd, from))

#endif

FAILING(int, pthread_create, EAGAIN, EAGAIN,
        (pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
         void *user),
        (thread, attr, run, user))
FAILING(int, pthread_attr_setstacksize, EINVAL, EINVAL,
        (pthread_attr_t *attr, size_t size), (attr, size))
FAILING(int, madvise, -1, EINVAL,
        (void *at, size_t bytes, int advice), (at, bytes, advice))

int openat(int in, const char *path, int flags, ...)
{
    int (*real)(int, const char *, int, ...) = next("openat");

    return fails(CALLED_FROM, "openat", EACCES)
               ? -1
               : real(in, path, flags, 0666);
}

int open(const char *path, int flags, ...)
{
    int (*real)(const char *, int, ...) = next("open");

    return fails(CALLED_FROM, "open", EACCES) ? -1 : real(path, flags, 0666);
}

ssize_t write(int fd, const void *data, size_t bytes)
{
    ssize_t (*real)(int, const void *, size_t) = next("write");

    if (fails(CALLED_FROM, "write", interrupts ? EINTR : ENOSPC))
        return -1;
    return real(fd, data, halves && bytes > 1 ? bytes / 2 : bytes);
}

FAILING(int, fsync, -1, interrupts ? EINTR : EIO, (int fd), (fd))

/* Fail as Linux does: the descriptor is gone all the same. */
int close(int fd)
{
    int (*real)(int) = next("close");
    bool bad = fails(CALLED_FROM, "close", EDQUOT);
    int status = real(fd);

    if (bad)
        errno = EDQUOT;
    return bad ? -1 : status;
}

int rename(const char *from, const char *to)
{
    int (*real)(const char *, const char *) = next("rename");

    renamed = true;
    if (!fails(CALLED_FROM, "rename", EROFS))
        return real(from, to);
    renamed = false;
    return -1;
}

FAILING(ssize_t, read, -1, EIO,
        (int fd, void *data, size_t bytes), (fd, data, bytes))
FAILING(int, flock, -1, ENOLCK, (int fd, int operation), (fd, operation))
FAILING(ssize_t, pread, -1, EIO,
        (int fd, void *data, size_t bytes, off_t at), (fd, data, bytes, at))
FAILING(int, mkdir, -1, EROFS, (const char *path, mode_t mode), (path, mode))
FAILING(int, mkdirat, -1, EROFS,
        (int in, const char *path, mode_t mode), (in, path, mode))
FAILING(int, renameat, -1, EROFS,
        (int from_fd, const char *from, int to_fd, const char *to),
        (from_fd, from, to_fd, to))
FAILING(int, unlinkat, -1, EACCES,
        (int in, const char *path, int flags), (in, path, flags))
FAILING(int, fstat, -1, EIO, (int fd, struct stat *info), (fd, info))
FAILING(int, fstatat, -1, EIO,
        (int in, const char *path, struct stat *info, int flags),
        (in, path, info, flags))
FAILING(DIR *, fdopendir, NULL, EMFILE, (int fd), (fd))
FAILING(int, unlink, -1, EACCES, (const char *path), (path))
FAILING(DIR *, opendir, NULL, EMFILE, (const char *path), (path))
FAILING(FILE *, fopen, NULL, EMFILE,
        (const char *path, const char *mode), (path, mode))

/* A duplicate of a descriptor is all that is asked of it. */
int fcntl(int fd, int command, ...)
{
    int (*real)(int, int, ...) = next("fcntl");

    return fails(CALLED_FROM, "fcntl", EMFILE) ? -1 : real(fd, command, 0);
}

FAILING(FILE *, fdopen, NULL, ENOMEM, (int fd, const char *mode), (fd, mode))
FAILING(int, fflush, EOF, ENOSPC, (FILE *file), (file))

int fclose(FILE *file)
{
    int (*real)(FILE *) = next("fclose");
    bool bad = fails(CALLED_FROM, "fclose", ENOSPC);
    int status = real(file);

    if (bad)
        errno = ENOSPC;
    return bad ? EOF : status;
}

/* hwloc's, in the order in which a mesh and a pool call them. */

FAILING(int, hwloc_topology_init, -1, ENOMEM, (hwloc_topology_t *t), (t))
FAILING(int, hwloc_topology_set_flags, -1, EINVAL,
        (hwloc_topology_t t, unsigned long flags), (t, flags))
FAILING(int, hwloc_topology_set_synthetic, -1, EINVAL,
        (hwloc_topology_t t, const char *text), (t, text))
FAILING(int, hwloc_topology_set_xml, -1, EINVAL,
        (hwloc_topology_t t, const char *path), (t, path))
FAILING(int, hwloc_topology_load, -1, ENOSYS, (hwloc_topology_t t), (t))
FAILING(int, hwloc_topology_dup, -1, ENOMEM,
        (hwloc_topology_t *to, hwloc_topology_t from), (to, from))
FAILING(hwloc_bitmap_t, hwloc_bitmap_alloc, NULL, ENOMEM, (void), ())
FAILING(int, hwloc_get_cpubind, -1, ENOSYS,
        (hwloc_topology_t t, hwloc_bitmap_t set, int flags), (t, set, flags))
FAILING(int, hwloc_set_cpubind, -1, EXDEV,
        (hwloc_topology_t t, hwloc_const_bitmap_t set, int flags),
        (t, set, flags))
FAILING(int, hwloc_get_last_cpu_location, -1, ENOSYS,
        (hwloc_topology_t t, hwloc_bitmap_t set, int flags), (t, set, flags))
FAILING(int, hwloc_cpukinds_get_nr, -1, EINVAL,
        (hwloc_topology_t t, unsigned long flags), (t, flags))

/* ------ What is called ------ */

static const char path[] = "faults.tmp";
static ls_pool *pool;       /* opened before anything fails */
static ls_trainer *trainer; /* likewise */
static ls_trainer *adapted; /* one with adapters */
static ls_pool *crew;       /* one with two more workers */
static ls_trace *trace;

static int open_and_close(const char *topology, bool with_pool)
{
    ls_mesh_options o = {.size = sizeof o,
                         .devices = 4, .workers = 3, .topology = topology};
    ls_pool_options pin = {.size = sizeof pin, .pin_caller = true};
    ls_mesh *mesh;
    ls_pool *p;
    int status = ls_mesh_open(&mesh, &o);

    if (status < 0)
        return status;
    if (with_pool)
        status = ls_pool_open(&p, mesh, &pin);
    atomic_store(&watching, false); /* closing cannot fail */
    if (with_pool && status == 0)
        ls_pool_close(p);
    ls_mesh_close(mesh);
    return status;
}

static int open_here(void)
{
    return open_and_close(NULL, true);
}

static int plan_synthetic(void)
{
    return open_and_close("pack:2 core:2 pu:2", false);
}

/* More than 4 MB of parameters, which are advised to be huge pages. */
static int open_big(void)
{
    int64_t wide = 1200;
    ls_trainer *t = NULL;
    ls_graph *g;
    int status = ls_graph_new(&g);

    if (status < 0)
        return status;
    ls_node *x = ls_input(g, "x", LS_F32, 1, &wide);
    ls_loss(g, ls_mean_squared_error(ls_dense(x, wide, "a"), x));
    status = ls_trainer_open(&t, pool, g, NULL);
    ls_trainer_close(t);
    ls_graph_free(g);
    return status;
}

static int save(void)
{
    return ls_trainer_save(trainer, path);
}

static int write_trace(void)
{
    return ls_trace_write(trace, path);
}

static int load(void)
{
    ls_array t;
    int status = ls_npy_load(&t, "faults.npy", LS_F32);

    if (status == 0)
        ls_array_free(&t);
    return status;
}

static int load_params(void)
{
    return ls_trainer_load(trainer, in_folder("params"), NULL);
}

static int look(void)
{
    ls_archive *a;
    int status = ls_archive_open(&a, in_folder("params"));

    if (status == 0)
        ls_archive_close(a);
    return status;
}

/* A folder of checkpoints where one of them is meant: told, if it can be
 * listed. */
static int look_at_all(void)
{
    ls_archive *a;
    int status = ls_archive_open(&a, in_folder("c"));

    return status == LS_EFORMAT && strstr(ls_errmsg(), "holds 1 checkpoint;")
               ? 0
               : status;
}

static int keep(void)
{
    ls_checkpoints_options o = {.size = sizeof o,
                                .folder = in_folder("c"), .keep = 1};
    ls_checkpoints *c;
    int status = ls_checkpoints_open(&c, trainer, &o);

    if (status < 0)
        return status;
    status = ls_checkpoints_save(c, 0, NULL);
    if (status == 0)
        status = ls_checkpoints_wait(c);
    atomic_store(&watching, false);
    ls_checkpoints_close(c);
    return status;
}

static int resume(void)
{
    ls_checkpoints_options o = {.size = sizeof o,
                                .folder = in_folder("c"), .keep = 0};
    ls_checkpoints *c;
    int64_t step;
    int status = ls_checkpoints_open(&c, trainer, &o);

    if (status < 0)
        return status;
    status = ls_checkpoints_load(c, &step);
    if (status == 0 && (step < 0 || ls_checkpoints_skipped(c)))
        status = LS_ENOTFOUND;
    atomic_store(&watching, false);
    ls_checkpoints_close(c);
    return status;
}

/* Two batches of x (3) and y (2), of which a thread makes one. */
static int prefetch(void)
{
    static const float x[8 * 3], y[8 * 2];
    ls_array rows[] = {{"x", LS_F32, 2, {8, 3}, (void *)(uintptr_t)x},
                       {"y", LS_F32, 2, {8, 2}, (void *)(uintptr_t)y}};
    ls_loader_options o = {.size = sizeof o, .batch = 4};
    ls_loader *l;
    ls_source s;
    int status = ls_source_arrays(&s, 2, rows);

    if (status == 0 && (status = ls_loader_open(&l, trainer, &s, &o)) < 0)
        ls_source_close(&s);
    if (status < 0)
        return status;
    atomic_store(&watching, false);
    ls_loader_close(l);
    return 0;
}

static int images(void)
{
    ls_source s;
    int status = ls_source_images(&s, in_folder("idx-images"), NULL);

    if (status == 0)
        ls_source_close(&s);
    return status;
}

#ifdef WITH_PICTURES
static int pictures(void)
{
    return use_pictures(2);
}
#endif

static int save_adapters(void)
{
    return save_as(LS_SAVE_ADAPTERS, adapted, path);
}

static int save_merged(void)
{
    return save_as(LS_SAVE_MERGED, adapted, path);
}

static int load_adapters(void)
{
    return ls_lora_load(adapted, in_folder("adapters"));
}

static int add_adapters(void)
{
    ls_graph *g;
    int status = ls_graph_new(&g);

    if (status < 0)
        return status;
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){IN});
    ls_dense(ls_dense(x, 8, "hidden"), OUT, "out");
    status = ls_lora_add_saved(g, in_folder("adapters"));
    ls_graph_free(g);
    return status;
}

/* A worker that a function has ended, while another goes on, is made anew for
 * the next call, or for the one after it. */
static int replace_worker(void)
{
    int last = 2, none = -1;
    int status = ls_pmap(crew, ending_device, &last, 0, NULL, 0, NULL);

    if (status != LS_EUSER)
        return status;
    status = ls_pmap(crew, ending_device, &none, 0, NULL, 0, NULL);
    atomic_store(&watching, false);
    if (status < 0 && ls_pmap(crew, ending_device, &none, 0, NULL, 0, NULL) < 0)
        return 0; /* which is noticed */
    return status;
}

/* A pool is closed while a worker is missing that could not be made anew. */
static int close_without(void)
{
    int last = 1, none = -1;
    ls_pool *p;
    int status;

    atomic_store(&watching, false);
    p = open_axes("data:2", 2);
    (void)ls_pmap(p, ending_device, &last, 0, NULL, 0, NULL);
    atomic_store(&watching, true);
    status = ls_pmap(p, ending_device, &none, 0, NULL, 0, NULL);
    atomic_store(&watching, false);
    ls_pool_close(p);
    return status;
}

typedef struct scenario {
    int (*call)(void);
    bool saves;           /* to the path */
    const char *harmless; /* calls whose failure costs no more than comfort */
} scenario;

/* The folder is then not synced, or not looked through; the file not locked. */
#define ASIDE "opendir flock fstat fcntl open close"

static const scenario scenarios[] = {
    {open_here, false,
     "hwloc_topology_set_flags hwloc_cpukinds_get_nr fopen fclose "
     "hwloc_get_cpubind hwloc_bitmap_alloc "
     "mmap madvise"}, /* of base/process.c */
    {plan_synthetic, false, "hwloc_topology_set_flags hwloc_cpukinds_get_nr"},
    {open_big, false, "madvise"},
    {save, true, ASIDE},
    {write_trace, true, ASIDE}, /* as above */
    {load, false, "fclose"},
    {load_params, false, "close"},
    {look, false, "close"},
    {look_at_all, false, "close open"}, /* of what is not there */
    {keep, false, /* clearing and pruning */
     "mmap madvise close flock openat unlinkat fstat fstatat"},
    {resume, false, "mmap madvise close flock"},
    {prefetch, false, "mmap madvise hwloc_bitmap_alloc hwloc_set_cpubind"},
    {images, false, "close"},
#ifdef WITH_PICTURES
    {pictures, false,
     "close pthread_create pthread_attr_init pthread_attr_setstacksize"},
#endif
    {save_adapters, true, ASIDE}, /* as above */
    {save_merged, true, ASIDE},
    {load_adapters, false, "close"},
    {add_adapters, false, "close"},
    {replace_worker, false, "hwloc_set_cpubind"},
    {close_without, false, "hwloc_set_cpubind"},
};

/* ------ What must be as it was ------ */

static int entries(const char *where, const char *part)
{
    DIR *dir = opendir(where);
    int n = 0;

    ck_assert_ptr_nonnull(dir);
    for (const struct dirent *e; (e = readdir(dir));)
        n += strstr(e->d_name, part) != NULL;
    closedir(dir);
    return n;
}

static size_t content(char *out, size_t room)
{
    int fd = open(path, O_RDONLY);
    ssize_t n = read(fd, out, room);

    close(fd);
    return n < 0 ? 0 : (size_t)n;
}

static void write_file(const char *name, const void *data, size_t bytes)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);

    ck_assert_int_eq(write(fd, data, bytes), bytes);
    close(fd);
}

static const char before[] = "what was there before";

/* The old file, or the whole new one: a folder that cannot be synced is told
 * when the new one is in its place. */
static void check_file(int status, const char *whole, size_t size)
{
    static char now[1 << 20];
    size_t n = content(now, sizeof now);

    ck_assert(n == size || (n == sizeof before && status < 0));
    ck_assert_mem_eq(now, n == size ? whole : before, n);
    ck_assert_int_eq(entries(".", "faults.tmp.tmp"), 0);
}

static int call_with(const scenario *s, int fail)
{
    int status;

    refused_call = NULL;
    renamed = false;
    ls__fail(0, "%s", "");
    watch_from(fail);
    status = s->call();
    atomic_store(&watching, false);
    return status;
}

static void open_all(void)
{
    ls_graph *g = small_graph();
    unsigned char npy[128 + 4] = "\x93NUMPY\1";
    char text[] = "{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }";

    pool = open_axes("data:4", 1);
    crew = open_axes("data:3", 3);
    OK(ls_trainer_open(&trainer, pool, g, NULL));
    OK(ls_trace_open(&trace, pool, NULL));
    ls_trace_counter(pool, "counter", 1);
    ls_graph_free(g);
    g = small_graph();
    OK(ls_lora_add(g, "*.kernel", 2, 4));
    OK(ls_trainer_open(&adapted, pool, g, NULL));
    ls_graph_free(g);
    OK(save_as(LS_SAVE_ADAPTERS, adapted, in_folder("adapters")));
    npy[8] = 118;
    memset(npy + 10, ' ', 117);
    memcpy(npy + 10, text, sizeof text - 1);
    npy[127] = '\n';
    write_file("faults.npy", npy, sizeof npy);
    put_file(in_folder("idx-images"), "\0\0\10\3\0\0\0\4\0\0\0\1\0\0\0\1abcd",
             20);
    put_file(in_folder("idx-labels"), "\0\0\10\1\0\0\0\4abcd", 12);
    write_picture_folder();
    OK(ls_trainer_save(trainer, in_folder("params")));
    OK(keep());
}

static void close_all(void)
{
    ls_trace_close(trace);
    ls_pool_close(crew);
    ls_trainer_close(adapted);
    ls_trainer_close(trainer);
    ls_pool_close(pool);
    unlink(path);
    unlink("faults.npy");
}

/* ------ Tests ------ */

static void check_failure(const scenario *s, int n, int status)
{
    if (strstr(s->harmless, refused_call) && (renamed || !s->saves)) {
        ck_assert_msg(status == 0 || *ls_errmsg(), "%s", refused_call);
        return;
    }
    ck_assert_msg(status < 0, "call %d, %s, fails and nobody notices", n,
                  refused_call);
    ck_assert_msg(*ls_errmsg(), "%s", refused_call);
    if (s->saves)
        ck_assert_msg(strstr(ls_errmsg(), path) &&
                          strstr(ls_errmsg(), strerror(refused_errno)),
                      "%s: %s", refused_call, ls_errmsg());
}

/* Call number n fails, for all n. */
LOOP_TEST(test_each_fails, 0, sizeof scenarios / sizeof *scenarios)
{
    static char whole[1 << 20];
    const scenario *s = &scenarios[_i];
    int files, threads, total;
    size_t size = 0;

    open_all();
    OK(call_with(s, 0));
    total = atomic_load(&count);
    ck_assert_int_gt(total, 0);
    if (s->saves)
        size = content(whole, sizeof whole);
    files = entries("/proc/self/fd", "");
    threads = settled_tasks();
    for (int n = 1; n <= total; n++) {
        int status;

        if (s->saves)
            write_file(path, before, sizeof before);
        check_failure(s, n, status = call_with(s, n));
        if (s->saves)
            check_file(status, whole, size);
        ck_assert_int_eq(entries("/proc/self/fd", ""), files);
        if (s->call == keep) /* the newest is whole */
            OK(resume());
        await_tasks(threads);
    }
    OK(call_with(s, 0));
    close_all();
}

/* Short writes and interrupted ones are no failures, nor is a sync that a
 * signal interrupts. */
TEST(test_patient)
{
    static char whole[1 << 20], again[1 << 20];
    size_t size;
    int total, writes = 0, syncs = 0;

    open_all();
    OK(save());
    size = content(whole, sizeof whole);
    halves = true;
    OK(save());
    ck_assert_uint_eq(content(again, sizeof again), size);
    ck_assert_mem_eq(whole, again, size);
    halves = false;
    interrupts = true;
    OK(call_with(&scenarios[3], 0));
    total = atomic_load(&count);
    for (int n = 1; n <= total; n++) {
        int status = call_with(&scenarios[3], n);

        if (strcmp(refused_call, "write") && strcmp(refused_call, "fsync"))
            continue;
        writes += *refused_call == 'w';
        syncs += *refused_call == 'f';
        ck_assert_int_eq(status, 0);
        ck_assert_uint_eq(content(again, sizeof again), size);
        ck_assert_mem_eq(whole, again, size);
    }
    interrupts = false;
    ck_assert_int_ge(writes, 3);
    ck_assert_int_eq(syncs, 2); /* of the file and of its folder */
    close_all();
}

/* A trainer goes on after a save that failed, in the same bits. */
TEST(test_goes_on)
{
    char hex[2][65];
    int failures = 0;

    for (int bad = 0; bad < 2; bad++) {
        ls_result r;
        ls_batch *b;

        open_all();
        b = small_batch(trainer);
        OK(ls_step(trainer, b, &r));
        for (int n = 1; bad && n <= 8; n++)
            failures += call_with(&scenarios[3], n) < 0;
        OK(ls_step(trainer, b, &r));
        ls_trainer_hash(trainer, hex[bad]);
        ls_batch_close(b);
        close_all();
    }
    ck_assert_int_ge(failures, 4);
    ck_assert_str_eq(hex[0], hex[1]);
}

MAIN(.setup = folder_open, .teardown = folder_close)
