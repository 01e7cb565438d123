/* SPDX-License-Identifier: BSD-3-Clause */
/* See answers.h. */
#include "verify/answers.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const char *const question[QUESTIONS] = {"files", "state", "replay"};
static const char rows[] = "rows of a batch";

/* Who trained says last why rows have no root; a transcript of before there was
 * one has none either. */
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
        printf("referee does not know %s\n", a->unknown);
}

static void print_text(const answers *a)
{
    print_referee(a);
    for (int i = 0; i < QUESTIONS; i++)
        if (!a->of[i].is_asked)
            printf("%-7s not asked\n", question[i]);
        else
            printf("%-7s %s: %s\n", question[i],
                   a->of[i].same ? "same" : "differs", a->of[i].text);
}

static void print_json(const answers *a, const char *source)
{
    json_t *all = json_object();

    for (int i = 0; i < QUESTIONS; i++)
        json_object_set_new(all, question[i],
                            a->of[i].is_asked
                                ? json_pack("{s:b,s:s}", "same", a->of[i].same,
                                            "text", a->of[i].text)
                                : json_null());
    json_object_set_new(all, "referee",
                        a->trained
                            ? json_pack("{s:b,s:b,s:s}", "knows", is_known(a),
                                        "rows", source != NULL, "unknown",
                                        a->unknown)
                            : json_null());
    json_dumpf(all, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(all);
}

void answers_give(answers *a, const char *source, bool json)
{
    name_rows(a, source);
    if (json)
        print_json(a, source);
    else
        print_text(a);
}
