/* SPDX-License-Identifier: BSD-3-Clause */
/* Folders and files that somebody prepared, or that two runs use at once:
 * what is outside a checkpoint folder stays as it is, whatever links lead
 * there; what is inside and not ours stays too; saving goes on all the
 * same.  And children of fork, who have the folder but not the thread that
 * writes into it. */
#define _GNU_SOURCE
#include "folder.h"
#include "models.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ------ A run ------ */

typedef struct world {
    run r;
    ls_checkpoints *saved;
    float x[4 * 3], y[4 * 2];
} world;

static void open_world(world *w)
{
    ls_trainer_options o = ls_trainer_defaults();

    o.optimizer = ls_adam(0.1);
    w->saved = NULL;
    w->r = open_run_on(2, 1, linear_graph(3, 2), &o);
    fill_uniform(1, 12, w->x);
    fill_uniform(2, 8, w->y);
    OK(ls_batch_set(w->r.batch, "x", LS_F32, w->x, 4));
    OK(ls_batch_set(w->r.batch, "y", LS_F32, w->y, 4));
}

static void close_world(world *w)
{
    ls_checkpoints_close(w->saved);
    close_run(&w->r);
}

static void keep(world *w, int n)
{
    ls_checkpoints_options o = {.size = sizeof o,
                                .folder = in_folder("c"), .keep = n};

    OK(ls_checkpoints_open(&w->saved, w->r.trainer, &o));
}

static void save(world *w)
{
    OK(ls_checkpoints_save(w->saved, 0, NULL));
    OK(ls_checkpoints_wait(w->saved));
}

static void step_and_save(world *w)
{
    step(&w->r);
    save(w);
}

static bool there(const char *name)
{
    struct stat info;

    return lstat(in_folder(name), &info) == 0;
}

static const char *const ours[] = {"checkpoint.json", "params.safetensors",
                                   "optimizer.safetensors", "kept.txt"};

/* A folder of somebody else's, with files of all names. */
static void make_victim(const char *name)
{
    char file[64];

    ck_assert_int_eq(mkdir(in_folder(name), 0777), 0);
    for (int i = 0; i < 4; i++) {
        snprintf(file, sizeof file, "%s/%s", name, ours[i]);
        put_file(in_folder(file), "mine", 4);
    }
}

static void check_victim(const char *name)
{
    char file[64];

    for (int i = 0; i < 4; i++) {
        size_t n;
        char *bytes;

        snprintf(file, sizeof file, "%s/%s", name, ours[i]);
        ck_assert_msg(there(file), "%s", file);
        bytes = get_file(in_folder(file), &n);
        ck_assert_uint_eq(n, 4);
        ck_assert_mem_eq(bytes, "mine", 4);
        free(bytes);
    }
}

static void link_to(const char *target, const char *name)
{
    ck_assert_int_eq(symlink(in_folder(target), in_folder(name)), 0);
}

/* ------ What stands where a checkpoint is written ------ */

static void put_link(void)
{
    link_to("victim", "c/.writing");
}

static void put_dangling(void)
{
    link_to("nothing", "c/.writing");
}

static void put_plain(void)
{
    put_file(in_folder("c/.writing"), "mine", 4);
}

static void put_fifo(void)
{
    ck_assert_int_eq(mkfifo(in_folder("c/.writing"), 0666), 0);
}

static void put_subfolder(void)
{
    ck_assert_int_eq(mkdir(in_folder("c/.writing"), 0777), 0);
    make_victim("c/.writing/inner");
}

/* Links in the place of files that would be removed, or written. */
static void put_links_inside(void)
{
    ck_assert_int_eq(mkdir(in_folder("c/.writing"), 0777), 0);
    link_to("victim/params.safetensors", "c/.writing/params.safetensors");
    link_to("victim", "c/.writing/optimizer.safetensors");
    link_to("nothing", "c/.writing/checkpoint.json");
}

static void put_folder_inside(void)
{
    ck_assert_int_eq(mkdir(in_folder("c/.writing"), 0777), 0);
    make_victim("c/.writing/checkpoint.json");
}

static void put_all_names(void)
{
    char name[32] = "c/.writing";

    for (int i = 0; i < 5; i++) {
        if (i)
            snprintf(name, sizeof name, "c/.writing.%d", i);
        link_to("victim", name);
    }
}

static void (*const obstacles[])(void) = {
    put_link,      put_dangling,     put_plain,         put_fifo,
    put_subfolder, put_links_inside, put_folder_inside, put_all_names,
};

