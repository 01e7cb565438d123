/* SPDX-License-Identifier: BSD-3-Clause */
/* The contents of safetensors files and checkpoints. */
#ifndef LOCKSTEP_ARCHIVE_H
#define LOCKSTEP_ARCHIVE_H

#include <lockstep/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ====== Files of arrays ====== */

/* The contents of a safetensors file, or of a checkpoint's folder, checked as a
 * whole when it is opened. */
typedef struct ls_archive ls_archive;

/* An array of an archive. */
typedef struct ls_entry {
    const char *name;
    const char *dtype; /* the format's name: "F32", "BF16", "I64" */
    int rank;
    int64_t shape[LS_MAX_RANK];
    int64_t elements, bytes;
    const void *data; /* as this machine has numbers; perhaps not aligned */
} ls_entry;

/* Read a file, or the files of a checkpoint, into memory.  LS_EIO; LS_EFORMAT:
 * malformed, or one of ours whose checksum does not match, or a folder that is
 * no checkpoint (where it holds some, the newest is named); LS_ENOTSUP: an
 * unknown element type, or more axes than LS_MAX_RANK. */
LS_API int ls_archive_open(ls_archive **archive, const char *path);
/* Close the archive and free all that it holds. */
LS_API void ls_archive_close(ls_archive *archive);

/* Returns how many arrays there are. */
LS_API int ls_archive_entries(const ls_archive *archive);

/* Stores array i = 0, 1, .., in the order of the file, and returns true; false
 * past the last.  It lives until the archive is closed. */
LS_API bool ls_archive_entry_bytes(const ls_archive *archive, int i,
                                   ls_entry *entry, size_t size);
static inline bool ls_archive_entry(const ls_archive *archive, int i,
                                    ls_entry *entry)
{
    return ls_archive_entry_bytes(archive, i, entry, sizeof *entry);
}

/* The elements of array i as floats; n must be their number.  LS_ENOTSUP: a
 * type that is not F32, F16, BF16 or F64; LS_ERANGE: an F64 too large. */
LS_API int ls_archive_read(const ls_archive *archive, int i, int64_t n,
                           float *out);

/* Stores pair i = 0, 1, .. of what else the file says ("__metadata__"; of a
 * checkpoint step, state hash, options and notes), and returns true; false past
 * the last.  The texts live until the archive is closed. */
LS_API bool ls_archive_note(const ls_archive *archive, int i,
                            const char **name, const char **value);

#ifdef __cplusplus
}
#endif

#endif
