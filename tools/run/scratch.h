/* SPDX-License-Identifier: BSD-3-Clause */
/* A folder of a process's own below $TMPDIR, which is gone when it ends. */
#ifndef TOOLS_SCRATCH_H
#define TOOLS_SCRATCH_H

enum { SCRATCH = 4096 };

typedef struct scratch {
    char folder[SCRATCH]; /* "": it is not open */
    int lock; /* on it, while somebody has it open: also a forked process */
} scratch;

/* Make a folder lockstep-KIND-XXXXXX, and remove those of this kind that killed
 * processes left.  OPT_FAILED after a message. */
int scratch_open(scratch *s, const char *kind);

/* Remove the folder and what is in it; links are not followed.  Accepts a
 * cleared one. */
void scratch_close(scratch *s);

#endif
