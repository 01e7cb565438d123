/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing checkpoints and deleting old ones, in the open folder DIR, which only
 * one process at a time may do (the caller has locked it).
 *
 * One is written in the folder DIR/.writing, then renamed (atomic rename).
 * What a killed process left there is removed first.  DIR may have come from
 * anywhere, so nothing is written or deleted through a link, and of a folder
 * only the files that are named here are ever removed. */
#define _GNU_SOURCE
#include "base/assert.h"
#include "base/error.h"
#include "base/json.h"
#include "checkpoint/checkpoint.h"
#include "file/file.h"
#include "file/seal.h"
#include "state/state_hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------ The files of a checkpoint ------ */

static int put_params(ls__newfile *out, const ls__checkpoint_content *s)
{
    return ls__safetensors_put(out, s->params, s->tensor, 0, NULL);
}

static int put_optimizer(ls__newfile *out, const ls__checkpoint_content *s)
{
    return ls__safetensors_put(out, s->tensors - s->params,
                               s->tensor + s->params, 0, NULL);
}

static void state_hash(const ls__checkpoint_content *s, char hex[65])
{
    ls__sha256 sha;

    ls__sha256_init(&sha);
    for (int i = 0; i < s->tensors; i++) {
        const ls__safetensor *t = &s->tensor[i];

        ls__state_array(&sha, "", t->name, t->rank, t->shape, t->data,
                        (size_t)ls__count(t->rank, t->shape) * sizeof(float));
    }
    ls__state_end(&sha, s->step, hex);
}

static char *json_text(const ls__checkpoint_content *s)
{
    char hex[65], *text;
    json_t *info;

    state_hash(s, hex);
    info = json_pack("{s:s, s:s, s:I, s:s, s:O, s:O, s:O}", "lockstep",
                     ls_version(), LS__SEAL, LS__SEAL_OPEN, "step",
                     (json_int_t)s->step, "state", hex, "options", s->options,
                     "graph", s->graph, "notes", s->notes);
    if (!info) {
        ls__no_memory("checkpoint.json", 0);
        return NULL;
    }
    if (*s->root && json_object_set_new(info, LS__ROOT_NOTE,
                                        json_string(s->root)) < 0) {
        ls__no_memory("checkpoint.json", 0);
        json_decref(info);
        return NULL;
    }
    text = ls__json_text(info, JSON_INDENT(1));
    json_decref(info);
    return text;
}

static int put_json(ls__newfile *out, const ls__checkpoint_content *s)
{
    char *text = json_text(s);
    size_t n;
    int status;

    if (!text)
        return LS_ENOMEM;
    n = strlen(text);
    ls__seal_close(ls__seal_find(text, n), ls__crc32(0, text, n));
    status = ls__newfile_write(out, text, n);
    free(text);
    return status;
}

/* The files in the order in which they are written.  They are deleted the other
 * way round: a folder with a JSON is whole. */
static const struct {
    const char *name;
    int (*put)(ls__newfile *out, const ls__checkpoint_content *snapshot);
} files[] = {
    {"params.safetensors", put_params},
    {"optimizer.safetensors", put_optimizer},
    {"checkpoint.json", put_json},
};
enum { FILES = sizeof files / sizeof *files };

/* ------ Folders in DIR ------ */

