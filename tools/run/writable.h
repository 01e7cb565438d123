/* SPDX-License-Identifier: BSD-3-Clause */
/* Can a result be written there?  Better found before the training than after
 * it. */
#ifndef TOOLS_WRITABLE_H
#define TOOLS_WRITABLE_H

#include "run/apart.h"

/* OPT_GO, or after a message OPT_WRONG for "-" and for a path that no file can
 * have, as in a folder that does not exist, and OPT_FAILED for one that may not
 * be written.  Of the files only those that are written are asked for; one that
 * is not written aside may be a device.  Looks only: no file is made, opened or
 * changed. */
int writable_check(int count, const apart_file *file);

/* The same of a folder, which is there or can be made. */
int writable_check_folder(const char *path);

/* OPT_WRONG, and a message, for the path of --plot (NULL: none) that ends as
 * another kind of picture than the SVG that is written. */
int writable_check_plot(const char *path);

#endif
