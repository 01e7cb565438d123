/* SPDX-License-Identifier: BSD-3-Clause */
/* A test for UTF-8, which JSON and the files made of it must be. */
#ifndef LS_BASE_UTF8_H
#define LS_BASE_UTF8_H

#include <stdbool.h>

/* RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. */
bool ls__utf8_is(const char *text);

#endif
