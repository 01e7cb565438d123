/* SPDX-License-Identifier: BSD-3-Clause */
/* Which options a transcript may name.  It may be anybody's: were others passed
 * on, it could have lockstep-train write any file. */
#ifndef TOOLS_RECORDED_H
#define TOOLS_RECORDED_H

#include <stdbool.h>

/* Stands before the name of an option that names what the run read. */
extern const char recorded_file[];

/* Does lockstep-train write "--batch", or "file --data", into transcripts? */
bool recorded_option(const char *name);

#endif
