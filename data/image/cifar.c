/* SPDX-License-Identifier: BSD-3-Clause */
/* CIFAR-10's binary files: 3073 bytes a record, the label, then 1024 bytes each
 * of red, green and blue.  A file has no header; its length tells. */
#include "base/error.h"
#include "image/images.h"

#include <stdlib.h>
#include <string.h>

enum { PIXELS = 3 * 32 * 32, RECORD = 1 + PIXELS, CLASSES = 10, CHUNK = 64 };

static int check_size(const ls__file *f, const char *path)
{
    if (f->size && f->size % RECORD == 0)
        return 0;
    return ls__fail(LS_EFORMAT, "%s: %lld bytes are no whole number of "
                    "CIFAR-10 records of %d; the last begins at byte %lld",
                    path, (long long)f->size, RECORD,
                    (long long)(f->size / RECORD * RECORD));
}

/* The labels of n records, which begin at byte `at`. */
static int take_labels(const char *path, const uint8_t *record, int64_t n,
                       int64_t at, int32_t *label)
{
    for (int64_t i = 0; i < n; i++) {
        label[i] = record[i * RECORD];
        if (label[i] >= CLASSES)
            return ls__fail(LS_EFORMAT, "%s: the label at byte %lld is %d; "
                            "CIFAR-10 has %d classes", path,
                            (long long)(at + i * RECORD), (int)label[i],
                            CLASSES);
    }
    return 0;
}

static int read_labels(const ls__file *f, const char *path, uint8_t *chunk,
                       int32_t *label)
{
    int64_t rows = f->size / RECORD;
    int status = 0;

    for (int64_t i = 0, n; i < rows && status == 0; i += n) {
        n = rows - i < CHUNK ? rows - i : CHUNK;
        status = ls__file_read(f, chunk, (size_t)(n * RECORD), i * RECORD);
        if (status == 0)
            status = take_labels(path, chunk, n, i * RECORD, label + i);
    }
    return status;
}

/* Make room behind the labels that there are, and fill it. */
static int add_labels(ls__images *im, const ls__file *f, const char *path)
{
    int64_t rows = f->size / RECORD;
    int32_t *more = ls__new((size_t)(im->rows + rows), sizeof *more, "labels");
    uint8_t *chunk = ls__new(CHUNK, RECORD, "labels");
    int status = LS_ENOMEM;

    if (more && im->rows)
        memcpy(more, im->label, (size_t)im->rows * sizeof *more);
    if (more && chunk)
        status = read_labels(f, path, chunk, more + im->rows);
    free(chunk);
    free(more ? im->label : NULL);
    if (more)
        im->label = more;
    return status;
}

int ls__cifar_add(ls__images *im, const char *path)
{
    ls__part *p = &im->part[im->parts];
    int status;

    if (im->parts == LS__IMAGE_PARTS)
        return ls__fail(LS_ENOTSUP, "%s: more than %d files", path,
                        LS__IMAGE_PARTS);
    status = ls__images_file(im, &p->file, path);
    if (status == 0)
        status = check_size(&p->file, path);
    if (status == 0)
        status = add_labels(im, &p->file, path);
    if (status < 0) {
        ls__file_close(&p->file);
        return status;
    }
    p->first = 1;
    p->stride = RECORD;
    p->rows = p->file.size / RECORD;
    im->parts++;
    im->rows += p->rows;
    im->shape[0] = im->shape[1] = 32;
    im->shape[2] = 3;
    im->planar = true;
    im->classes = CLASSES;
    return 0;
}
