/* SPDX-License-Identifier: BSD-3-Clause */
/* Evidence of what schedules give: a learning rate, and what is left of the
 * weight decay and of the rate of dropout. */
#include "record/evidence_rules.h"

#include <stdlib.h>
#include <string.h>

/* Where a schedule's options are: in the trainer's, or in the text of a share,
 * "cosine, warmup 0, decay_steps 90, end_lr 0". */
typedef struct source {
    ls__evidence *e;
    const char *share; /* NULL: it is the learning rate's */
    char value[40];    /* of the option that was asked for last */
} source;

static const char *option_of(source *s, const char *name)
{
    size_t n = strlen(name);
    const char *at = s->share;

    if (!s->share)
        return ls__evidence_option(s->e, name);
    while ((at = strchr(at, ','))) {
        at += strspn(at, ", ");
        if (strncmp(at, name, n) || at[n] != ' ')
            continue;
        snprintf(s->value, sizeof s->value, "%.*s",
                 (int)strcspn(at + n + 1, ","), at + n + 1);
        return s->value;
    }
    return NULL;
}

static int by_update(const void *a, const void *b)
{
    long long x = strtoll(*(const char *const *)a, NULL, 10);
    long long y = strtoll(*(const char *const *)b, NULL, 10);

    return (x > y) - (x < y);
}

/* Add the options "boundary N" of a rate that falls in steps. */
static void add_boundaries(ls__evidence *e)
{
    json_t *options = json_object_get(e->head, "options"), *value;
    const char *name, *of[256];
    char full[64];
    size_t n = 0;

    json_object_foreach (options, name, value)
        if (strncmp(name, "boundary ", 9) == 0 && n < 256)
            of[n++] = name + 9;
    if (n == 0)
        return;
    qsort(of, n, sizeof *of, by_update);
    ls__evidence_begin(e, "bounds");
    for (size_t i = 0; i < n; i++)
        ls__evidence_say(e, (uint32_t)strtoll(of[i], NULL, 10));
    ls__evidence_end(e);
    ls__evidence_begin(e, "factors");
    for (size_t i = 0; i < n; i++) {
        snprintf(full, sizeof full, "boundary %.40s", of[i]);
        ls__evidence_say_real(e, strtod(ls__evidence_option(e, full), NULL));
    }
    ls__evidence_end(e);
}

/* Add the options that there are, as the words of their doubles or as whole
 * numbers. */
static void add_options(source *s)
{
    static const struct {
        const char *name, *option;
        bool whole;
    } of[] = {{"steps", "decay_steps", true}, {"warmup", "warmup", true},
              {"end", "end_lr", false}, {"rate", "decay_rate", false},
              {"power", "power", false}, {"cycle", "cycle_factor", true},
              {"restart", "restart_factor", false}, {"waves", "cycles", true},
              {"start", "pct_start", false}, {"final", "pct_final", false},
              {"div", "div_factor", false},
              {"last", "final_div_factor", false}};

    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const char *text = option_of(s, of[i].option);

        if (text && of[i].whole)
            ls__evidence_word(s->e, of[i].name,
                              (uint32_t)strtoll(text, NULL, 10));
        else if (text)
            ls__evidence_real(s->e, of[i].name, strtod(text, NULL));
    }
}

/* The record has the negative of a learning rate; a share's peak is 1. */
int ls__evidence_rate(ls__evidence *e, uint32_t a, uint32_t b)
{
    static const char of_decay[] = "share of decay";
    const char *what = e->of->place.what, *kind;
    const ls__kept *peak = ls__evidence_whole(e, "rule", "peak rate");
    bool is_rate = strcmp(what, "-lr") == 0;
    source s = {.e = e};
    char name[40];

    if (!is_rate)
        s.share = ls__evidence_option(e, strcmp(what, of_decay)
                                             ? "dropout_schedule"
                                             : "decay_schedule");
    kind = is_rate ? ls__evidence_option(e, "schedule") : s.share;
    if (!kind || (is_rate && (!peak || peak->n != 2)))
        return ls__asked_unknown("a learning rate without its peak");
    snprintf(name, sizeof name, "schedule.%.*s", (int)strcspn(kind, ","), kind);
    ls__evidence_rule(e, name, a, b);
    if (is_rate) {
        ls__evidence_word(e, "neg", 1);
        ls__evidence_list(e, "peak", 2, peak->x, 1);
    } else {
        ls__evidence_real(e, "peak", 1);
    }
    ls__evidence_word(
        e, "done",
        (uint32_t)json_integer_value(json_object_get(e->head, "step")));
    add_options(&s);
    if (is_rate)
        add_boundaries(e);
    return 0;
}
