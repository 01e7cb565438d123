/* SPDX-License-Identifier: BSD-3-Clause */
/* See judged.h. */
#include "train/judged.h"

#include <lockstep/record.h>

#include <stdio.h>

void judged_tell(const run *r)
{
    const char *why = data_unjudged(&r->data);
    char text[LS_RECORD_TEXT];

    for (int i = 0; ls_record_unjudged(r->trainer, i, text) > 0; i++)
        printf("referee does not know %s\n", text);
    if (why)
        printf("referee does not know rows of a batch (%s)\n", why);
}
