/* The safetensors writer.  The header is made first, with the checksum of the
 * data in it; then header and data go to a file aside, which is synced and
 * renamed over the old one.  Nothing is ever written into an existing file.
 * The format is little-endian, as is every machine base/fpmode.h knows. */
#define _GNU_SOURCE
#include "file/safetensors.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/sha.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t data_bytes(const ls__safetensor *t)
{
    return (size_t)ls__count(t->rank, t->shape) * sizeof(float);
}

static int no_header(void)
{
    return ls__no_memory("safetensors header", 0);
}

/* ------ The header ------ */

static json_t *shape_of(const ls__safetensor *t)
{
    json_t *shape = json_array();

    for (int i = 0; shape && i < t->rank; i++)
        if (json_array_append_new(shape, json_integer(t->shape[i])) < 0) {
            json_decref(shape);
            return NULL;
        }
    return shape;
}

static int add_tensor(json_t *header, const ls__safetensor *t, size_t at)
{
    json_int_t first = (json_int_t)at;
    json_int_t last = (json_int_t)(at + data_bytes(t));
    json_t *shape, *entry;

    if (json_object_get(header, t->name))
        return ls__fail(LS_EINVAL, "safetensors: two tensors named \"%s\"",
                        t->name);
    shape = shape_of(t);
    if (!shape)
        return no_header();
    entry = json_pack("{s:s, s:o, s:[I,I]}", "dtype", "F32", "shape", shape,
                      "data_offsets", first, last);
    if (!entry)
        return no_header();
    errno = 0;
    if (json_object_set_new(header, t->name, entry) < 0)
        return errno == ENOMEM
                   ? no_header()
                   : ls__fail(LS_EINVAL,
                              "safetensors: a tensor's name is no UTF-8");
    return 0;
}

static void checksum(int n, const ls__safetensor *tensor, char hex[65])
{
    ls__sha256 sha;

    ls__sha256_init(&sha);
    for (int i = 0; i < n; i++)
        ls__sha256_update(&sha, tensor[i].data, data_bytes(&tensor[i]));
    ls__sha256_hex(&sha, hex);
}

static json_t *metadata(int n, const ls__safetensor *tensor, int pairs,
                        const ls__metadata *extra)
{
    char hex[65];
    json_t *meta;

    checksum(n, tensor, hex);
    meta = json_pack("{s:s, s:s}", "lockstep", ls_version(), "sha256", hex);
    for (int i = 0; meta && i < pairs; i++)
        if (json_object_set_new(meta, extra[i].key,
                                json_string(extra[i].value)) < 0) {
            json_decref(meta);
            return NULL;
        }
    return meta;
}

static int fill_header(json_t *header, int n, const ls__safetensor *tensor,
                       int pairs, const ls__metadata *extra)
{
    json_t *meta = metadata(n, tensor, pairs, extra);
    size_t at = 0;

    if (!meta || json_object_set_new(header, "__metadata__", meta) < 0)
        return no_header();
    for (int i = 0; i < n; i++) {
        int status = add_tensor(header, &tensor[i], at);

        if (status < 0)
            return status;
        at += data_bytes(&tensor[i]);
    }
    return 0;
}

/* *text = the length, the JSON, and spaces to the next multiple of 8. */
static int header_text(json_t *header, char **text, size_t *bytes)
{
    size_t length = json_dumpb(header, NULL, 0, JSON_COMPACT);
    uint64_t padded = (length + 7) / 8 * 8;
    char *out = ls__new(sizeof padded + padded, 1, "safetensors header");

    if (!out)
        return LS_ENOMEM;
    memcpy(out, &padded, sizeof padded);
    memset(out + sizeof padded, ' ', padded);
    if (json_dumpb(header, out + sizeof padded, length, JSON_COMPACT) !=
        length) {
        free(out);
        return no_header();
    }
    *text = out;
    *bytes = sizeof padded + padded;
    return 0;
}

