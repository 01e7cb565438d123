/* SPDX-License-Identifier: BSD-3-Clause */
/* Patterns of names, and how near names are, in any locale. */
#ifndef LS_BASE_PATTERN_H
#define LS_BASE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* Does a pattern of fnmatch(3), * matching dots too, match a name?  Behind a
 * "!" it matches what the rest does not, "!head.*"; with glibc "!(head.*)" is
 * the same. */
bool ls__matches(const char *pattern, const char *name);

/* Are two texts, or their first n bytes, the same but for the case of ASCII
 * letters?  strcasecmp follows the locale. */
bool ls__same_letters(const char *a, const char *b, size_t n);

/* The nearness of two names: how much their ends have in common. */
size_t ls__name_nearness(const char *a, const char *b);

#endif