/* Whatever stands there, saves and the checkpoint are good, and nothing that is
 * not ours is gone. */
LOOP_TEST(writes_past, 0, sizeof obstacles / sizeof *obstacles)
{
    world w;
    int64_t at;

    ck_assert_int_eq(mkdir(in_folder("c"), 0777), 0);
    make_victim("victim");
    obstacles[_i]();
    open_world(&w);
    keep(&w, 2);
    for (int i = 0; i < 4; i++)
        step_and_save(&w);
    ck_assert_int_eq(ls_checkpoints_count(w.saved), 2);
    OK(ls_checkpoints_load(w.saved, &at));
    ck_assert_int_eq(at, 4);
    ck_assert_ptr_null(ls_checkpoints_skipped(w.saved));
    close_world(&w);
    check_victim("victim");
    if (obstacles[_i] == put_subfolder)
        check_victim("c/.writing/inner");
    if (obstacles[_i] == put_folder_inside)
        check_victim("c/.writing/checkpoint.json");
}

/* Where no name is left the save fails in words, and what is there stays. */
TEST(no_name_left)
{
    char name[32] = "c/.writing";
    world w;

    ck_assert_int_eq(mkdir(in_folder("c"), 0777), 0);
    make_victim("victim");
    for (int i = 0; i < 100; i++) {
        if (i)
            snprintf(name, sizeof name, "c/.writing.%d", i);
        link_to("victim", name);
    }
    open_world(&w);
    keep(&w, 2);
    OK(ls_checkpoints_save(w.saved, 0, NULL));
    FAILS(ls_checkpoints_wait(w.saved), LS_EIO, "/c/.writing");
    close_world(&w);
    check_victim("victim");
    ck_assert(there("c/.writing.99"));
}

/* What a killed save left is removed. */
TEST(clears)
{
    world w;

    ck_assert_int_eq(mkdir(in_folder("c"), 0777), 0);
    ck_assert_int_eq(mkdir(in_folder("c/.writing"), 0777), 0);
    put_file(in_folder("c/.writing/params.safetensors"), "half", 4);
    open_world(&w);
    keep(&w, 2);
    save(&w);
    ck_assert(!there("c/.writing") && !there("c/.writing.1"));
    close_world(&w);
}

/* ------ Old checkpoints ------ */

/* One that was moved away and linked back is read; its link is neither deleted
 * nor followed when old ones are, and takes none of the places. */
TEST(archived)
{
    int64_t at;
    world w;

    open_world(&w);
    keep(&w, 2);
    step_and_save(&w);
    ck_assert_int_eq(rename(in_folder("c/step-000000000001"),
                            in_folder("best")), 0);
    link_to("best", "c/step-000000000001");
    OK(ls_checkpoints_load(w.saved, &at));
    ck_assert_int_eq(at, 1);
    for (int i = 0; i < 4; i++)
        step_and_save(&w);
    ck_assert_int_eq(ls_checkpoints_count(w.saved), 3);
    ck_assert(there("c/step-000000000001"));
    for (int i = 0; i < 3; i++) {
        char file[64];

        snprintf(file, sizeof file, "best/%s", ours[i]);
        ck_assert_msg(there(file), "%s", file);
    }
    ck_assert(there("c/step-000000000005") && there("c/step-000000000004"));
    ck_assert(!there("c/step-000000000003"));
    close_world(&w);
}

/* Names of checkpoints that lead elsewhere, or are no folders. */
TEST(prunes_its_own)
{
    world w;

    ck_assert_int_eq(mkdir(in_folder("c"), 0777), 0);
    make_victim("victim");
    make_victim("c/step-000000000000.1");
    link_to("victim", "c/step-000000000000");
    put_file(in_folder("c/step-000000000001"), "mine", 4);
    ck_assert_int_eq(mkfifo(in_folder("c/step-000000000002"), 0666), 0);
    open_world(&w);
    keep(&w, 1);
    for (int i = 0; i < 4; i++)
        step_and_save(&w);
    ck_assert(there("c/step-000000000000") && there("c/step-000000000001"));
    ck_assert(there("c/step-000000000002") && there("c/step-000000000004"));
    ck_assert(!there("c/step-000000000003"));
    ck_assert(!there("c/step-000000000002.1"));
    ck_assert(there("c/step-000000000000.1/kept.txt"));
    close_world(&w);
    check_victim("victim");
}

