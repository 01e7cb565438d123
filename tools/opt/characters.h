/* SPDX-License-Identifier: BSD-3-Clause */
/* Characters of UTF-8 in text that may be anybody's. */
#ifndef TOOLS_CHARACTERS_H
#define TOOLS_CHARACTERS_H

#include <stdio.h>

/* Bytes of the character at p; 0: that is none (RFC 3629). */
int character_bytes(const char *p);

/* Characters of a text, up to `most`; *end is behind them. */
int characters_count(const char *text, int most, const char **end);

/* Print text as one line that does nothing to a terminal: '?' for what is no
 * character, moves the cursor, or turns the direction of what follows.  Returns
 * the characters printed. */
int characters_print(FILE *file, const char *text);

/* The same as a text, for messages with names in them: good until four more
 * are shown; a very long one is cut. */
const char *characters_shown(const char *text);

/* Make the text itself such a line. */
void characters_clean(char *text);

#endif
