/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays in NumPy's files, .npy and .npz.  Of liblockstep_data: link with
 * -llockstep_data (pkg-config lockstep_data). */
#ifndef LOCKSTEP_FILES_H
#define LOCKSTEP_FILES_H

#include <lockstep/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Read a .npy file (versions 1 to 3; f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 b1, both
 * byte orders, C and Fortran order) as LS_F32 or LS_I32.  LS_EFORMAT names the
 * byte at fault.  LS_ERANGE names an element that `as` cannot hold: beyond the
 * range, or with a fraction for LS_I32. */
LS_API int ls_npy_load(ls_array *out, const char *path, ls_dtype as);

/* The shape of the array in a .npy file; only the header is read.  Returns its
 * rank, or the failure of ls_npy_load. */
LS_API int ls_npy_shape(const char *path, int64_t shape[LS_MAX_RANK]);

/* The same for an array in a .npz file, by its name ("x" of x.npy; NULL: the
 * file has no other).  Members are stored or deflated, of any size (ZIP64).
 * LS_EFORMAT: it is damaged, or two members are in one place; LS_ENOTFOUND: no
 * array of that name. */
LS_API int ls_npz_load(ls_array *out, const char *path, const char *name,
                       ls_dtype as);
/* The shape of such an array; only the header is unpacked. */
LS_API int ls_npz_shape(const char *path, const char *name,
                        int64_t shape[LS_MAX_RANK]);

#ifdef __cplusplus
}
#endif

#endif