/* A link inside an old checkpoint goes, not what it leads to. */
TEST(prunes_links)
{
    world w;

    make_victim("victim");
    open_world(&w);
    keep(&w, 1);
    step_and_save(&w);
    ck_assert_int_eq(
        unlink(in_folder("c/step-000000000001/params.safetensors")), 0);
    link_to("victim/params.safetensors",
            "c/step-000000000001/params.safetensors");
    step_and_save(&w);
    ck_assert(!there("c/step-000000000001"));
    close_world(&w);
    check_victim("victim");
}

/* A folder that is moved while a run keeps its checkpoints there, another
 * taking its place: the run does not write where another one does. */
TEST(moved)
{
    world w, v;

    open_world(&w);
    open_world(&v);
    keep(&w, 1);
    step_and_save(&w);
    ck_assert_int_eq(rename(in_folder("c"), in_folder("d")), 0);
    keep(&v, 1);
    OK(ls_checkpoints_save(w.saved, 0, NULL));
    FAILS(ls_checkpoints_wait(w.saved), LS_EBUSY, "/c: another run");
    ck_assert(!there("c/step-000000000001"));
    ck_assert(there("d/step-000000000001"));
    close_world(&v);
    save(&w);
    ck_assert(there("c/step-000000000001"));
    close_world(&w);
}

/* The same where a link to a folder elsewhere, on another file system if there
 * is one, takes its place: the run goes there, as it is told to. */
TEST(moved_far)
{
    char far[] = "/tmp/lockstep-far-XXXXXX", name[64];
    world w;

    ck_assert_ptr_nonnull(mkdtemp(far));
    open_world(&w);
    keep(&w, 1);
    ck_assert_int_eq(rename(in_folder("c"), in_folder("d")), 0);
    ck_assert_int_eq(symlink(far, in_folder("c")), 0);
    step_and_save(&w);
    snprintf(name, sizeof name, "%s/step-000000000001/checkpoint.json", far);
    ck_assert_int_eq(access(name, F_OK), 0);
    ck_assert(!there("d/step-000000000001"));
    close_world(&w);
    nftw(far, folder_remove, 8, FTW_DEPTH | FTW_PHYS);
}

/* ------ Forks ------ */

static void wait_for(pid_t child)
{
    int status;

    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(status == 0, "status %x", (unsigned)status);
}

static int in_child(world *w)
{
    alarm(20);
    if (ls_checkpoints_save(w->saved, 0, NULL) != LS_ETHREAD ||
        !strstr(ls_errmsg(), "belong to process"))
        return 1;
    if (ls_checkpoints_wait(w->saved) != LS_ETHREAD)
        return 2;
    ls_checkpoints_close(w->saved);
    return 0;
}

/* A child of fork closes checkpoints at once, idle or under way; the parent's
 * are written, and its lock holds. */
TEST(fork_closes)
{
    ls_checkpoints *second;
    world w;

    open_world(&w);
    keep(&w, 2);
    for (int i = 0; i < 20; i++) {
        pid_t child;

        step(&w.r);
        if (i)
            OK(ls_checkpoints_save(w.saved, 0, NULL));
        if ((child = fork()) == 0)
            _exit(in_child(&w));
        wait_for(child);
        OK(ls_checkpoints_wait(w.saved));
    }
    ck_assert(there("c/step-000000000020"));
    ls_checkpoints_options o = {.size = sizeof o,
                                .folder = in_folder("c"), .keep = 2};
    FAILS(ls_checkpoints_open(&second, w.r.trainer, &o), LS_EBUSY, "another");
    close_world(&w);
}

/* ------ Files that are replaced ------ */

static int mode_of(const char *name)
{
    struct stat info;

    ck_assert_int_eq(stat(name, &info), 0);
    return (int)(info.st_mode & 07777);
}

static int others(const char *name)
{
    char command[512];
    FILE *p;
    int n = -1;

    snprintf(command, sizeof command, "ls -A %s | grep -vxc '%s'", folder,
             name);
    p = popen(command, "r");
    ck_assert_int_eq(fscanf(p, "%d", &n), 1);
    pclose(p);
    return n;
}

