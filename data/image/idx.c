/* SPDX-License-Identifier: BSD-3-Clause */
/* IDX files, plain and gzip'd.
 *
 * Hostile until checked: a plain file must be exactly as long as its header
 * says; a gzip'd one must be long enough for deflate to have made so much into
 * so little, before memory is asked for. */
#include "image/idx.h"
#include "base/error.h"
#include "base/memory.h"
#include "array/inflate.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD = 4 + 4 * LS__IDX_RANK };

bool ls__idx_looks(const uint8_t *bytes)
{
    return ls__gunzip_looks(bytes) || (bytes[0] == 0 && bytes[1] == 0);
}

/* ------ The header ------ */

static int check_magic(ls__idx *idx, const char *path, const uint8_t *head,
                       int64_t n)
{
    if (n < 4 || head[0] || head[1])
        return ls__fail(LS_EFORMAT, "%s: no IDX file: wrong magic at byte 0",
                        path);
    if (head[2] != 8)
        return ls__fail(LS_ENOTSUP, "%s: elements of IDX type %d at byte 2; "
                        "unsigned bytes, 8, are read", path, head[2]);
    if (head[3] < 1 || head[3] > LS__IDX_RANK)
        return ls__fail(LS_EFORMAT, "%s: %d axes at byte 3; 1 to %d are "
                        "possible", path, head[3], LS__IDX_RANK);
    idx->rank = head[3];
    return 0;
}

/* The extents, n bytes of the header being there. */
static int read_extents(ls__idx *idx, const char *path, const uint8_t *head,
                        int64_t n)
{
    for (int i = 0; i < idx->rank; i++) {
        const uint8_t *p = head + 4 + 4 * i;

        if (n < 8 + 4 * i)
            return ls__fail(LS_EFORMAT, "%s: the header is cut short at byte "
                            "%lld", path, (long long)n);
        idx->shape[i] = (int64_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
    }
    idx->count = ls__count(idx->rank, idx->shape);
    if (idx->count < 0)
        return ls__fail(LS_EFORMAT, "%s: the extents at byte 4 are more than "
                        "memory can hold", path);
    return 0;
}

/* The header against the bytes that follow it. */
static int lies(const ls__idx *idx, const char *path, int64_t room)
{
    char shape[LS__SHAPE_TEXT];

    ls__shape_text(shape, idx->rank, idx->shape);
    return ls__fail(LS_EFORMAT, "%s: %s bytes by the header, %lld follow it "
                    "at byte %d", path, shape, (long long)room,
                    4 + 4 * idx->rank);
}

/* ------ Plain ------ */

static int read_plain(ls__idx *idx, const char *path, const uint8_t *head,
                      int64_t n)
{
    int status = check_magic(idx, path, head, n);

    if (status == 0)
        status = read_extents(idx, path, head, n);
    if (status < 0)
        return status;
    idx->at = 4 + 4 * idx->rank;
    return idx->count == idx->file.size - idx->at
               ? 0 : lies(idx, path, idx->file.size - idx->at);
}

/* ------ gzip'd ------ */

static int check_most(const ls__idx *idx, const char *path)
{
    int64_t most = ls__inflate_most(idx->file.size);
    char shape[LS__SHAPE_TEXT];

    if (idx->count <= most)
        return 0;
    ls__shape_text(shape, idx->rank, idx->shape);
    return ls__fail(LS_EFORMAT, "%s: %s bytes by the header; %lld bytes of "
                    "gzip hold at most %lld", path, shape,
                    (long long)idx->file.size, (long long)most);
}

static int inflate_data(ls__idx *idx, const char *path, ls__inflate *g)
{
    int status = check_most(idx, path);
    int64_t n;

    if (status < 0)
        return status;
    idx->inflated = ls__new((size_t)idx->count, 1, path);
    if (!idx->inflated)
        return LS_ENOMEM;
    n = ls__gunzip_read(g, idx->inflated, idx->count);
    if (n < 0)
        return (int)n;
    return n != idx->count ? lies(idx, path, n) : ls__gunzip_end(g);
}

static int inflate_all(ls__idx *idx, const char *path, ls__inflate *g)
{
    uint8_t head[HEAD];
    int64_t n = ls__gunzip_read(g, head, 4);
    int status = n < 0 ? (int)n : check_magic(idx, path, head, n);

    if (status < 0)
        return status;
    n = ls__gunzip_read(g, head + 4, 4 * idx->rank);
    status = n < 0 ? (int)n : read_extents(idx, path, head, n + 4);
    return status < 0 ? status : inflate_data(idx, path, g);
}

static int read_gzip(ls__idx *idx, const char *path)
{
    ls__inflate g;
    int status = ls__gunzip_open(&g, &idx->file);

    if (status < 0)
        return status;
    status = inflate_all(idx, path, &g);
    ls__inflate_close(&g);
    ls__file_close(&idx->file);
    return status;
}

/* ------ */

static int read_any(ls__idx *idx, const char *path)
{
    uint8_t head[HEAD] = {1};
    int64_t n = idx->file.size < HEAD ? idx->file.size : HEAD;
    int status = ls__file_read(&idx->file, head, (size_t)n, 0);

    if (status < 0)
        return status;
    return ls__gunzip_looks(head) ? read_gzip(idx, path)
                                  : read_plain(idx, path, head, n);
}

int ls__idx_open(ls__idx *idx, const char *path)
{
    int status;

    *idx = (ls__idx){0};
    status = ls__file_open(&idx->file, path);
    if (status == 0)
        status = read_any(idx, path);
    if (status < 0)
        ls__idx_close(idx);
    return status;
}

int ls__idx_read(const ls__idx *idx, uint8_t *out)
{
    if (!idx->inflated)
        return ls__file_read(&idx->file, out, (size_t)idx->count, idx->at);
    if (idx->count)
        memcpy(out, idx->inflated, (size_t)idx->count);
    return 0;
}

void ls__idx_close(ls__idx *idx)
{
    free(idx->inflated);
    ls__file_close(&idx->file);
    *idx = (ls__idx){0};
}
