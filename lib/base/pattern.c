/* SPDX-License-Identifier: BSD-3-Clause */
/* See pattern.h. */
#define _GNU_SOURCE /* FNM_EXTMATCH */
#include "base/pattern.h"

#include <fnmatch.h>

#ifdef FNM_EXTMATCH
enum { FLAGS = FNM_EXTMATCH };
#else
enum { FLAGS = 0 };
#endif

bool ls__matches(const char *pattern, const char *name)
{
    bool others = pattern[0] == '!' && pattern[1] != '(';

    return (fnmatch(pattern + others, name, FLAGS) == 0) != others;
}