/* A file that only its owner may read stays so. */
TEST(keeps_mode)
{
    static const int modes[] = {0600, 0640, 0444, 0755};
    const char *name = in_folder("m");
    world w;

    open_world(&w);
    for (int i = 0; i < 4; i++) {
        put_file(name, "old", 3);
        ck_assert_int_eq(chmod(name, (mode_t)modes[i]), 0);
        OK(ls_trainer_save(w.r.trainer, name));
        ck_assert_int_eq(mode_of(name), modes[i]);
        ck_assert_int_eq(unlink(name), 0);
    }
    umask(027);
    OK(ls_trainer_save(w.r.trainer, name));
    ck_assert_int_eq(mode_of(name), 0640);
    umask(022);
    close_world(&w);
}

/* A link stays one, and the file that it names is replaced, with its mode; one
 * to nothing is refused. */
TEST(writes_through_links)
{
    char target[256];
    ls_archive *a;
    world w;

    open_world(&w);
    put_file(in_folder("file"), "mine", 4);
    link_to("file", "link");
    link_to("nothing", "dangling");
    ck_assert_int_eq(chmod(in_folder("file"), 0640), 0);
    OK(ls_trainer_save(w.r.trainer, in_folder("link")));
    OK(ls_archive_open(&a, in_folder("file")));
    ls_archive_close(a);
    ck_assert_int_eq(mode_of(in_folder("file")), 0640);
    FAILS(ls_trainer_save(w.r.trainer, in_folder("dangling")), LS_EIO,
          "dangling: is a link to nothing");
    ck_assert_int_gt(readlink(in_folder("link"), target, sizeof target), 0);
    ck_assert(!there("nothing"));
    ck_assert_int_eq(others("link"), 2);
    close_world(&w);
}

/* No path is no file, and nothing is made. */
TEST(refuses_nothing)
{
    ls_checkpoints_options o = ls_checkpoints_defaults();
    ls_checkpoints *saved;
    ls_predictor *predictor;
    ls_transcript *lines;
    ls_transcript_options t = ls_transcript_defaults();
    world w;

    open_world(&w);
    o.folder = "";
    FAILS(ls_checkpoints_open(&saved, w.r.trainer, &o), LS_EINVAL,
          "a path is empty");
    t.path = "";
    t.program = "test";
    FAILS(ls_transcript_open(&lines, w.r.trainer, &t, 0, NULL), LS_EINVAL,
          "a path is empty");
    FAILS(ls_trainer_save(w.r.trainer, ""), LS_EINVAL, "a path is empty");
    FAILS(ls_trainer_save_model(w.r.trainer, ""), LS_EINVAL, "a path is empty");
    FAILS(ls_trainer_load(w.r.trainer, "", NULL), LS_EINVAL, "a path is empty");
    FAILS(ls_predictor_load(&predictor, ""), LS_EINVAL, "a path is empty");
    close_world(&w);
}

/* The names of files aside cannot be guessed: those that were are left
 * alone. */
TEST(unguessed)
{
    char name[64];
    world w;

    open_world(&w);
    make_victim("victim");
    snprintf(name, sizeof name, "m.tmp-%ld", (long)getpid());
    link_to("victim/kept.txt", name);
    OK(ls_trainer_save(w.r.trainer, in_folder("m")));
    ck_assert(there(name));
    ck_assert_int_eq(unlink(in_folder(name)), 0);
    put_file(in_folder(name), "mine", 4);
    OK(ls_trainer_save(w.r.trainer, in_folder("m")));
    ck_assert(there(name));
    close_world(&w);
    check_victim("victim");
}

/* What a process that was killed left aside goes when the same file is written
 * again; what another one writes, and what is called otherwise, stays. */
TEST(removes_what_was_left)
{
    static const char *const stays[] = {
        "m.tmp-fedcba9876543210", "m.tmp-0123456789abcde", "m.tmp-note",
        "m.tmp-0123456789abcdef0", "n.tmp-0123456789abcdef"};
    const char *left = "m.tmp-0123456789abcdef";
    int fd;
    world w;

    open_world(&w);
    put_file(in_folder(left), "half", 4);
    for (int i = 0; i < 5; i++)
        put_file(in_folder(stays[i]), "mine", 4);
    fd = open(in_folder(stays[0]), O_WRONLY);
    ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
    OK(ls_trainer_save(w.r.trainer, in_folder("m")));
    ck_assert(!there(left));
    for (int i = 0; i < 5; i++)
        ck_assert(there(stays[i]));
    close(fd);
    OK(ls_trainer_save(w.r.trainer, in_folder("m")));
    ck_assert(!there(stays[0]));
    close_world(&w);
}

enum { SAVES = 40 };

