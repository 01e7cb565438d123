/* SPDX-License-Identifier: BSD-3-Clause */
/* The safetensors writer.  The header is made first, with the checksum of the
 * whole file in it; then header and data go to a new file, which is synced and
 * renamed over the old one.  Nothing is ever written into an existing file.
 * The format is little-endian (base/little.h). */
#include "file/safetensors.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/json.h"
#include "base/little.h"
#include "base/memory.h"
#include "base/sha.h"
#include "file/file.h"
#include "file/seal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

    for (int i = 0; i < t->rank; i++)
        shape = ls__json_and(shape, json_integer(t->shape[i]));
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
                   : ls__fail(LS_EINVAL, "safetensors: a tensor's name is no "
                              "UTF-8");
    return 0;
}

void ls__safetensors_sha256(int n, const ls__safetensor *tensor,
                            char hex[65])
{
    ls__sha256 sha;

    ls__sha256_init(&sha);
    for (int i = 0; i < n; i++)
        ls__sha256_words(&sha, tensor[i].data, data_bytes(&tensor[i]) / 4);
    ls__sha256_hex(&sha, hex);
}

static int fill_header(json_t *header, int n, const ls__safetensor *tensor,
                       int pairs, const ls_setting *extra)
{
    json_t *meta = json_pack("{s:s, s:s}", "lockstep", ls_version(), LS__SEAL,
                             LS__SEAL_OPEN);
    size_t at = 0;

    meta = ls__json_with_texts(meta, pairs, extra);
    if (json_object_set_new(header, "__metadata__", meta) < 0)
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

    LS__ASSERT(padded % 8 == 0 && padded >= length);
    if (!out)
        return LS_ENOMEM;
    memcpy(out, &padded, sizeof padded);
    ls__little(out, 1, sizeof padded);
    memset(out + sizeof padded, ' ', padded);
    if (!length || json_dumpb(header, out + sizeof padded, length,
                              JSON_COMPACT) != length) {
        free(out);
        return no_header();
    }
    *text = out;
    *bytes = sizeof padded + padded;
    return 0;
}

static int make_header(int n, const ls__safetensor *tensor, int pairs,
                       const ls_setting *extra, char **text, size_t *bytes)
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

/* ------ The data ------ */

/* A sink for bytes of the file; returns a status. */
typedef int take_fn(void *own, const void *bytes, size_t n);

static int give_data(const ls__safetensor *t, take_fn *take, void *own)
{
    size_t bytes = data_bytes(t), n;
    const char *from = (const char *)t->data;
    uint32_t piece[1024];
    int status = 0;

    if (LS__IS_LITTLE)
        return take(own, t->data, bytes);
    for (; status == 0 && bytes > 0; bytes -= n, from += n) {
        n = bytes < sizeof piece ? bytes : sizeof piece;
        memcpy(piece, from, n);
        ls__little(piece, n / sizeof *piece, sizeof *piece);
        status = take(own, piece, n);
    }
    return status;
}

static int take_crc(void *own, const void *bytes, size_t n)
{
    uint32_t *crc = own;

    *crc = ls__crc32(*crc, bytes, n);
    return 0;
}

static void seal(char *header, size_t bytes, int n,
                 const ls__safetensor *tensor)
{
    uint32_t crc = ls__crc32(0, header, bytes);

    for (int i = 0; i < n; i++)
        (void)give_data(&tensor[i], take_crc, &crc);
    ls__seal_close(ls__seal_find(header, bytes), crc);
}

/* ------ The file ------ */

static int take_file(void *own, const void *bytes, size_t n)
{
    return ls__newfile_write(own, bytes, n);
}

static int put_all(ls__newfile *out, const char *header, size_t bytes, int n,
                   const ls__safetensor *tensor)
{
    int status = ls__newfile_write(out, header, bytes);

    for (int i = 0; status == 0 && i < n; i++)
        status = give_data(&tensor[i], take_file, out);
    return status;
}

int ls__safetensors_put(ls__newfile *out, int n, const ls__safetensor *tensor,
                        int pairs, const ls_setting *extra)
{
    char *header = NULL;
    size_t bytes = 0;
    int status = make_header(n, tensor, pairs, extra, &header, &bytes);

    if (status < 0)
        return status;
    seal(header, bytes, n, tensor);
    status = put_all(out, header, bytes, n, tensor);
    free(header);
    return status;
}

int ls__safetensors_write(const char *path, int n, const ls__safetensor *tensor,
                          int pairs, const ls_setting *extra)
{
    ls__aside file;
    int status = ls__aside_open(&file, path);

    if (status == 0)
        status = ls__safetensors_put(&file.out, n, tensor, pairs, extra);
    if (status == 0)
        status = ls__aside_finish(&file);
    ls__aside_close(&file);
    return status;
}
