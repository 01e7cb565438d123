/* SPDX-License-Identifier: BSD-3-Clause */
/* Structs that can grow (ABI).  A program may have been compiled with a header
 * that had a smaller or larger struct, so every struct that crosses the border
 * goes with its size: options carry it as their first member, results are
 * written by functions that are given it. */
#ifndef LS_BASE_SIZED_H
#define LS_BASE_SIZED_H

#include "base/error.h"

#include <stddef.h>

/* Write a result of n bytes into the program's struct of `size` bytes: members
 * unknown to the program are left out, those unknown here become 0. */
void ls__sized_put(void *theirs, size_t size, const void *ours, size_t n);

/* Write default options likewise; their first member becomes `size`. */
void ls__sized_defaults(void *theirs, size_t size, const void *ours, size_t n);

/* The function that writes the options of a type: its size, and members as in
 * an initialiser, all others being zeros. */
#define LS__DEFAULTS(type, function, ...) \
    void function(type *options, size_t size) \
    { \
        const type ours = {.size = sizeof ours, __VA_ARGS__}; \
\
        LS__NEED_OR(options, ); \
        ls__sized_defaults(options, size, &ours, sizeof ours); \
    }

/* Read a program's options over ours, which hold the defaults: members that the
 * program does not know keep them; NULL keeps them all.  ours->size becomes n.
 * what names the options: "mesh" is ls_mesh_options.  LS_EINVAL: the size is
 * none, or bytes that are unknown here are not 0. */
int ls__sized_take(const char *what, void *ours, size_t n, const void *theirs);

#endif
