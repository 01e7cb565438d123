/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads NumPy's .npz files: ZIP archives of .npy files. */
#include "array/npy.h"
#include "array/zip.h"
#include "base/error.h"
#include "file/format.h"

#include <lockstep/files.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An archive that is open, and the array of it that was asked for. */
typedef struct archive {
    ls__file file;
    ls__zip zip;
    ls__zip_member member;
    ls__npy npy;
    char text[LS_TEXT]; /* "data.npz: x", which messages call the array */
} archive;

/* "x.npy" is x; a member called x alone is, too. */
static bool is_called(const char *member, int length, const char *name)
{
    size_t n = strlen(name);

    return (size_t)length >= n && memcmp(member, name, n) == 0 &&
           ((size_t)length == n ||
            ((size_t)length == n + 4 && memcmp(member + n, ".npy", 4) == 0));
}

/* The number of the array, or of the only one where name is NULL. */
static int64_t find(const archive *a, const char *name)
{
    int64_t found = -1, count = 0;
    int length = 0;

    for (int64_t i = 0; i < a->zip.members; i++) {
        const char *member = ls__zip_name(&a->zip, i, &length);

        if (name && !is_called(member, length, name))
            continue;
        found = i;
        count++;
    }
    if (count == 1)
        return found;
    if (name)
        return ls__fail(count ? LS_EFORMAT : LS_ENOTFOUND, "%s: has %s array "
                        "called \"%.64s\"", a->file.path,
                        count ? "more than one" : "no", name);
    name = count ? ls__zip_name(&a->zip, 0, &length) : "";
    if (length > 4 && !memcmp(name + length - 4, ".npy", 4))
        length -= 4;
    return ls__fail(LS_ENOTFOUND, "%s: has %lld array%s; name the one that is "
                    "wanted, as %s:%.*s", a->file.path, (long long)count,
                    ls__s(count),
                    a->file.path, length < 64 ? length : 64, name);
}

static int open_array(archive *a, const char *path, const char *name)
{
    int64_t i;
    int status, length;

    *a = (archive){.file = {0}};
    if ((status = ls__file_open(&a->file, path)) < 0 ||
        (status = ls__zip_open(&a->zip, &a->file)) < 0)
        return ls__format_tell(status, path, LS__NPZ);
    if ((i = find(a, name)) < 0)
        return (int)i;
    if ((status = ls__member_open(&a->member, &a->zip, i)) < 0)
        return status;
    name = ls__zip_name(&a->zip, i, &length);
    snprintf(a->text, sizeof a->text, "%.160s: %.*s", path,
             length < 64 ? length : 64, name);
    return ls__npy_open_member(&a->npy, a->text, &a->member);
}

static void close_array(archive *a)
{
    ls__npy_close(&a->npy);
    ls__member_close(&a->member);
    ls__zip_close(&a->zip);
    ls__file_close(&a->file);
}

int ls_npz_load(ls_array *out, const char *path, const char *name, ls_dtype as)
{
    LS__NEED(out);
    LS__NEED(path);

    archive a;
    int status;

    if (as != LS_F32 && as != LS_I32)
        return ls__fail(LS_EINVAL, "%s: read as neither LS_F32 nor LS_I32",
                        path);
    status = open_array(&a, path, name);
    if (status == 0)
        status = ls__npy_read(&a.npy, out, as);
    close_array(&a);
    return status;
}

int ls_npz_shape(const char *path, const char *name, int64_t shape[LS_MAX_RANK])
{
    LS__NEED(path);
    LS__NEED(shape);

    archive a;
    int status = open_array(&a, path, name);

    if (status == 0) {
        memcpy(shape, a.npy.shape, sizeof a.npy.shape);
        status = a.npy.rank;
    }
    close_array(&a);
    return status;
}
