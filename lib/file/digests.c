/* SPDX-License-Identifier: BSD-3-Clause */
/* SHA-256 of bytes and of files, as programs ask for it. */
#include "base/error.h"
#include "base/sha.h"
#include "file/file.h"
#include "file/safetensors.h"
#include "file/seal.h"
#include <lockstep/transcript.h>

#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 14 };

_Static_assert(PIECE % 64 == 0, "whole blocks of SHA-256");

void ls_digest(const void *data, size_t bytes, char sha256[65])
{
    LS__NEED_OR(data, );
    LS__NEED_OR(sha256, );

    ls__sha256 sha;

    ls__sha256_init(&sha);
    ls__sha256_update(&sha, data, bytes);
    ls__sha256_hex(&sha, sha256);
}

int ls_file_digest(const char *path, int64_t *bytes, char sha256[65])
{
    LS__NEED(path);
    LS__NEED(bytes);
    LS__NEED(sha256);

    uint8_t piece[PIECE];
    ls__file file = {0};
    ls__sha256 sha;
    int status = ls__file_open(&file, path);

    ls__sha256_init(&sha);
    for (int64_t at = 0; status == 0 && at < file.size; at += PIECE) {
        int64_t left = file.size - at;
        size_t n = left < PIECE ? (size_t)left : PIECE;

        status = ls__file_read(&file, piece, n, at);
        ls__sha256_update(&sha, piece, n);
    }
    if (status == 0)
        *bytes = file.size;
    ls__sha256_hex(&sha, sha256);
    if (status < 0)
        *sha256 = 0;
    ls__file_close(&file);
    return status;
}

/* ------ what a model file holds ------ */

static void put_text(ls__sha256 *sha, const char *text)
{
    ls__sha256_number(sha, (int64_t)strlen(text));
    ls__sha256_update(sha, text, strlen(text));
}

static int by_key(const void *a, const void *b)
{
    const ls_setting *p = a, *q = b;

    return strcmp(p->name, q->name);
}

/* Does a pair say who wrote the file, or is it a checksum of its bytes? */
static bool is_of_file(const char *key)
{
    return !strcmp(key, "lockstep") || !strcmp(key, LS__SEAL) ||
           !strcmp(key, "sha256");
}

static void put_pairs(ls__sha256 *sha, ls__safetensors *file)
{
    int n = 0;

    qsort(file->pair, (size_t)file->pairs, sizeof *file->pair, by_key);
    for (int i = 0; i < file->pairs; i++)
        n += !is_of_file(file->pair[i].name);
    ls__sha256_number(sha, n);
    for (int i = 0; i < file->pairs; i++)
        if (!is_of_file(file->pair[i].name)) {
            put_text(sha, file->pair[i].name);
            put_text(sha, file->pair[i].value);
        }
}

static void put_tensor(ls__sha256 *sha, const ls_entry *e)
{
    put_text(sha, e->name);
    put_text(sha, e->dtype);
    ls__sha256_number(sha, e->rank);
    for (int i = 0; i < e->rank; i++)
        ls__sha256_number(sha, e->shape[i]);
    if (e->bytes == 4 * e->elements)
        ls__sha256_words(sha, e->data, (size_t)e->elements);
    else
        ls__sha256_update(sha, e->data, (size_t)e->bytes);
}

int ls_model_contents(const char *path, char sha256[65])
{
    LS__NEED(path);
    LS__NEED(sha256);

    ls__safetensors file;
    ls__sha256 sha;
    int status = ls__safetensors_read(&file, path);

    *sha256 = 0;
    if (status < 0)
        return status;
    ls__sha256_init(&sha);
    put_text(&sha, "lockstep contents 1");
    put_pairs(&sha, &file);
    ls__sha256_number(&sha, file.count);
    for (int i = 0; i < file.count; i++)
        put_tensor(&sha, &file.entry[i]);
    ls__sha256_hex(&sha, sha256);
    ls__safetensors_free(&file);
    return 0;
}
