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

/* The row of "--batch", or of what was called so; NULL: there is none. */
const opt *recorded_row(const char *name);

/* Does lockstep-train write "--batch", or "file --data", into transcripts, or
 * did it; with such a value, of which no part is another's? */
bool recorded_option(const char *name, const char *value);

/* The word of a command line that says it, of a file with its path as value; to
 * be freed, NULL: no memory.  Transcripts of old name parts as options. */
char *recorded_word(const char *name, const char *value);

#endif
