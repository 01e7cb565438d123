/* SPDX-License-Identifier: BSD-3-Clause */
/* Stand-in for blis.c in a library configured --without-blis: the backend
 * "blis" is refused, and there is nothing to tune. */
#include "backend/backend.h"
#include "base/error.h"
#include <lockstep/measure.h>

#include <stdio.h>

const ls__backend ls__backend_blis = {.name = "blis"};

int ls__blis_check(void)
{
    return ls__fail(LS_ENOTSUP, "backend \"blis\" is not built into this "
                    "library, which was configured --without-blis");
}

void ls_blis_tune(void)
{
}

void ls_blis_text(char text[LS_TEXT])
{
    LS__NEED_OR(text, );

    snprintf(text, LS_TEXT, "BLIS: not built in");
}
