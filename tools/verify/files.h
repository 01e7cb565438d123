/* SPDX-License-Identifier: BSD-3-Clause */
/* Are these the bytes that the run read, and the model that it wrote? */
#ifndef TOOLS_FILES_H
#define TOOLS_FILES_H

#include "verify/published.h"

enum { FILES_TEXT = 512 };

/* Where a file of that name is: in the folder `data`, or `data` itself where it
 * is a file, or in the working folder where data is NULL.  To be freed; NULL
 * after a message. */
char *files_find(const char *data, const char *name);

/* Compare every file of the manifest, and the model `weights` if it is not
 * NULL.  *same: they are all the same; text says of how many, or which is
 * not.  OPT_FAILED, after a message: a file could not be read. */
int files_compare(const published *p, const char *data, const char *weights,
                  bool *same, char text[FILES_TEXT]);

#endif