static int open_folder(const ls__folder *dir, const char *name)
{
    return openat(dir->fd, name,
                  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* LS_EIO with the path of what failed. */
static int name_error(const ls__folder *dir, const char *name,
                      const char *what)
{
    return ls__fail(LS_EIO, "%s/%s: %s: %s", dir->path, name, what,
                    strerror(errno));
}

/* Remove our files of a folder, and the folder once it is empty.  -1: errno
 * says why one of the files stays. */
static int remove_folder(const ls__folder *dir, const char *name)
{
    int folder = open_folder(dir, name), status = 0, error;

    if (folder < 0)
        return -1;
    for (int i = FILES - 1; i >= 0 && status == 0; i--)
        if (unlinkat(folder, files[i].name, 0) < 0 && errno != ENOENT)
            status = -1;
    error = errno;
    close(folder);
    errno = error;
    if (status == 0)
        (void)unlinkat(dir->fd, name, AT_REMOVEDIR);
    return status;
}

/* ------ One checkpoint ------ */

enum { NAME = 24, NAMES = 100 };

_Static_assert(sizeof ".writing.99" <= NAME, "of the last of them");

typedef struct writer {
    const ls__checkpoint_content *snapshot;
    const ls__folder *dir;
    char name[NAME]; /* of the folder in it that is written */
    int folder;      /* it, open; -1: there is none */
} writer;

/* ".writing", or ".writing.1" and so on where what has that name is not ours to
 * remove. */
static int make_folder(writer *w)
{
    for (int i = 0; i < NAMES; i++) {
        snprintf(w->name, sizeof w->name, i ? ".writing.%d" : ".writing", i);
        (void)remove_folder(w->dir, w->name); /* mkdirat will tell */
        if (mkdirat(w->dir->fd, w->name, 0777) == 0)
            break;
        if (errno != EEXIST)
            return name_error(w->dir, w->name, "cannot be made");
    }
    w->folder = open_folder(w->dir, w->name);
    return w->folder < 0 ? name_error(w->dir, w->name, "cannot be opened") : 0;
}

static int write_file(const writer *w, int i, const char *path)
{
    ls__newfile out = {path, -1};
    int status;

    if (ls__newfile_create(&out, w->folder, files[i].name, 0666) < 0)
        return ls__io_error(path, "cannot be created");
    status = files[i].put(&out, w->snapshot);
    if (status == 0)
        status = ls__newfile_finish(&out);
    ls__newfile_close(&out);
    return status;
}

static int write_files(const writer *w)
{
    size_t room = strlen(w->dir->path) + NAME + 32;
    char *path = ls__new(room, 1, "file name");
    int status = path ? 0 : LS_ENOMEM;

    for (int i = 0; i < FILES && status == 0; i++) {
        snprintf(path, room, "%s/%s/%s", w->dir->path, w->name, files[i].name);
        status = write_file(w, i, path);
    }
    if (status == 0)
        status = ls__folder_sync(w->folder, path);
    free(path);
    return status;
}

static int list_in(const ls__folder *dir, ls__stamp **list, int *count)
{
    return ls__checkpoint_list(dir->fd, dir->path, list, count);
}

/* The first name behind those that there are. */
static int choose_stamp(const writer *w, ls__stamp *stamp)
{
    ls__stamp *list;
    int count, status = list_in(w->dir, &list, &count);

    if (status < 0)
        return status;
    *stamp = (ls__stamp){w->snapshot->step, 0};
    for (int i = 0; i < count; i++)
        if (list[i].step == stamp->step)
            stamp->serial = list[i].serial + 1;
    free(list);
    return 0;
}

static int appear(const writer *w, ls__stamp *stamp)
{
    char text[LS__STAMP_TEXT];
    int status = choose_stamp(w, stamp);

    if (status < 0)
        return status;
    ls__stamp_text(text, *stamp);
    if (renameat(w->dir->fd, w->name, w->dir->fd, text) < 0)
        return name_error(w->dir, text, "renaming failed");
    return ls__folder_sync(w->dir->fd, w->dir->path);
}

/* The message is that of the failure, not of what is cleared after it. */
static int undo(const writer *w, int status)
{
    char message[LS__MESSAGE];

    snprintf(message, sizeof message, "%s", ls_errmsg());
    (void)remove_folder(w->dir, w->name);
    return ls__fail(status, "%s", message);
}

int ls__checkpoint_write(const ls__folder *dir,
                         const ls__checkpoint_content *snapshot,
                         ls__stamp *stamp)
{
    writer w = {.snapshot = snapshot, .dir = dir, .folder = -1};
    int status = make_folder(&w);

    if (status == 0 && ((status = write_files(&w)) < 0 ||
                        (status = appear(&w, stamp)) < 0))
        status = undo(&w, status);
    if (w.folder >= 0)
        close(w.folder);
    return status;
}

/* ------ Old ones ------ */

/* A link to a checkpoint is somebody's who keeps it elsewhere. */
static bool is_folder(const ls__folder *dir, ls__stamp stamp)
{
    char text[LS__STAMP_TEXT];
    struct stat info;

    ls__stamp_text(text, stamp);
    return fstatat(dir->fd, text, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(info.st_mode);
}

/* Folders alone; how many there are. */
static int keep_folders(const ls__folder *dir, ls__stamp *list, int count)
{
    int n = 0;

    for (int i = 0; i < count; i++)
        if (is_folder(dir, list[i]))
            list[n++] = list[i];
    return n;
}

static int delete(const ls__folder *dir, ls__stamp stamp)
{
    char text[LS__STAMP_TEXT];

    ls__stamp_text(text, stamp);
    return remove_folder(dir, text) < 0
               ? name_error(dir, text, "an old checkpoint stays") : 0;
}

int ls__checkpoint_prune(const ls__folder *dir, int keep, bool first,
                         ls__stamp newest)
{
    ls__stamp *list = NULL;
    int count = 0, left, status = 0;

    if (keep == 0)
        return 0;
    if ((status = list_in(dir, &list, &count)) < 0)
        return status;
    count = keep_folders(dir, list, count);
    left = count - first;
    for (int i = first; status == 0 && i < count && left > keep; i++) {
        LS__ASSERT(i == 0 || list[i - 1].step <= list[i].step);
        if (list[i].step == newest.step && list[i].serial == newest.serial)
            continue;
        status = delete(dir, list[i]);
        left--;
    }
    free(list);
    return status;
}

/* The youngest goes first, so that what is left is always a run's. */
int ls__checkpoint_drop(const ls__folder *dir, int64_t step)
{
    ls__stamp *list = NULL;
    int count = 0, status = list_in(dir, &list, &count);

    if (status < 0)
        return status;
    count = keep_folders(dir, list, count);
    for (int i = count - 1; i >= 0 && list[i].step > step && status == 0; i--)
        status = delete(dir, list[i]);
    free(list);
    return status;
}
