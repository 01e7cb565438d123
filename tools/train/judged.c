/* SPDX-License-Identifier: BSD-3-Clause */
/* See judged.h. */
#include "train/judged.h"
#include "opt/characters.h"

#include <lockstep/record.h>

#include <stdio.h>

bool judged_tell_rows(const run *r)
{
    const char *why = data_unjudged(&r->data);

    if (why)
        printf("referee does not know rows of a batch (%s)\n",
               characters_shown(why));
    return why != NULL;
}

void judged_tell(const run *r)
{
    char text[LS_RECORD_TEXT];

    for (int i = 0; ls_record_unjudged(r->trainer, i, text) > 0; i++)
        printf("referee does not know %s\n", characters_shown(text));
    (void)judged_tell_rows(r);
}
