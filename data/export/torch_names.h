/* SPDX-License-Identifier: BSD-3-Clause */
/* PyTorch's names of parameters and layers. */
#ifndef LS_EXPORT_TORCH_NAMES_H
#define LS_EXPORT_TORCH_NAMES_H

#include <stdbool.h>

enum { LS__TORCH_NAME = 512, LS__TORCH_RENAMES = 64 };

/* "OURS=THEIRS": a layer, or a module around layers, that is called otherwise;
 * "OURS=THEIRS&NORM" or "..&NORM:EPSILON": with a batch norm behind it. */
typedef struct ls__torch_rename {
    const char *ours, *theirs;
    bool used;
    const char *norm; /* NULL: there is none */
    double epsilon;
} ls__torch_rename;

typedef struct ls__torch_names {
    char *copy; /* of the text, cut into strings */
    int count;
    ls__torch_rename rename[LS__TORCH_RENAMES];
} ls__torch_names;

/* Read a list with commas; NULL: nothing is called otherwise.  Freed after a
 * failure too.  LS_EINVAL names what is wrong, LS_ENOMEM. */
int ls__torch_names_read(ls__torch_names *names, const char *text);
void ls__torch_names_free(ls__torch_names *names);

/* The one for a layer or a module around it; NULL: there is none. */
ls__torch_rename *ls__torch_names_of(ls__torch_names *names, const char *name);

/* PyTorch's name of a parameter or a layer, with "blocks.0" for "blocks_0"
 * where numbered. */
void ls__torch_name(ls__torch_names *names, const char *name, bool is_param,
                    bool numbered, char out[LS__TORCH_NAME]);

/* The part of a name behind the last dot. */
const char *ls__torch_last_part(const char *name);

#endif
