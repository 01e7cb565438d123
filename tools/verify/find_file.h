/* SPDX-License-Identifier: BSD-3-Clause */
/* A file, or a folder by its list (run/listing.h), that has certain bytes. */
#ifndef TOOLS_FIND_FILE_H
#define TOOLS_FIND_FILE_H

#include <stdbool.h>
#include <stdint.h>

bool is_folder(const char *path);

/* The size and the digest of a file or folder.  OPT_FAILED after a message. */
int find_digest(const char *path, int64_t *bytes, char sha256[65]);

/* Look through a folder and all in it, but for what is hidden; to be freed.
 * NULL: none there has these bytes, or can be read. */
char *find_file(const char *folder, int64_t bytes, const char *sha256);

#endif