static char same[256];

static void *save_often(void *arg)
{
    world *w = arg;

    for (int i = 0; i < SAVES; i++)
        if (ls_trainer_save(w->r.trainer, same) < 0)
            return "failed";
    return NULL;
}

/* Threads that save to one path at the same time all succeed, and whoever reads
 * it finds a whole file. */
TEST(at_once)
{
    pthread_t thread[2];
    world w[2];
    void *failed;
    ls_archive *a;

    snprintf(same, sizeof same, "%s", in_folder("same"));
    for (int i = 0; i < 2; i++)
        open_world(&w[i]);
    OK(ls_trainer_save(w[0].r.trainer, same));
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, save_often, &w[i]);
    for (int i = 0; i < SAVES; i++) {
        OK(ls_archive_open(&a, same));
        ls_archive_close(a);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], &failed);
        ck_assert_ptr_null(failed);
        close_world(&w[i]);
    }
    ck_assert_int_eq(others("same"), 0);
}

/* ------ What is not kept ------ */

/* Settings and notes that no checkpoint could hold, or that would stand for
 * others, are refused when they are given, by name. */
TEST(refuses_settings)
{
    static const struct {
        ls_setting setting[2];
        const char *message;
    } row[] = {
        {{{"a", "1"}, {NULL, "1"}}, "setting 1: its name is NULL"},
        {{{"a", "1"}, {"b", NULL}}, "setting 1: its value is NULL"},
        {{{"a", "1"}, {"b", "\xff\xfe"}}, "\"b\": its value is no UTF-8"},
        {{{"a", "1"}, {"\xc0\x80", ""}}, "its name is no UTF-8"},
        {{{"a", "1"}, {"b", "\xed\xa0\x80"}}, "its value is no UTF-8"},
        {{{"a", "1"}, {"a", "1"}}, "\"a\": stands there already"},
        {{{"a", "1"}, {"lr", "5"}}, "\"lr\": stands there already"},
    };
    enum { ROWS_ = sizeof row / sizeof *row };
    world w;

    open_world(&w);
    for (int i = 0; i < ROWS_; i++) {
        ls_checkpoints_options o = {.size = sizeof o,
                                    in_folder("c"), 3, 2, row[i].setting};

        FAILS(ls_checkpoints_open(&w.saved, w.r.trainer, &o), LS_EINVAL,
              row[i].message);
    }
    keep(&w, 3);
    for (int i = 0; i + 1 < ROWS_; i++)
        FAILS(ls_checkpoints_save(w.saved, 2, row[i].setting), LS_EINVAL,
              row[i].message);
    OK(ls_checkpoints_save(w.saved, 2,
                           (ls_setting[]){{"lr", "5"}, {"\xc3\xa9", ""}}));
    OK(ls_checkpoints_wait(w.saved));
    ck_assert_int_eq(ls_checkpoints_count(w.saved), 1);
    close_world(&w);
}

/* A state that is not finite is no checkpoint, and is named; the one before
 * stays the newest. */
TEST(refuses_infinite)
{
    static const struct {
        const char *name, *message;
    } row[] = {
        {"kernel", "after 1 update the parameter \"kernel\" is not "
                         "finite, first in element 5 of 6"},
        {"mu.kernel", "the mu of the parameter \"kernel\""},
        {"nu.bias", "the nu of the parameter \"bias\""},
    };
    float bad[6] = {0};
    world w;

    open_world(&w);
    keep(&w, 3);
    step_and_save(&w);
    for (int i = 0; i < 3; i++)
        for (int nan = 0; nan < 2; nan++) {
            int n = strstr(row[i].name, "bias") ? 2 : 6;

            bad[n - 1] = nan ? NAN : INFINITY;
            OK(ls_trainer_set(w.r.trainer, row[i].name, n, bad));
            FAILS(ls_trainer_check(w.r.trainer), LS_ENONFINITE, row[i].message);
            FAILS(ls_checkpoints_save(w.saved, 0, NULL), LS_ENONFINITE,
                  row[i].message);
            bad[n - 1] = 0;
            OK(ls_trainer_set(w.r.trainer, row[i].name, n, bad));
            OK(ls_trainer_check(w.r.trainer));
        }
    OK(ls_checkpoints_wait(w.saved));
    ck_assert_int_eq(ls_checkpoints_count(w.saved), 1);
    close_world(&w);
}

MAIN(.setup = folder_open, .teardown = folder_close)
