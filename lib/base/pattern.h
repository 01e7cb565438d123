/* SPDX-License-Identifier: BSD-3-Clause */
/* Patterns of names, and how near names are. */
#ifndef LS_BASE_PATTERN_H
#define LS_BASE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* Does a pattern of fnmatch(3), * matching dots too, match a name?  Behind a
 * "!" it matches what the rest does not, "!head.*"; with glibc "!(head.*)" is
 * the same. */
bool ls__matches(const char *pattern, const char *name);

/* The nearness of two names: how much their ends have in common. */
size_t ls__name_nearness(const char *a, const char *b);

#endif
