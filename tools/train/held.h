/* SPDX-License-Identifier: BSD-3-Clause */
/* Weights that are as good as those of the file, and newer.  Where the last of
 * several best epochs counts, many may be as good as each other, and writing a
 * file after each takes longer than its steps: they are copied, and written
 * when the run is kept or ends. */
#ifndef TOOLS_HELD_H
#define TOOLS_HELD_H

#include <lockstep/trainer.h>

#include <stdbool.h>

/* The number of all parameters, and copies of them, one after the other, in
 * canonical order.  A status of the library. */
int64_t weights_count(const ls_trainer *t);
int weights_get(const ls_trainer *t, float *to);

typedef struct held {
    float *value; /* of all parameters, one after the other */
    bool waits;   /* to be written */
} held;

/* Copy the weights. */
int held_take(held *h, const ls_trainer *trainer);

/* The weights that are held and those of the trainer change places. */
int held_swap(held *h, ls_trainer *trainer);

void held_close(held *h);

#endif
