/* SPDX-License-Identifier: BSD-3-Clause */
/* A folder as one digest: that of the list of its files, a line for each,
 *
 *     SHA-256 of the file, two blanks, its path below the folder, a newline
 *
 * sorted by the paths' bytes, of all folders in it, without what is hidden.
 * docs/transcript.md has the commands that print it. */
#ifndef TOOLS_LISTING_H
#define TOOLS_LISTING_H

#include <stdint.h>

/* Digest a folder: *bytes of all its files, and the hash of their list.
 * OPT_FAILED after a message, of a folder without files too. */
int listing_digest(const char *folder, int64_t *bytes, char sha256[65]);

#endif
