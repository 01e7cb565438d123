/* SPDX-License-Identifier: BSD-3-Clause */
/* Is each file that is written none that is read, nor written twice, and can it
 * be written?  Better found before the training than by what is gone after it.
 *
 * What a command reads and writes is said by the rows of its options (`use` in
 * opt/opt.h) and, of the words that are no options, by its call here: a new
 * output is a row. */
#ifndef TOOLS_APART_H
#define TOOLS_APART_H

#include "opt/opt.h"

#include <stdbool.h>

typedef struct apart_file {
    const char *option; /* that names it: "--record", "INPUT" */
    const char *path;   /* NULL: it was not given */
    opt_use use;
} apart_file;

/* OPT_GO, or after a message OPT_WRONG for one file under two names, for "-",
 * and for a path that no file can have, as in a folder that does not exist, and
 * OPT_FAILED for one that may not be written; an OPT_MADE folder is there then.
 * Hard links and symbolic ones are the file.  Other than regular files may be
 * written by several: /dev/null, /dev/stdout.  `begun` is the option whose file
 * an OPT_REPLACED one may replace; NULL: none. */
int apart_check(const opt_line *line, int words, const apart_file *word,
                const char *begun);

/* Are two paths one file? */
bool apart_same(const char *a, const char *b);

/* Has a file of a folder's sets of images and labels such a name? */
bool apart_is_of_set(const char *name);

/* The path of images' labels, by the name alone; to be freed.  NULL: the name
 * says nothing. */
char *apart_labels(const char *images);

#endif
