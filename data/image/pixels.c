/* SPDX-License-Identifier: BSD-3-Clause */
/* Pixels and labels of IDX and .npy files. */
#include "array/npy.h"
#include "base/error.h"
#include "base/little.h"
#include "base/memory.h"
#include "image/images.h"

#include <lockstep/files.h>

#include <stdlib.h>
#include <string.h>

/* Limits of a row: a table of all bytes is made for every channel. */
enum { MOST_PIXELS = 1 << 28, MOST_CHANNELS = 1024 };

/* LS_EFORMAT, LS_EINVAL: the axes of pixels (N,H,W) or (N,H,W,C) do not make a
 * set; else they become its shape. */
static int take_shape(ls__images *im, const char *path, int rank,
                      const int64_t *shape)
{
    char text[LS__SHAPE_TEXT];
    int64_t size = rank == 3 || rank == 4 ? ls__count(rank - 1, shape + 1) : 0;

    ls__shape_text(text, rank, shape);
    if (rank < 3 || rank > 4)
        return ls__fail(LS_ESHAPE, "%s: images are (N,H,W) or (N,H,W,C), not "
                        "%s", path, text);
    if (rank == 4 && (shape[1] == 1 || shape[1] == 3) && shape[3] > 4 &&
        shape[2] == shape[3]) /* as PyTorch has them */
        return ls__fail(LS_ESHAPE, "%s: images are (N,H,W,C), and %s is "
                        "(N,C,H,W); numpy.save(NEW, x.transpose(0, 2, 3, 1)) "
                        "turns them", path, text);
    if (shape[0] < 1 || size < 1 || size > MOST_PIXELS ||
        (rank == 4 && shape[3] > MOST_CHANNELS))
        return ls__fail(LS_ESHAPE, "%s: %s: no images, or too large ones",
                        path, text);
    im->rows = shape[0];
    im->shape[0] = shape[1];
    im->shape[1] = shape[2];
    im->shape[2] = rank == 4 ? shape[3] : 1;
    return 0;
}

/* The only part: pixels that follow each other, from a byte of its file or of
 * memory on. */
static void set_part(ls__images *im, const void *memory, int64_t first)
{
    ls__part *p = &im->part[0];

    im->parts = 1;
    p->memory = memory;
    p->first = first;
    p->rows = im->rows;
    p->stride = ls__images_row_bytes(im);
}

/* Hands the memory of the elements to the set. */
static void take_idx(ls__images *im, ls__idx *idx)
{
    im->inflated = idx->inflated;
    idx->inflated = NULL;
    im->part[0].file = idx->file;
    idx->file = (ls__file){0};
    set_part(im, im->inflated, im->inflated ? 0 : idx->at);
}

int ls__idx_images(ls__images *im, const char *path)
{
    const char *name = ls__arena_text(&im->arena, path);
    ls__idx idx = {0};
    int status = name ? ls__idx_open(&idx, name) : LS_ENOMEM;

    if (status == 0)
        status = take_shape(im, path, idx.rank, idx.shape);
    if (status == 0 && !idx.inflated)
        status = ls__file_keep(&idx.file);
    if (status == 0)
        take_idx(im, &idx);
    ls__idx_close(&idx);
    return status;
}

/* ------ .npy: bytes and floats of this machine in C order stay in the file,
 * the rest is read into memory as floats ------ */

static bool fits(const ls__npy *f)
{
    bool bytes = strcmp(f->type->name, "u1") == 0;
    bool floats = strcmp(f->type->name, "f4") == 0 &&
                  f->big_endian != LS__IS_LITTLE;

    return (bytes || floats) && !f->fortran;
}

static int leave_npy(ls__images *im, const ls__npy *f, const char *path)
{
    ls__file *file = &im->part[0].file;
    int status = ls__images_file(im, file, path);

    if (status < 0)
        return status;
    if (file->size != f->file.size)
        return ls__fail(LS_EIO, "%s: changes while it is read", path);
    im->real = f->type->bytes == 4;
    set_part(im, NULL, f->at);
    return 0;
}

