/* SPDX-License-Identifier: BSD-3-Clause */
/* The place of a state in a transcript that is read. */
#ifndef LS_CHAIN_SEEK_H
#define LS_CHAIN_SEEK_H

#include "chain/lines.h"

/* Read on until the next line is the state of so many batches.  LS_ENOTFOUND:
 * there is none. */
int ls__seek(ls__chain *c, int64_t batches);

/* The same of a run that has these options there; `before` are those of the
 * lines read so far, and become those of there.  LS_EDIFFERS: there are such
 * states, and other options. */
int ls__seek_with(ls__chain *c, int64_t batches, json_t *before,
                  const json_t *options);

#endif
