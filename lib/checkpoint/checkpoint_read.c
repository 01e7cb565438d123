/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a checkpoint, and finding those in a folder. */
#define _GNU_SOURCE
#include "base/assert.h"
#include "checkpoint/checkpoint.h"
#include "base/error.h"
#include "base/json.h"
#include "file/file.h"
#include "file/seal.h"
#include "state/state_hash.h"
#include "state/trainer_state.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------ Names ------ */

void ls__stamp_text(char out[LS__STAMP_TEXT], ls__stamp stamp)
{
    int n = snprintf(out, LS__STAMP_TEXT, "step-%012lld",
                     (long long)stamp.step);

    LS__ASSERT(n > 0 && n < LS__STAMP_TEXT);
    if (stamp.serial)
        snprintf(out + n, (size_t)(LS__STAMP_TEXT - n), ".%d", stamp.serial);
}

/* Only what ls__stamp_text would write. */
static bool read_stamp(const char *name, ls__stamp *stamp)
{
    char again[LS__STAMP_TEXT];
    long long step = 0;

    *stamp = (ls__stamp){0};
    if (strlen(name) >= sizeof again ||
        sscanf(name, "step-%19lld.%9d", &step, &stamp->serial) < 1 ||
        step < 0)
        return false;
    stamp->step = step;
    ls__stamp_text(again, *stamp);
    return !strcmp(again, name);
}

static int by_age(const void *a, const void *b)
{
    const ls__stamp *x = a, *y = b;

    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return (x->serial > y->serial) - (x->serial < y->serial);
}

static int add(ls__stamp **list, int *count, ls__stamp stamp)
{
    ls__stamp *more;

    if (*count & (*count - 1)) { /* room doubles at each power of two */
        (*list)[(*count)++] = stamp;
        return 0;
    }
    more = ls__new(2 * (size_t)*count + 1, sizeof *more, "checkpoints");
    if (!more)
        return LS_ENOMEM;
    if (*count)
        memcpy(more, *list, (size_t)*count * sizeof *more);
    free(*list);
    *list = more;
    more[(*count)++] = stamp;
    return 0;
}

static int list_all(DIR *d, ls__stamp **list, int *count)
{
    int status = 0;
    ls__stamp stamp;

    for (struct dirent *e; status == 0 && (e = readdir(d));)
        if (read_stamp(e->d_name, &stamp))
            status = add(list, count, stamp);
    if (status < 0) {
        free(*list);
        *list = NULL;
    } else if (*count) {
        qsort(*list, (size_t)*count, sizeof **list, by_age);
    }
    return status;
}

int ls__checkpoint_list(int folder, const char *path, ls__stamp **list,
                        int *count)
{
    int fd = openat(folder, folder == AT_FDCWD ? path : ".",
                    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    int status;

    *list = NULL;
    *count = 0;
    if (!d) {
        status = ls__io_error(path, "cannot be listed");
        if (fd >= 0)
            close(fd);
        return status;
    }
    status = list_all(d, list, count);
    closedir(d);
    return status;
}

/* ------ The JSON ------ */

/* Adds the root to the notes, for those who read them. */
static int note_root(ls__checkpoint *c, json_t *root, const char *path)
{
    const char *text = json_string_value(root);

    if (!text || !ls__is_digest(text))
        return ls__fail(LS_EFORMAT, "%s: its root is no 64 hex digits", path);
    return json_object_set(c->notes, LS__ROOT_NOTE, root) < 0
               ? ls__no_memory("notes", sizeof LS__ROOT_NOTE) : 0;
}

/* The names are looked up in what the seal found whole, so a miss is another
 * program's doing. */
static int read_info(ls__checkpoint *c, const char *path)
{
    const json_t *step = json_object_get(c->info, "step");
    const json_t *state = json_object_get(c->info, "state");
    json_t *root = json_object_get(c->info, LS__ROOT_NOTE);

    c->step = json_integer_value(step);
    c->state = json_string_value(state);
    c->options = json_object_get(c->info, "options");
    c->notes = json_object_get(c->info, "notes");
    c->nodes = json_object_get(json_object_get(c->info, "graph"), "nodes");
    if (!json_is_integer(step) || c->step < 0 || c->step > LS__MOST_STEPS ||
        !c->state || !ls__json_are_texts(c->options) ||
        !ls__json_are_texts(c->notes) || !ls__json_are_texts(c->nodes))
        return ls__fail(LS_EFORMAT, "%s: is no checkpoint's", path);
    return root ? note_root(c, root, path) : 0;
}

int ls__checkpoint_parse(ls__checkpoint *c, const char *path, char *bytes,
                         size_t size)
{
    json_error_t error;
    int status;

    if (!ls__seal_holds(bytes, size, NULL, 0))
        return ls__fail(LS_EFORMAT, "%s: the checksum does not match: the "
                        "file is damaged", path);
    c->info = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &error);
    if (!c->info)
        return ls__json_fail(path, "is no JSON", 0, &error);
    if ((status = read_info(c, path)) < 0) {
        json_decref(c->info);
        c->info = NULL;
    }
    return status;
}

