/* SPDX-License-Identifier: BSD-3-Clause */
/* The first difference of two transcripts. */
#include "base/error.h"
#include "base/json.h"
#include "base/sized.h"
#include "file/lines.h"
#include <lockstep/transcript.h>

#include <stdio.h>
#include <string.h>

enum { SIDES = 2 };

typedef struct pair {
    ls__chain chain[SIDES];
    json_t *line[SIDES]; /* NULL: the file has ended */
    ls_transcript_difference *first;
} pair;

/* Say where it is, once the first difference is in `what`. */
static void tell(const pair *p, const json_t *line, const char *what)
{
    const char *kind = ls__json_word(line, "kind");
    const char *at = strcmp(kind, "steps") ? "n" : "first";
    ls_transcript_difference *f = p->first;

    f->same = false;
    snprintf(f->text, sizeof f->text, "line %lld (%.20s of %lld): %.400s",
             (long long)f->line, kind,
             (long long)ls__json_count(line, at), what);
}

static void compare(const pair *p)
{
    json_t *a = p->line[0], *b = p->line[1];
    char what[LS_TRANSCRIPT_TEXT] = "";
    const ls__sides sides = {what, sizeof what,
                             {"in the first", "in the second"}};

    if (!a || !b) {
        tell(p, a ? a : b, a ? "the second file ends before it"
                             : "the first file ends before it");
        return;
    }
    if (ls__sides_differ(a, b, NULL, &sides))
        tell(p, a, what);
}

/* Read a line of each and compare; *over: both files have ended. */
static int compare_next(pair *p, bool *over)
{
    int status = ls__chain_read(&p->chain[0], &p->line[0]);

    if (status == 0)
        status = ls__chain_read(&p->chain[1], &p->line[1]);
    *over = status < 0 || (!p->line[0] && !p->line[1]);
    if (!*over) {
        p->first->line++;
        compare(p);
    }
    for (int side = 0; side < SIDES; side++) {
        json_decref(p->line[side]);
        p->line[side] = NULL;
    }
    return status;
}

static int compare_all(pair *p, const char *a, const char *b)
{
    bool over = false;
    int status = ls__chain_open(&p->chain[0], a);

    if (status == 0)
        status = ls__chain_open(&p->chain[1], b);
    while (status == 0 && !over && p->first->same)
        status = compare_next(p, &over);
    return status;
}

int ls_transcript_compare_bytes(const char *a, const char *b,
                                ls_transcript_difference *difference,
                                size_t size)
{
    LS__NEED(a);
    LS__NEED(b);
    LS__NEED(difference);

    ls_transcript_difference first = {.same = true};
    pair p = {.first = &first};
    int status = compare_all(&p, a, b);

    for (int side = 0; side < SIDES; side++)
        ls__chain_close(&p.chain[side]);
    if (status == 0)
        ls__sized_put(difference, size, &first, sizeof first);
    return status;
}
