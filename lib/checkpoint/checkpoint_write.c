/* Writing checkpoints and deleting old ones.  DIR/.writing is where one is
 * written; only one process at a time may do so (the caller has locked DIR),
 * so whatever is found there is what a killed one left. */
#define _GNU_SOURCE
#include "base/error.h"
#include "base/file.h"
#include "checkpoint/checkpoint.h"
#include "file/json.h"
#include "file/seal.h"
#include "checkpoint/state_hash.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------ Names below DIR ------ */

enum { LONGEST = 64 }; /* of what is put behind DIR */

typedef struct writer {
    const ls__snapshot *snapshot;
    const char *dir;
    char *from, *to, *file; /* DIR/.writing, DIR/step-.., a file of the first */
    size_t room;            /* of each */
} writer;

static int open_writer(writer *w, const char *dir)
{
    *w = (writer){.dir = dir, .room = strlen(dir) + LONGEST};
    w->from = ls__new(w->room, 1, "file name");
    w->to = ls__new(w->room, 1, "file name");
    w->file = ls__new(w->room, 1, "file name");
    if (!w->from || !w->to || !w->file)
        return LS_ENOMEM;
    snprintf(w->from, w->room, "%s/.writing", dir);
    return 0;
}

static void close_writer(writer *w)
{
    free(w->from);
    free(w->to);
    free(w->file);
}

static const char *file_in(writer *w, const char *folder, const char *name)
{
    snprintf(w->file, w->room, "%s/%s", folder, name);
    return w->file;
}

static void name_target(writer *w, ls__stamp stamp)
{
    char text[LS__STAMP_TEXT];

    ls__stamp_text(text, stamp);
    snprintf(w->to, w->room, "%s/%s", w->dir, text);
}

/* ------ One checkpoint ------ */

static int io_status(const char *path, const char *what, bool good)
{
    return good ? 0 : ls__io_error(path, what);
}

/* Remove what a killed or failed save left. */
static int clear(const writer *w)
{
    DIR *d = opendir(w->from);

    if (!d)
        return io_status(w->from, "cannot be cleared", errno == ENOENT);
    for (struct dirent *e; (e = readdir(d));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
            (void)unlinkat(dirfd(d), e->d_name, 0); /* rmdir will tell */
    closedir(d);
    return io_status(w->from, "cannot be cleared", rmdir(w->from) == 0);
}

static int write_arrays(writer *w, const char *name, int first, int last)
{
    return ls__safetensors_write(file_in(w, w->from, name), last - first,
                                 w->snapshot->tensor + first, 0, NULL);
}

static void state_hash(const ls__snapshot *s, char hex[65])
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

static char *json_text(const ls__snapshot *s, size_t *bytes)
{
    char hex[65], *text;
    json_t *info;

    state_hash(s, hex);
    info = json_pack("{s:s, s:s, s:I, s:s, s:O, s:O}", "lockstep",
                     ls_version(), LS__SEAL, LS__SEAL_OPEN, "step",
                     (json_int_t)s->step, "state", hex, "options", s->options,
                     "notes", s->notes);
    if (!info) {
        ls__no_memory("checkpoint.json", 0);
        return NULL;
    }
    text = ls__json_text(info, JSON_INDENT(1), bytes);
    json_decref(info);
    return text;
}

static int write_text(const char *path, const char *text, size_t n)
{
    ls__aside file;
    int status = ls__aside_open(&file, path);

    if (status == 0)
        status = ls__aside_write(&file, text, n);
    if (status == 0)
        status = ls__aside_finish(&file);
    ls__aside_close(&file);
    return status;
}

static int write_json(writer *w)
{
    size_t n = 0;
    char *text = json_text(w->snapshot, &n);
    int status;

    if (!text)
        return LS_ENOMEM;
    ls__seal_close(ls__seal_find(text, n), ls__crc32(0, text, n));
    status = write_text(file_in(w, w->from, "checkpoint.json"), text, n);
    free(text);
    return status;
}

static int write_files(writer *w)
{
    const ls__snapshot *s = w->snapshot;
    int status = clear(w);

    if (status < 0)
        return status;
    if (mkdir(w->from, 0777) < 0)
        return ls__io_error(w->from, "cannot be made");
    status = write_arrays(w, "params.safetensors", 0, s->params);
    if (status == 0)
        status = write_arrays(w, "optimizer.safetensors", s->params,
                              s->tensors);
    return status < 0 ? status : write_json(w);
}

/* The first name behind those that there are. */
static int choose_stamp(const writer *w, ls__stamp *stamp)
{
    ls__stamp *list;
    int count, status = ls__checkpoint_list(w->dir, &list, &count);

    if (status < 0)
        return status;
    *stamp = (ls__stamp){w->snapshot->step, 0};
    for (int i = 0; i < count; i++)
        if (list[i].step == stamp->step)
            stamp->serial = list[i].serial + 1;
    free(list);
    return 0;
}

static int appear(writer *w, ls__stamp *stamp)
{
    int status = choose_stamp(w, stamp);

    if (status < 0)
        return status;
    name_target(w, *stamp);
    if (rename(w->from, w->to) < 0)
        return ls__io_error(w->to, "renaming failed");
    return ls__folder_sync(w->dir, w->dir);
}

/* The message is that of the failure, not of what is cleared after it. */
static int undo(const writer *w, int status)
{
    char message[LS__MESSAGE];

    snprintf(message, sizeof message, "%s", ls_errmsg());
    (void)clear(w);
    return ls__fail(status, "%s", message);
}

int ls__checkpoint_write(const char *dir, const ls__snapshot *snapshot,
                         ls__stamp *stamp)
{
    writer w;
    int status = open_writer(&w, dir);

    w.snapshot = snapshot;
    if (status == 0 && ((status = write_files(&w)) < 0 ||
                        (status = appear(&w, stamp)) < 0))
        status = undo(&w, status);
    close_writer(&w);
    return status;
}

/* ------ Old ones ------ */

/* Only what was written here: a folder in which somebody keeps more stays.
 * Without its JSON it is no checkpoint, so that goes first. */
static int delete(writer *w, ls__stamp stamp)
{
    static const char *const files[] = {
        "checkpoint.json", "optimizer.safetensors", "params.safetensors"};

    name_target(w, stamp);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (unlink(file_in(w, w->to, files[i])) < 0 && errno != ENOENT)
            return ls__io_error(w->to, "an old checkpoint stays");
    (void)rmdir(w->to);
    return 0;
}

int ls__checkpoint_prune(const char *dir, int keep, ls__stamp newest)
{
    ls__stamp *list = NULL;
    int count = 0, left, status = 0;
    writer w;

    if (keep == 0)
        return 0;
    if ((status = open_writer(&w, dir)) == 0)
        status = ls__checkpoint_list(dir, &list, &count);
    left = count;
    for (int i = 0; status == 0 && i < count && left > keep; i++) {
        if (list[i].step == newest.step && list[i].serial == newest.serial)
            continue;
        status = delete(&w, list[i]);
        left--;
    }
    free(list);
    close_writer(&w);
    return status;
}