static int make_header(int n, const ls__safetensor *tensor, int pairs,
                       const ls__metadata *extra, char **text, size_t *bytes)
{
    json_t *header = json_object();
    int status;

    if (!header)
        return no_header();
    status = fill_header(header, n, tensor, pairs, extra);
    if (status == 0)
        status = header_text(header, text, bytes);
    json_decref(header);
    return status;
}

/* ------ A file written aside ------ */

typedef struct aside {
    const char *path; /* where it shall appear */
    char *temp;       /* where it is written */
    int fd;
} aside;

static int io_error(const char *path, const char *what)
{
    return ls__fail(LS_EIO, "%s: %s: %s", path, what, strerror(errno));
}

/* Renaming over a device or a folder would destroy or fail: refuse early. */
static int check_target(const char *path)
{
    struct stat info;

    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return ls__fail(LS_EIO, "%s: is not a regular file", path);
    return 0;
}

static int aside_open(aside *file, const char *path)
{
    size_t room = strlen(path) + 32;
    int status = check_target(path);

    *file = (aside){.path = path, .fd = -1};
    if (status < 0)
        return status;
    file->temp = ls__new(room, 1, "file name");
    if (!file->temp)
        return LS_ENOMEM;
    snprintf(file->temp, room, "%s.tmp-%ld", path, (long)getpid());
    file->fd =
        open(file->temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
             0666);
    if (file->fd >= 0)
        return 0;
    status = io_error(path, "a file beside it cannot be created");
    free(file->temp);
    file->temp = NULL;
    return status;
}

static int aside_write(aside *file, const void *data, size_t bytes)
{
    const char *p = data;

    while (bytes > 0) {
        ssize_t n = write(file->fd, p, bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return io_error(file->path, "writing failed");
        p += n;
        bytes -= (size_t)n;
    }
    return 0;
}

/* A rename is on disk when its folder is.  Some folders may be written but not
 * opened, some file systems cannot sync one (EINVAL): nothing better is to be
 * had there. */
static int sync_folder(const char *path)
{
    char *copy = strdup(path);
    int fd, status = 0;

    if (!copy)
        return ls__no_memory("file name", strlen(path));
    fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(copy);
    if (fd < 0)
        return 0;
    if (fsync(fd) < 0 && errno != EINVAL)
        status = io_error(path, "its folder could not be synced");
    close(fd);
    return status;
}

static int aside_finish(aside *file)
{
    int fd = file->fd;

    if (fsync(fd) < 0)
        return io_error(file->path, "syncing failed");
    file->fd = -1;
    if (close(fd) < 0)
        return io_error(file->path, "closing failed");
    if (rename(file->temp, file->path) < 0)
        return io_error(file->path, "renaming failed");
    free(file->temp);
    file->temp = NULL;
    return sync_folder(file->path);
}

/* After a failure: the file aside goes.  After a success: nothing is left. */
static void aside_close(aside *file)
{
    if (file->fd >= 0)
        close(file->fd);
    if (file->temp)
        unlink(file->temp);
    free(file->temp);
}

static int write_all(aside *file, const char *header, size_t bytes, int n,
                     const ls__safetensor *tensor)
{
    int status = aside_write(file, header, bytes);

    for (int i = 0; status == 0 && i < n; i++)
        status = aside_write(file, tensor[i].data, data_bytes(&tensor[i]));
    return status < 0 ? status : aside_finish(file);
}

int ls__safetensors_write(const char *path, int n, const ls__safetensor *tensor,
                          int pairs, const ls__metadata *extra)
{
    char *header = NULL;
    size_t bytes = 0;
    aside file;
    int status = make_header(n, tensor, pairs, extra, &header, &bytes);

    if (status < 0)
        return status;
    status = aside_open(&file, path);
    if (status == 0)
        status = write_all(&file, header, bytes, n, tensor);
    aside_close(&file);
    free(header);
    return status;
}
