/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding a set of images: which file or files of a folder, of which format,
 * and where the labels are; a folder of none of them has folders of pictures.
 * Formats are recognised by their first bytes; CIFAR has none of its own and is
 * known by its name, *.bin. */
#include "image/images.h"
#include "base/error.h"
#include "base/memory.h"
#include "file/format.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------ Names ------ */

/* Pairs of files: in a folder the first pair with one that exists counts; of
 * none, a file with a varied name. */
/* clang-format off */
static const struct {
    const char *train, *test;
} names[] = {
    { "data_batch_1.bin", "test_batch.bin" },
    { "train.bin", "test.bin" },
    { "train-images-idx3-ubyte", "t10k-images-idx3-ubyte" },
    { "train-images-idx3-ubyte.gz", "t10k-images-idx3-ubyte.gz" },
    { "train-images.idx3-ubyte", "t10k-images.idx3-ubyte" },
    { "train-images.idx3-ubyte.gz", "t10k-images.idx3-ubyte.gz" },
    { "train-images.npy", "test-images.npy" },
    { "x_train.npy", "x_test.npy" },
};

/* A name of images and what stands in its place in that of the labels. */
static const struct {
    const char *images, *labels;
} pairs[] = {
    { "images-idx3", "labels-idx1" }, { "images-idx4", "labels-idx1" },
    { "images.idx3", "labels.idx1" }, { "images.idx4", "labels.idx1" },
    { "images", "labels" }, { "x_", "y_" }, { "x.", "y." },
};
/* clang-format on */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* train3600-images-idx3-ubyte.gz: a part of a known set. */
static bool is_part(const char *name, bool test)
{
    bool of_set = test ? starts_with(name, "t10k") || starts_with(name, "test")
                       : starts_with(name, "train");

    return of_set && strstr(name, "images");
}

/* The only such part; plain and gzip'd it is still the same. */
static int pick_part(char found[NAME_MAX + 1], DIR *dir, const char *folder,
                     bool test)
{
    *found = 0;
    for (struct dirent *e; (e = readdir(dir));) {
        const char *name = e->d_name;

        if (!is_part(name, test))
            continue;
        if (*found && !starts_with(name, found) && !starts_with(found, name))
            return ls__fail(LS_EINVAL, "%s: holds several %s sets, %s and %s; "
                            "name a file", folder, test ? "test" : "training",
                            found, name);
        if (!*found || strlen(name) < strlen(found))
            snprintf(found, NAME_MAX + 1, "%s", name);
    }
    return 0;
}

static int find_part(char out[LS__PATH], const char *folder, bool test)
{
    char found[NAME_MAX + 1];
    DIR *dir = opendir(folder);
    int status;

    if (!dir)
        return ls__fail(LS_EIO, "%s: %s", folder, strerror(errno));
    status = pick_part(found, dir, folder, test);
    closedir(dir);
    if (status < 0 || *found)
        return status < 0 ? status : ls__path_join(out, folder, found);
    return ls__fail(LS_ENOTFOUND, "%s: holds no %s set by a name that is known "
                    "(%s, %s, %s, ..)", folder, test ? "test" : "training",
                    test ? names[0].test : names[0].train,
                    test ? names[2].test : names[2].train,
                    test ? names[6].test : names[6].train);
}

static int find_in_folder(char out[LS__PATH], const char *folder, bool test)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int status = ls__path_join(out, folder, test ? names[i].test
                                                     : names[i].train);

        if (status < 0 || access(out, F_OK) == 0)
            return status;
    }
    return find_part(out, folder, test);
}

/* The last place in a path's file name of the first pair that is in it. */
static int find_labels(char out[LS__PATH], const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const char *at = strstr(name, pairs[i].images);

        if (!at)
            continue;
        if (snprintf(out, LS__PATH, "%.*s%s%s", (int)(at - path), path,
                     pairs[i].labels, at + strlen(pairs[i].images)) >=
            LS__PATH)
            return ls__fail(LS_EINVAL, "%s: the path is too long", path);
        return 0;
    }
    return ls__fail(LS_ENOTFOUND, "%s: where are its labels? Its name has "
                    "neither \"images\" nor \"x_\" to put \"labels\" or "
                    "\"y_\" in their place", path);
}

/* ------ CIFAR ------ */

/* data_batch_1.bin and those after it; any other file alone. */
static int add_cifar(ls__images *im, const char *folder, const char *path,
                     int classes)
{
    int status = ls__cifar_add(im, path, classes);

    if (!folder || !ends_with(path, "data_batch_1.bin"))
        return status;
    for (int i = 2; status == 0; i++) {
        char next[LS__PATH], name[32];

        snprintf(name, sizeof name, "data_batch_%d.bin", i);
        status = ls__path_join(next, folder, name);
        if (status == 0 && access(next, F_OK) < 0)
            break;
        if (status == 0)
            status = ls__cifar_add(im, next, classes);
    }
    return status;
}

