/* SPDX-License-Identifier: BSD-3-Clause */
/* CIFAR's binary files: a record is the label, in CIFAR-100 the coarse and the
 * fine one, of which one counts, then 1024 bytes each of red, green and blue.
 * A file has no header; its length tells which. */
#include "base/error.h"
#include "file/format.h"
#include "image/images.h"

#include <stdlib.h>

enum { PIXELS = 3 * 32 * 32, CHUNK = 64, COARSE = 20 };

typedef struct form {
    const char *name;
    int64_t label, pixels, record, classes; /* at which byte of a record */
} form;

static const form forms[] = {
    {"CIFAR-10", 0, 1, 1 + PIXELS, 10},
    {"CIFAR-100", 1, 2, 2 + PIXELS, 100},
    {"CIFAR-100's coarse labels", 0, 2, 2 + PIXELS, COARSE},
};

static const form *find_form(const ls__file *f, const char *path, int classes)
{
    for (int i = 0; i < 2; i++)
        if (f->size && f->size % forms[i].record == 0)
            return &forms[i + (i == 1 && classes == COARSE)];
    ls__fail(LS_EFORMAT, "%s: %lld bytes are no whole number of records of "
             "CIFAR-10, of %lld, or CIFAR-100, of %lld", path,
             (long long)f->size, (long long)forms[0].record,
             (long long)forms[1].record);
    return NULL;
}

/* The labels of n records, which begin at byte `at`. */
static int take_labels(const form *is, const char *path, const uint8_t *record,
                       int64_t n, int64_t at, int32_t *label)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t place = i * is->record + is->label;

        label[i] = record[place];
        if (label[i] >= is->classes)
            return ls__fail(LS_EFORMAT, "%s: the label at byte %lld is %d; %s "
                            "has %lld classes", path, (long long)(at + place),
                            (int)label[i], is->name, (long long)is->classes);
    }
    return 0;
}

static int read_labels(const form *is, const ls__file *f, const char *path,
                       uint8_t *chunk, int32_t *label)
{
    int64_t rows = f->size / is->record;
    int status = 0;

    for (int64_t i = 0, n; i < rows && status == 0; i += n) {
        n = rows - i < CHUNK ? rows - i : CHUNK;
        status = ls__file_read(f, chunk, (size_t)(n * is->record),
                               i * is->record);
        if (status == 0)
            status = take_labels(is, path, chunk, n, i * is->record, label + i);
    }
    return status;
}

/* Make room behind the labels that there are, and fill it. */
static int add_labels(ls__images *im, const form *is, const ls__file *f,
                      const char *path)
{
    int64_t rows = f->size / is->record;
    size_t all = (size_t)(im->rows + rows);
    int32_t *more = realloc(im->label, all * sizeof *more);
    uint8_t *chunk = ls__new(CHUNK, (size_t)is->record, "labels");
    int status = LS_ENOMEM;

    if (!more)
        ls__no_memory("labels", all * sizeof *more);
    im->label = more ? more : im->label;
    if (more && chunk)
        status = read_labels(is, f, path, chunk, more + im->rows);
    free(chunk);
    return status;
}

int ls__cifar_add(ls__images *im, const char *path, int classes)
{
    ls__part *p = &im->part[im->parts];
    const form *is = NULL;
    int status;

    if (im->parts == LS__IMAGE_PARTS)
        return ls__fail(LS_ENOTSUP, "%s: more than %d files", path,
                        LS__IMAGE_PARTS);
    status = ls__images_file(im, &p->file, path);
    if (status == 0 && !(is = find_form(&p->file, path, classes)))
        status = ls__format_tell(LS_EFORMAT, path, LS__PIXELS);
    if (status == 0 && im->parts && im->classes != is->classes)
        status = ls__fail(LS_EFORMAT, "%s: records of %s, and other ones "
                          "before it", path, is->name);
    if (status == 0)
        status = add_labels(im, is, &p->file, path);
    if (status < 0) {
        ls__file_close(&p->file);
        return status;
    }
    p->first = is->pixels;
    p->stride = is->record;
    p->rows = p->file.size / is->record;
    im->parts++;
    im->rows += p->rows;
    im->shape[0] = im->shape[1] = 32;
    im->shape[2] = 3;
    im->planar = true;
    im->classes = is->classes;
    return 0;
}
