/* SPDX-License-Identifier: BSD-3-Clause */
/* A file of results that is written aside and takes its place when it is whole
 * (atomic rename); a signal that ends the process takes along what is not. */
#ifndef TOOLS_OUTPUT_H
#define TOOLS_OUTPUT_H

#include <stdio.h>

typedef struct output {
    FILE *file;       /* to be written; NULL: not open */
    const char *path; /* as it was given; borrowed */
    char *place;      /* the file it stands for, behind links */
    char *temp;       /* what is written until then, in the same folder; NULL:
                         the file itself, where it is no regular one, or is the
                         standard output, or its folder takes no new ones */
} output;

/* OPT_GO, or OPT_FAILED after a message. */
int output_open(output *o, const char *path);

/* Close what is open, if anything is.  With OPT_GO all has been written, and
 * the file appears, with the owner and the mode of the one that was there; with
 * another status that one stays.  Returns the status, or OPT_FAILED after a
 * message, which names the file aside if all has been written but it cannot
 * take its place. */
int output_close(output *o, int status);

/* fsync, and again where a signal came. */
int output_sync(int fd);

#endif
