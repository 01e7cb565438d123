/* SPDX-License-Identifier: BSD-3-Clause */
/* Options that a transcript may name.  It may be anybody's: were others passed
 * on, it could have lockstep-train write any file. */
#ifndef TOOLS_RECORDED_H
#define TOOLS_RECORDED_H

#include "opt/opt.h"

#include <stdbool.h>

/* Stands before the name of an option that names what the run read. */
extern const char recorded_file[];

/* The options and models of lockstep-train. */
const opt_program *recorded_trainer(void);

/* Does lockstep-train write "--batch", or "file --data", into transcripts? */
bool recorded_option(const char *name);

#endif
