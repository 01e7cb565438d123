/* SPDX-License-Identifier: BSD-3-Clause */
/* Base of every header: the version, the statuses that functions return, and
 * arrays with a type and a shape. */
#ifndef LOCKSTEP_BASE_H
#define LOCKSTEP_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(LS_BUILDING) && defined(__GNUC__)
#define LS_API __attribute__((visibility("default")))
#else
#define LS_API
#endif

/* ====== Version ====== */

#define LS_VERSION_MAJOR 0
#define LS_VERSION_MINOR 3
#define LS_VERSION_PATCH 0

/* The version of the library that runs, "0.3.0"; the macros above are those of
 * the header that was compiled. */
LS_API const char *ls_version(void);

/* ====== Errors ====== */

/* One list for the numbers, the names and the texts. */
#define LS_ERRORS(X) \
    X(LS_ENOMEM, -1, "out of memory") \
    X(LS_EINVAL, -2, "invalid argument") \
    X(LS_ESHAPE, -3, "shapes do not fit") \
    X(LS_ERANGE, -4, "value out of range") \
    X(LS_ENONFINITE, -5, "a value is not finite") \
    X(LS_EIO, -6, "input or output failed") \
    X(LS_EFORMAT, -7, "malformed file") \
    X(LS_ETHREAD, -8, "a thread could not be made or placed") \
    X(LS_ENOTFOUND, -9, "no such name") \
    X(LS_EUSER, -10, "a user's function failed") \
    X(LS_ENOTSUP, -11, "not supported here") \
    X(LS_EBUSY, -12, "in use") \
    X(LS_EDIFFERS, -13, "not the same as what was recorded")

#define LS_ENUM(name, value, text) name = value,
enum ls_status { LS_OK = 0, LS_ERRORS(LS_ENUM) };
#undef LS_ENUM

/* The general text of a status: "shapes do not fit". */
LS_API const char *ls_strerror(int status);

/* The message of the calling thread's last failed call, in full; or what
 * ls_step has to say of a batch whose weights are all 0.  Valid until that
 * thread's next such call. */
LS_API const char *ls_errmsg(void);

/* Give the calling thread's message these words, as every function of the
 * library that fails does, and return status.  The text may be ls_errmsg():
 * other words for the status alone.  For libraries that stand on this one. */
LS_API int ls_error(int status, const char *text);

/* ====== Structs that can grow ====== */

/* A library that is newer or older than a program's header works with it:
 *
 * Options begin with their size.  ls_mesh_defaults() and the like write it, so
 * options begin as these functions make them.  Members that a program does not
 * know have their defaults; members that the library does not know must be 0.
 * Otherwise, and where the size is 0, a function that takes options returns
 * LS_EINVAL.
 *
 * Results go with their size: ls_step and the other functions that fill a
 * struct are inline and call a function of the same name with _bytes at its
 * end.  Programs call the short one.  Members that a program does not know are
 * not written, and members that the library does not know become 0.
 *
 * A member that a version adds begins where the struct ended: never in its
 * padding, which programs do not write.
 *
 * All other structs keep their sizes and members as long as the soname is the
 * same.  They are members of others, elements of arrays, or arguments by value:
 * optimizers, schedules, groups.  What such a struct lacks becomes a member of
 * the options that hold it. */

/* ====== Arrays ====== */

/* Element types.  Graphs, trainers and readers take the first two; named arrays
 * (lockstep/collective.h) take all of them. */
typedef enum ls_dtype {
    LS_F32 = 1, LS_I32 = 2, LS_F64 = 3, LS_I64 = 4, LS_U8 = 5
} ls_dtype;

enum { LS_MAX_RANK = 8 };

/* The name, type and shape of an array; copied. */
typedef struct ls_array_spec {
    const char *name;
    ls_dtype dtype;
    int rank;
    int64_t shape[LS_MAX_RANK]; /* of a parameter; of one row of an input */
} ls_array_spec;

/* An array in memory.  In a set of arrays its first axis counts rows, or
 * devices, and it has a name; the name and the data are the caller's.  Where a
 * function reads an array from a file, its data are malloc's (ls_array_free)
 * and its name is NULL. */
typedef struct ls_array {
    const char *name;
    ls_dtype dtype;
    int rank; /* up to LS_MAX_RANK; in a set 1 at least */
    int64_t shape[LS_MAX_RANK];
    void *data; /* C order; written only where a comment says so */
} ls_array;

/* Free the data of an array that was read, and clear it. */
LS_API void ls_array_free(ls_array *array);

/* ====== What several headers share ====== */

enum { LS_TEXT = 256 }; /* bytes of a text written into the caller's room */

/* A name with a text. */
typedef struct ls_setting {
    const char *name, *value;
} ls_setting;

/* Rows that do not divide by the devices: an error, or padding with rows of
 * zeros that a mask marks; or, of a loader's batch, the last devices have fewer
 * rows or none (ls_batch_set). */
typedef enum ls_uneven {
    LS_UNEVEN_ERROR,
    LS_UNEVEN_PAD,
    LS_UNEVEN_CUT
} ls_uneven;

#ifdef __cplusplus
}
#endif

#endif
