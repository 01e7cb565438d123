/* SPDX-License-Identifier: BSD-3-Clause */
/* SHA-256 of bytes and of files, as programs ask for it. */
#include "base/error.h"
#include "base/sha.h"
#include "disk/file.h"
#include <lockstep/transcript.h>

enum { PIECE = 1 << 14 };

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
