/* SPDX-License-Identifier: BSD-3-Clause */
/* A model as C source, which computes the bytes that the model computes here.
 *
 *     ls_csource_save("net.safetensors", "net.c", NULL);
 *
 * writes net.c and net.h: C99 for any compiler, with the weights, the names of
 * classes and what the columns of a table mean in them, and no need of memory,
 * of this library or of the C library.  docs/csource.md says how a program asks
 * it.
 *
 * Of liblockstep_data: link with -llockstep_data (pkg-config lockstep_data). */
#ifndef LOCKSTEP_CSOURCE_H
#define LOCKSTEP_CSOURCE_H

#include <lockstep/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Options of a model as C source. */
typedef struct ls_csource_options {
    size_t size; /* ls_csource_defaults() writes it */
    const char *name; /* prefix of its functions; NULL: the file's name */
    bool int8; /* weights and products are quantised to 8 bits: a quarter of the
                  size, by the rules of docs/csource.md; LS_ENOTSUP: a layer of
                  more than 133143 inputs */
} ls_csource_options;

/* Returns options with the file's name as prefix. */
LS_API void ls_csource_defaults_bytes(ls_csource_options *options, size_t size);
static inline ls_csource_options ls_csource_defaults(void)
{
    ls_csource_options o;

    ls_csource_defaults_bytes(&o, sizeof o);
    return o;
}

/* Write a model file's model to `path`, which ends in ".c", and to the header
 * beside it: the first output for rows of the inputs that it needs; options
 * NULL means the defaults.  Each file appears whole or not at all.  LS_ENOTSUP
 * names an operator that cannot be written, which is a program's own;
 * LS_ENONFINITE: a weight that is not finite; LS_EINVAL: a path or a name that
 * is none; what ls_predictor_load gives; LS_EIO; LS_ENOMEM. */
LS_API int ls_csource_save(const char *model, const char *path,
                           const ls_csource_options *options);

#ifdef __cplusplus
}
#endif

#endif
