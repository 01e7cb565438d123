/* SPDX-License-Identifier: BSD-3-Clause */
/* The values of options: text to settings and back.  They are read strictly: a
 * number must be all of its text and in range. */
#include "opt/opt.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------ From text ------ */

static int wrong(const char *name, const char *value, const char *want)
{
    return opt_fail(OPT_WRONG, "--%s: \"%s\" is not %s", name, value, want);
}

/* The whole numbers among the types; the others have high = 0. */
/* clang-format off */
static const struct {
    int64_t low, high;
    const char *want;
} ranges[] = {
    [OPT_DEVICES] = { 1, 65536, "auto or a whole number from 1 to 65536" },
    [OPT_WORKERS] = { 1, 65536, "a whole number from 1 to 65536" },
    [OPT_COUNT] = { 1, INT32_MAX, "a whole number from 1 to 2147483647" },
    [OPT_NUMBER] = { 0, 1000000000000000,
                     "a whole number from 0 to 1000000000000000" },
    [OPT_SEED] = { INT64_MIN, INT64_MAX, "a whole number of 64 bits" },
    [OPT_SEED32] = { 0, UINT32_MAX, "a whole number from 0 to 4294967295" },
    [OPT_TEXT] = { 0, 0, NULL },
};
/* clang-format on */

static int read_whole(const opt *o, const char *text, int64_t *out)
{
    const char *digits = text + (*text == '-');
    long long n;

    errno = 0;
    n = strtoll(text, NULL, 10);
    if (!*digits || digits[strspn(digits, "0123456789")] || errno ||
        n < ranges[o->type].low || n > ranges[o->type].high)
        return wrong(o->name, text, ranges[o->type].want);
    *out = n;
    return OPT_GO;
}

/* The range of a real number: the row's own, or that of its type. */
static void range_of(const opt *o, double *least, double *below,
                     const char **want)
{
    bool decay = o->type == OPT_DECAY;

    *least = o->below > 0 ? o->least : 0;
    *below = o->below > 0 ? o->below : decay ? 1 : HUGE_VAL;
    *want = o->below > 0 ? o->range
            : decay      ? "a number from 0 to below 1"
                         : "a finite number from 0 up";
}

static int read_real(const opt *o, const char *text, double *out)
{
    double least, below, d;
    const char *want;
    char *end;

    range_of(o, &least, &below, &want);
    d = strtod(text, &end);
    /* strtod also takes blanks, hexadecimal, "inf" and "nan". */
    if (*end == ',')
        return opt_fail(OPT_WRONG, "--%s: \"%s\" is not %s; fractions stand "
                        "behind a point, as in 0.5", o->name, text, want);
    if (end == text || *end || text[strspn(text, "0123456789.eE+-")] ||
        !(d >= least && d < below))
        return wrong(o->name, text, want);
    *out = d;
    return OPT_GO;
}

bool opt_word_at(const opt *o, int i, opt_word *word)
{
    if (o->word)
        *word = (opt_word){o->word(i), i};
    else
        *word = o->words ? o->words[i] : (opt_word){NULL, 0};
    return word->word;
}

const char *opt_arg(const opt *o, char room[OPT_ARG])
{
    opt_word word;

    if (o->arg)
        return o->arg;
    *room = 0;
    for (int i = 0; opt_word_at(o, i, &word); i++)
        opt_append(room, OPT_ARG, "|", "%s", word.word);
    return *room ? room : NULL;
}

static int read_word(const opt *o, const char *text, void *out)
{
    char room[OPT_ARG];
    opt_word word;
    int i = 0;

    while (opt_word_at(o, i, &word) && strcmp(word.word, text))
        i++;
    for (const opt_gone *g = o->gone; g && g->word; g++)
        if (strcmp(g->word, text) == 0)
            return opt_fail(OPT_WRONG, "--%s: %s is no more: %s", o->name,
                            text, g->instead);
    if (!word.word)
        return opt_fail(OPT_WRONG, "--%s: \"%s\" is none of %s", o->name, text,
                        opt_arg(o, room));
    if (o->type == OPT_CHOICE)
        memcpy(out, &word.value, sizeof word.value);
    else
        memcpy(out, &word.word, sizeof word.word);
    return OPT_GO;
}

static int read_text(const opt *o, const char *text, void *out)
{
    if (!*text)
        return opt_fail(OPT_WRONG, "--%s: the value is empty", o->name);
    memcpy(out, &text, sizeof text);
    return OPT_GO;
}