/* ------ The folder ------ */

static char *path_in(const ls__checkpoint *c, const char *name)
{
    size_t room = strlen(c->folder) + strlen(name) + 2;
    char *path = ls__new(room, 1, "file name");

    if (path)
        snprintf(path, room, "%s/%s", c->folder, name);
    return path;
}

enum { LARGEST = 16 << 20 }; /* JSON, bytes: notes are a few lines */

static int open_json(ls__checkpoint *c)
{
    char *path = path_in(c, "checkpoint.json"), *bytes = NULL;
    size_t size = 0;
    int status = path ? ls__file_load(path, LARGEST, &bytes, &size) : LS_ENOMEM;

    if (status == LS_EIO && access(path, F_OK) < 0)
        status = ls__fail(LS_EFORMAT, "%s: is no complete checkpoint: it has "
                          "no checkpoint.json", c->folder);
    if (status == 0) {
        status = ls__checkpoint_parse(c, path, bytes, size);
        free(bytes);
    }
    free(path);
    return status;
}

int ls__checkpoint_open(ls__checkpoint *c, const char *folder)
{
    int status;

    *c = (ls__checkpoint){.folder = ls__text_copy(folder)};
    if (!c->folder)
        return LS_ENOMEM;
    if ((status = open_json(c)) < 0)
        ls__checkpoint_close(c);
    return status;
}

static int read_arrays(const ls__checkpoint *c, const char *name,
                       ls__safetensors *file)
{
    char *path = path_in(c, name);
    int status = path ? ls__safetensors_read(file, path) : LS_ENOMEM;

    if (status < 0)
        *file = (ls__safetensors){0};
    free(path);
    return status;
}

static void hash_file(ls__sha256 *sha, const ls__safetensors *file)
{
    for (int i = 0; i < file->count; i++) {
        const ls_entry *e = &file->entry[i];

        ls__state_array(sha, "", e->name, e->rank, e->shape, e->data,
                        (size_t)e->bytes);
    }
}

int ls__checkpoint_arrays(ls__checkpoint *c)
{
    ls__sha256 sha;
    char hex[65];
    int status = read_arrays(c, "params.safetensors", &c->params);

    if (status == 0)
        status = read_arrays(c, "optimizer.safetensors", &c->optimizer);
    if (status < 0)
        return status;
    ls__sha256_init(&sha);
    hash_file(&sha, &c->params);
    hash_file(&sha, &c->optimizer);
    ls__state_end(&sha, c->step, hex);
    if (strcmp(hex, c->state))
        return ls__fail(LS_EFORMAT, "%s: its arrays have the hash %.12s.., "
                        "not %.12s.. as checkpoint.json has it: it is damaged",
                        c->folder, hex, c->state);
    return 0;
}

void ls__checkpoint_close(ls__checkpoint *c)
{
    ls__safetensors_free(&c->params);
    ls__safetensors_free(&c->optimizer);
    json_decref(c->info);
    free(c->folder);
    *c = (ls__checkpoint){0};
}
