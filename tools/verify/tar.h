/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a tar of a published folder; it may be anybody's. */
#ifndef TOOLS_TAR_H
#define TOOLS_TAR_H

#include <stdbool.h>

/* Is it an uncompressed tar (POSIX ustar, or GNU's)? */
bool tar_is(const char *path);

/* Write its files into a folder.  It holds plain files alone, all of one
 * folder, no name twice: OPT_FAILED, after a message, for links, devices,
 * folders in folders, extended headers, names that lead elsewhere, sizes that
 * the file has not, and wrong checksums. */
int tar_unpack(const char *path, const char *folder);

#endif
