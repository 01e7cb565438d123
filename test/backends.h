/* Which backends there are to test. */
#ifndef TEST_BACKENDS_H
#define TEST_BACKENDS_H

#include "backend/backend.h"
#include "lockstep.h"

#include <stdio.h>

/* Is the backend "blis" in this build, and right on this machine?  Says so if
 * not. */
static inline bool have_blis(void)
{
    bool here = ls__blis_check() == 0;

    if (!here)
        printf("skipped: %s\n", ls_errmsg());
    return here;
}

#endif
