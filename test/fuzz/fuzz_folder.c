/* SPDX-License-Identifier: BSD-3-Clause */
/* A checkpoint folder in anybody's hands: the input is a script that puts
 * links, pipes, folders and files of all sizes where checkpoints are, and
 * saves, deletes and reads in between.  Nothing outside the folder may
 * change. */
#define _GNU_SOURCE
#include "checkpoint/checkpoint.h"
#include "checkpoint/run_folder.h"
#include "mutate.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static const char *const names[] = {
    ".writing", ".writing.1", ".writing/checkpoint.json", ".writing/more",
    "step-000000000001", "step-000000000001/checkpoint.json",
    "step-000000000001/params.safetensors",
    "step-000000000001/optimizer.safetensors", "step-000000000002",
    "step-000000000002/checkpoint.json", "step-000000000002.1", "step-2",
    "other"};
static const char *const targets[] = {
    "victim", "victim/checkpoint.json", "victim/params.safetensors", "nothing",
    "c", "c/step-000000000001", "c/other"};
static const char *const victims[] = {
    "checkpoint.json", "params.safetensors", "optimizer.safetensors", "kept"};
enum {
    NAMES = sizeof names / sizeof *names,
    TARGETS = sizeof targets / sizeof *targets,
    VICTIMS = sizeof victims / sizeof *victims
};

static const char *in(char room[256], const char *folder, const char *name)
{
    snprintf(room, 256, "%s/%s/%s", root, folder, name);
    return room;
}

static int forget(const char *name, const struct stat *info, int flag,
                  struct FTW *at)
{
    (void)info, (void)flag, (void)at;
    return remove(name);
}

static void make_file(const char *path, const char *text, int64_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    size_t n = strlen(text);

    if (fd < 0)
        return;
    if (write(fd, text, n) != (ssize_t)n || ftruncate(fd, size) < 0)
        abort();
    close(fd);
}

static void open_world(void)
{
    char room[256];

    snprintf(root, sizeof root, "%s/lockstep-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(root) || mkdir(in(room, "victim", ""), 0700) < 0)
        abort();
    for (int i = 0; i < VICTIMS; i++)
        make_file(in(room, "victim", victims[i]), "mine", 4);
}

static void check_victims(void)
{
    char room[256], text[8];

    for (int i = 0; i < VICTIMS; i++) {
        FILE *f = fopen(in(room, "victim", victims[i]), "r");

        if (!f || fread(text, 1, sizeof text, f) != 4 ||
            memcmp(text, "mine", 4))
            abort();
        fclose(f);
    }
}

/* ------ What the script does ------ */

/* The script itself stays in the folder: is the place of a path in it, and not
 * where a link leads? */
static bool is_inside(const char *path)
{
    char folder[256], real[PATH_MAX];
    size_t n = strlen(root);

    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = 0;
    return realpath(folder, real) && !strncmp(real, root, n) &&
           !strncmp(real + n, "/c", 2);
}

static void put(int what, const char *path, const char *target)
{
    char room[256];
    int status = 0;

    if (!is_inside(path))
        return;
    switch (what) {
    case 0: status = nftw(path, forget, 8, FTW_DEPTH | FTW_PHYS); break;
    case 1: status = symlink(in(room, target, ""), path); break;
    case 2: status = mkfifo(path, 0600); break;
    case 3: status = mkdir(path, 0700); break;
    case 4: make_file(path, "", 0); break;
    case 5: make_file(path, "", INT64_C(1) << 40); break;
    case 6: make_file(path, "{}\n\n\n\n\n\n\n{}", 1 << 20); break;
    default: status = rename(in(room, "c", target), path); break;
    }
    (void)status; /* what is there already stays */
}

static void save(const ls__folder *dir, int64_t step, int keep)
{
    static const float value[3] = {1, 2, 3};
    ls__safetensor tensor = {.name = "w", .rank = 1, .shape = {3},
                             .data = value};
    json_t *texts = json_object();
    ls__checkpoint_content s = {1, 1, &tensor, step, "", texts, texts, texts};
    ls__stamp stamp;

    if (ls__checkpoint_write(dir, &s, &stamp) == 0)
        (void)ls__checkpoint_prune(dir, keep, false, stamp);
    json_decref(texts);
}

static void load(const ls__folder *dir)
{
    ls__stamp *list;
    int count;

    if (ls__checkpoint_list(dir->fd, dir->path, &list, &count) < 0)
        return;
    for (int i = 0; i < count; i++) {
        char path[256], text[LS__STAMP_TEXT];
        ls__checkpoint c;

        ls__stamp_text(text, list[i]);
        snprintf(path, sizeof path, "%s/%s", dir->path, text);
        if (ls__checkpoint_open(&c, path) == 0) {
            (void)ls__checkpoint_arrays(&c);
            ls__checkpoint_close(&c);
        }
    }
    free(list);
}

static void run(const ls__folder *dir, const uint8_t *p, size_t n)
{
    char room[256];

    for (size_t i = 0; i + 2 < n && i < 60; i += 3)
        if (p[i] % 16 < 8)
            put(p[i] % 8, in(room, "c", names[p[i + 1] % NAMES]),
                targets[p[i + 2] % TARGETS]);
        else if (p[i] % 16 < 13)
            save(dir, p[i + 1] % 4, p[i + 2] % 4);
        else
            load(dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char room[256];
    ls__folder dir;

    open_world();
    if (ls__run_folder_open(&dir, in(room, "c", "")) < 0)
        abort();
    run(&dir, data, size);
    check_victims();
    ls__run_folder_close(&dir);
    nftw(root, forget, 8, FTW_DEPTH | FTW_PHYS);
    return 0;
}

#ifndef FUZZING
int main(void)
{
    static const uint8_t good[] = {8,  1, 3, 1, 0, 0, 9, 2, 1, 13, 0, 0,
                                   0,  4, 0, 1, 4, 0, 8, 2, 1, 13, 0, 0,
                                   12, 3, 1, 2, 5, 0, 5, 6, 0, 13, 0, 0};

    feed(good, sizeof good, 1000);
    return 0;
}
#endif
