/* SPDX-License-Identifier: BSD-3-Clause */
/* Can a result be written there?  Better found before the training than after
 * it. */
#ifndef TOOLS_WRITABLE_H
#define TOOLS_WRITABLE_H

#include "opt/opt.h"

/* OPT_GO, or after a message OPT_WRONG for "-" and for a path that no file can
 * have, as in a folder that does not exist, and OPT_FAILED for one that may not
 * be written.  A link stands for the file that it names, which must be there.
 * Looks only: no file is made, opened or changed. */
int writable_check(const char *path, opt_use use);

/* OPT_WRONG, and a message, for the path of --plot (NULL: none) that ends as
 * another kind of picture than the SVG that is written. */
int writable_check_plot(const char *path);

#endif
