/* SPDX-License-Identifier: BSD-3-Clause */
/* "-" for a file that is read more than once, or from any place: a copy of the
 * standard input. */
#ifndef TOOLS_STANDARD_INPUT_H
#define TOOLS_STANDARD_INPUT_H

/* The path, or for "-" that of a copy, which lives as long as the program; NULL
 * after a message. */
const char *standard_input(const char *path);

#endif