int opt_store(const opt *o, const char *text)
{
    void *out = (char *)o->settings + o->at;

    switch (o->type) {
    case OPT_FLAG: *(bool *)out = true; return OPT_GO;
    case OPT_DEVICES:
        *(int64_t *)out = 0;
        return strcmp(text, "auto") == 0 ? OPT_GO : read_whole(o, text, out);
    case OPT_REAL:
    case OPT_DECAY: return read_real(o, text, out);
    case OPT_CHOICE:
    case OPT_WORD: return read_word(o, text, out);
    case OPT_TEXT: return read_text(o, text, out);
    default: return read_whole(o, text, out);
    }
}

static size_t size_of(const opt *o)
{
    return o->type == OPT_FLAG   ? sizeof(bool)
           : o->type >= OPT_WORD ? sizeof(char *)
                                 : sizeof(int64_t);
}

bool opt_is_on(const opt *o)
{
    static const char off[sizeof(int64_t)];

    return memcmp((char *)o->settings + o->at, off, size_of(o)) != 0;
}

void opt_switch_off(const opt *o)
{
    memset((char *)o->settings + o->at, 0, size_of(o));
}

/* The number that a text begins with, *end behind it: 0 for none, high + 1 for
 * one above high. */
static int64_t read_number(const char *text, int64_t high, const char **end)
{
    int64_t x = 0;

    for (; *text >= '0' && *text <= '9'; text++)
        x = x > high ? x : 10 * x + (*text - '0');
    *end = text;
    return x > high ? high + 1 : x;
}

/* The number of values, 0 for no list; out has the first `most`. */
static int read_list(const opt_list *l, const char *text, int64_t *out,
                     int64_t *largest)
{
    int n = 0;

    for (;; text++) {
        int64_t x = read_number(text, l->high, &text);

        if (!x || (*text && *text != l->between))
            return 0;
        *largest = x > *largest ? x : *largest;
        if (n < l->most)
            out[n] = x;
        n++;
        if (!*text)
            return n;
    }
}

int opt_numbers(const opt_list *l, const char *text, int64_t *out, int *n)
{
    int64_t largest = 0;

    *n = read_list(l, text, out, &largest);
    if (*n < l->least)
        return opt_fail(OPT_WRONG, "--%s: \"%s\" %s", l->option, text,
                        l->no_list);
    if (*n > l->most)
        return opt_fail(OPT_WRONG, "--%s: \"%s\" has %d numbers; it may have "
                        "%d", l->option, text, *n, l->most);
    if (largest > l->high)
        return opt_fail(OPT_WRONG, "--%s: \"%s\" has a number that is too "
                        "large; the largest there may be is %lld", l->option,
                        text, (long long)l->high);
    return OPT_GO;
}

/* ------ To text ------ */

void opt_append(char *list, size_t size, const char *between,
                const char *format, ...)
{
    size_t at = strlen(list);
    va_list args;

    if (at)
        at += strlen(strncat(list, between, size - at - 1) + at);
    va_start(args, format);
    vsnprintf(list + at, size - at, format, args);
    va_end(args);
}

/* Is a word a number? */
static bool is_number(const char *word)
{
    return *word && !word[strspn(word, "0123456789")];
}

static void print_word(const opt *o, int64_t value, char out[OPT_VALUE])
{
    opt_word word;

    *out = 0;
    for (int i = 0; opt_word_at(o, i, &word); i++)
        if (word.value == value)
            snprintf(out, OPT_VALUE, "%s", word.word);
}

/* The shortest text that reads back as the same double. */
static void print_real(double d, char out[OPT_VALUE])
{
    int digits = 1;

    do
        snprintf(out, OPT_VALUE, "%.*g", digits, d);
    while (strtod(out, NULL) != d && digits++ < 17);
}

double opt_shown(double x)
{
    return isnan(x) ? (double)NAN : x;
}

const char *opt_value(const opt *o, char room[OPT_VALUE], bool *quoted)
{
    const void *at = (const char *)o->settings + o->at;
    const char *text;

    *quoted = o->type >= OPT_CHOICE;
    switch (o->type) {
    case OPT_FLAG: return *(const bool *)at ? "true" : "false";
    case OPT_REAL:
    case OPT_DECAY: print_real(*(const double *)at, room); return room;
    case OPT_CHOICE:
        print_word(o, *(const int64_t *)at, room);
        *quoted = !is_number(room);
        return room;
    case OPT_WORD:
    case OPT_TEXT: memcpy(&text, at, sizeof text); return text;
    default:
        snprintf(room, OPT_VALUE, "%lld", (long long)*(const int64_t *)at);
        return *(const int64_t *)at < ranges[o->type].low ? NULL : room;
    }
}
