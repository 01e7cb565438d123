/* SPDX-License-Identifier: BSD-3-Clause */
/* The place of a state in a transcript that is read. */
#ifndef LS_FILE_SEEK_H
#define LS_FILE_SEEK_H

#include "file/lines.h"

/* Read on until the next line is the state after that many batches, with these
 * options at that state, or NULL: any; `before` are those of the lines read so
 * far, and become the state's.  LS_ENOTFOUND: there is none; LS_EDIFFERS: there
 * are such states, and other options. */
int ls__seek(ls__chain *c, int64_t batches, json_t *before,
             const json_t *options);

#endif
