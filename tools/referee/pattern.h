/* SPDX-License-Identifier: BSD-3-Clause */
/* Patterns of parameters' names, as options of groups have them. */
#ifndef REFEREE_PATTERN_H
#define REFEREE_PATTERN_H

/* Does a pattern of fnmatch(3) match a name?  `*` is any text, `?` a character,
 * `[a-z]` and `[!a-z]` one of some, `\` the next as it is; behind a "!", or in
 * "!(..)", it matches what the rest does not.  -1: it has more than that. */
int pattern_fits(const char *pattern, const char *name);

#endif
