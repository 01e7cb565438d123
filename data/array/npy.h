/* SPDX-License-Identifier: BSD-3-Clause */
/* A .npy file, its header read and checked against the file's length.
 * npy_header.c reads the header's text, npy.c the rest. */
#ifndef LS_ARRAY_NPY_H
#define LS_ARRAY_NPY_H

#include "array/zip.h"
#include "file/file.h"
#include <lockstep/base.h>

/* "f4", "i8", "u1", "b1" and so on. */
typedef struct ls__npy_type {
    char name[3];
    int bytes;
} ls__npy_type;

typedef struct ls__npy {
    const char *path; /* borrowed */
    ls__file file;      /* or, closed, the size of */
    ls__zip_member *member; /* this; borrowed */
    int64_t at; /* start of the data */
    const ls__npy_type *type;
    bool big_endian;
    bool fortran;
    int rank;
    int64_t shape[LS_MAX_RANK];
    int64_t count; /* elements */
} ls__npy;

/* Open a file and read its header; close it in either case. */
int ls__npy_open(ls__npy *f, const char *path);
/* The same for a member of an archive, which is read up to the data. */
int ls__npy_open_member(ls__npy *f, const char *path, ls__zip_member *member);
void ls__npy_close(ls__npy *f);

/* All elements in C order as LS_F32 or LS_I32; out is free'd by the caller. */
int ls__npy_read(ls__npy *f, ls_array *out, ls_dtype as);

/* ------ Between the two ------ */

/* The type named "f4"; NULL for none. */
const ls__npy_type *ls__npy_find_type(const char *name);

/* Fill type, orders, rank and shape from the header's text of `length` bytes
 * and a zero byte, which ends where the data begin. */
int ls__npy_parse(ls__npy *f, const char *text, int64_t length);

/* LS_EFORMAT with the position. */
int ls__npy_malformed(const ls__npy *f, const char *what, int64_t at);

#endif
