/* SPDX-License-Identifier: BSD-3-Clause */
/* See answers.h. */
#include "verify/answers.h"
#include "opt/characters.h"
#include "opt/json_parts.h"
#include "opt/opt.h"

#include <stdio.h>
#include <string.h>

static const char *const question[QUESTIONS] = {"files", "state", "replay",
                                                "model"};
static const char rows[] = "rows of a batch";

/* Names rows without a root, unless the one who trained says why last; a
 * transcript of before that has no reason either. */
static void name_rows(answers *a, const char *source)
{
    size_t at = strlen(a->unknown);

    if (a->trained && !source && !strstr(a->unknown, rows))
        snprintf(a->unknown + at, sizeof a->unknown - at, "%s%s: the "
                 "transcript has no root of the data", at ? "; " : "", rows);
}

/* Is no name there but that of rows? */
static bool is_known(const answers *a)
{
    return !*a->unknown || strncmp(a->unknown, rows, sizeof rows - 1) == 0;
}

static void print_referee(const answers *a)
{
    if (!a->trained)
        puts("referee not asked");
    else if (is_known(a))
        printf("referee knows every operator, update and schedule%s%s\n",
               *a->unknown ? ", and not " : "", a->unknown);
    else
        printf("referee does not know %s\n", characters_shown(a->unknown));
}

static void print_text(const answers *a)
{
    print_referee(a);
    for (int i = 0; i < QUESTIONS; i++)
        if (!a->of[i].is_asked)
            printf("%-7s not asked\n", question[i]);
        else
            printf("%-7s %s: %s\n", question[i],
                   a->of[i].same ? "same" : "differs",
                   characters_shown(a->of[i].text));
}

static int print_json(const answers *a, const char *source)
{
    json_t *all = json_pack("{s:b}", "whole", a->whole);

    for (int i = 0; i < QUESTIONS; i++)
        all = json_with(all, question[i],
                            a->of[i].is_asked
                                ? json_pack("{s:b,s:s}", "same", a->of[i].same,
                                            "text", a->of[i].text)
                                : json_null());
    all = json_with(all, "referee",
                        a->trained
                            ? json_pack("{s:b,s:b,s:s}", "knows", is_known(a),
                                        "rows", source != NULL, "unknown",
                                        a->unknown)
                            : json_null());
    return json_print(all, JSON_COMPACT);
}

int answers_give(answers *a, const char *source, bool json)
{
    name_rows(a, source);
    for (int i = 0; i < QUESTIONS; i++)
        characters_clean(a->of[i].text);
    if (json)
        return print_json(a, source);
    print_text(a);
    return OPT_GO;
}
