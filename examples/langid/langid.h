/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells the language of a text.  It was trained on free translations when it
 * was built, the same bytes on every machine. */
#ifndef LANGID_H
#define LANGID_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the shared library exports: these three functions. */
#ifdef __GNUC__
#define LANGID_API __attribute__((visibility("default")))
#else
#define LANGID_API
#endif

/* How many languages there are, and their names, "de" or "zh-Hant", i from 0
 * on; NULL for another i. */
LANGID_API int langid_languages(void);
LANGID_API const char *langid_name(int i);

/* The language of n bytes of UTF-8, of which the first 64 are looked at, and
 * how likely it is (NULL: not wanted).  -1: there is no text.  Any number of
 * threads may call it; it takes no memory. */
LANGID_API int langid_detect(const char *text, size_t n, float *likely);

#ifdef __cplusplus
}
#endif

#endif