/* Bytes in Fortran order were read as floats: make them bytes again. */
static void narrow(ls_array *t, int64_t n)
{
    uint8_t *bytes = t->data;
    const float *x = t->data;

    for (int64_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)x[i];
}

static int load_npy(ls__images *im, ls__npy *f)
{
    int status = ls__npy_read(f, &im->array, LS_F32);

    if (status < 0)
        return status;
    im->real = strcmp(f->type->name, "u1") != 0;
    if (!im->real)
        narrow(&im->array, f->count);
    set_part(im, im->array.data, 0);
    return 0;
}

/* The axes of one image get the one that counts images. */
static int alone_shape(ls__images *im, const char *path, const int64_t *shape)
{
    const int64_t one[4] = {1, shape[0], shape[1], shape[2]};

    return take_shape(im, path, 4, one);
}

int ls__npy_images(ls__images *im, const char *path, bool alone)
{
    ls__npy f;
    int status = ls__npy_open(&f, path);

    if (status == 0 && alone && f.rank == 3)
        status = alone_shape(im, path, f.shape);
    else if (status == 0)
        status = take_shape(im, path, f.rank, f.shape);
    if (status == 0)
        status = fits(&f) ? leave_npy(im, &f, path) : load_npy(im, &f);
    ls__npy_close(&f);
    return status;
}

/* ------ Labels ------ */

static int wrong_count(const ls__images *im, const char *path, int rank,
                       const int64_t *shape)
{
    char text[LS__SHAPE_TEXT];

    return ls__fail(LS_ESHAPE, "%s: labels %s for %lld images", path,
                    ls__shape_text(text, rank, shape), (long long)im->rows);
}

static int read_idx_labels(ls__images *im, const ls__idx *idx, uint8_t *bytes)
{
    int status = ls__idx_read(idx, bytes);

    for (int64_t i = 0; i < im->rows && status == 0; i++)
        im->label[i] = bytes[i];
    return status;
}

static int idx_labels(ls__images *im, const char *path)
{
    uint8_t *bytes = NULL;
    ls__idx idx;
    int status = ls__idx_open(&idx, path);

    if (status < 0)
        return status;
    if (idx.rank != 1 || idx.shape[0] != im->rows)
        status = wrong_count(im, path, idx.rank, idx.shape);
    else if (!(im->label =
                   ls__new((size_t)im->rows, sizeof *im->label, path)) ||
             !(bytes = ls__new((size_t)im->rows, 1, path)))
        status = LS_ENOMEM;
    if (status == 0)
        status = read_idx_labels(im, &idx, bytes);
    free(bytes);
    ls__idx_close(&idx);
    return status;
}

static int npy_labels(ls__images *im, const char *path)
{
    ls_array t;
    int status = ls_npy_load(&t, path, LS_I32);

    if (status < 0)
        return status;
    if (t.rank != 1 || t.shape[0] != im->rows) {
        status = wrong_count(im, path, t.rank, t.shape);
        ls_array_free(&t);
        return status;
    }
    im->label = t.data;
    return 0;
}

/* One more than the largest. */
static int count_classes(ls__images *im, const char *path)
{
    int32_t most = 0;

    for (int64_t i = 0; i < im->rows; i++) {
        if (im->label[i] < 0 || im->label[i] == INT32_MAX)
            return ls__fail(LS_ERANGE, "%s: the label of row %lld is %d", path,
                            (long long)i, (int)im->label[i]);
        most = im->label[i] > most ? im->label[i] : most;
    }
    im->classes = (int64_t)most + 1;
    return 0;
}

int ls__labels_read(ls__images *im, const char *path)
{
    uint8_t head[LS__HEAD];
    int status = ls__head_read(head, path);

    if (status == 0)
        status = ls__idx_looks(head) ? idx_labels(im, path)
                                     : npy_labels(im, path);
    return status == 0 ? count_classes(im, path) : status;
}