static int open_cifar(ls__images *im, const char *folder, const char *path,
                      const ls_images_options *o)
{
    if (o->labels)
        return ls__fail(LS_EINVAL, "%s: CIFAR has its labels in itself; %s "
                        "is one too many", path, o->labels);
    return add_cifar(im, folder, path, o->n_classes);
}

/* ------ The others ------ */

static int open_pixels(ls__images *im, const char *path, bool alone)
{
    uint8_t head[LS__HEAD];
    int status = ls__head_read(head, path);

    if (status < 0)
        return status;
    if (memcmp(head, "\x93NUMPY", 6) == 0)
        return ls__npy_images(im, path, alone);
    if (ls__idx_looks(head))
        return ls__idx_images(im, path);
    status = ls__fail(LS_EFORMAT, "%s: begins neither as .npy nor as IDX, "
                      "plain or gzip'd, and is not named as CIFAR's .bin",
                      path);
    return ls__format_tell(status, path, LS__PIXELS);
}

static int open_pair(ls__images *im, const char *path,
                     const ls_images_options *o)
{
    char beside[LS__PATH];
    bool look = !o->labels && !o->unlabelled;
    int status = look ? find_labels(beside, path) : 0;

    if (status == 0)
        status = open_pixels(im, path, o->alone);
    if (status < 0 || o->unlabelled)
        return status;
    return ls__labels_read(im, o->labels ? o->labels : beside);
}

/* ------ Pictures ------ */

static int take_album(ls__images *im)
{
    const ls__album *a = im->album;

    im->rows = a->pictures;
    memcpy(im->shape, a->shape, sizeof im->shape);
    im->classes = a->classes;
    im->label = ls__new((size_t)im->rows, sizeof *im->label, "labels");
    if (!im->label)
        return LS_ENOMEM;
    memcpy(im->label, a->label, (size_t)im->rows * sizeof *im->label);
    return 0;
}

int ls__images_list(ls__images *im, int64_t n, const char *const *path,
                    const ls_images_options *o)
{
    int status;

    *im = (ls__images){0};
    status = ls__album_list(&im->album, n, path, o);
    if (status == 0)
        status = take_album(im);
    if (status < 0)
        ls__images_close(im);
    return status;
}

/* ------ */

/* Opens a folder that lacks the named files as folders of pictures. */
static int open_folder(ls__images *im, const char *folder,
                       const ls_images_options *o)
{
    char said[LS__MESSAGE];
    int status;

    snprintf(said, sizeof said, "%s", ls_errmsg());
    status = ls__album_open(&im->album, folder, o);
    if (status == 0)
        status = take_album(im);
    return status == LS_ENOTFOUND ? ls__fail(status, "%s; and no folders of "
                                             "pictures", said)
                                  : status;
}

static int open_any(ls__images *im, const char *path,
                    const ls_images_options *o)
{
    const char *folder = NULL;
    char found[LS__PATH];
    struct stat info;

    if (stat(path, &info) < 0)
        return ls__fail(LS_EIO, "%s: %s", path, strerror(errno));
    if (S_ISDIR(info.st_mode)) {
        int status = find_in_folder(found, path, o->test);

        if (status == LS_ENOTFOUND)
            return open_folder(im, path, o);
        if (status < 0)
            return status;
        folder = path;
        path = found;
    }
    return ends_with(path, ".bin") ? open_cifar(im, folder, path, o)
                                   : open_pair(im, path, o);
}

int ls__images_open(ls__images *im, const char *path,
                    const ls_images_options *o)
{
    int status;

    *im = (ls__images){0};
    status = open_any(im, path, o);
    if (status < 0)
        ls__images_close(im);
    return status;
}

void ls__images_close(ls__images *im)
{
    for (int p = 0; p < LS__IMAGE_PARTS; p++)
        ls__file_close(&im->part[p].file);
    ls_array_free(&im->array);
    ls__album_close(im->album);
    ls__arena_free(&im->arena);
    free(im->inflated);
    free(im->label);
    *im = (ls__images){0};
}

/* ------ Rows ------ */

int ls__images_file(ls__images *im, ls__file *file, const char *path)
{
    const char *name = ls__arena_text(&im->arena, path);
    int status = name ? ls__file_open(file, name) : LS_ENOMEM;

    return status < 0 ? status : ls__file_keep(file);
}

int64_t ls__images_row_bytes(const ls__images *im)
{
    return im->shape[0] * im->shape[1] * im->shape[2] * (im->real ? 4 : 1);
}

const uint8_t *ls__images_row(const ls__images *im, int64_t i, void *room)
{
    const ls__part *p = im->part;
    const uint8_t *memory;
    int64_t at;

    for (; i >= p->rows; p++)
        i -= p->rows;
    at = p->first + i * p->stride;
    memory = p->memory ? p->memory : p->file.memory;
    if (memory)
        return memory + at;
    return ls__file_read(&p->file, room, (size_t)ls__images_row_bytes(im),
                         at) == 0 ? room : NULL;
}
