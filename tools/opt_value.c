/* The values of options: text to settings and back.  They are read strictly: a
 * number must be all of its text and in range. */
#include "opt.h"

#include <errno.h>
#include <math.h>
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

static int read_real(const opt *o, const char *text, double *out)
{
    bool decay = o->type == OPT_DECAY;
    char *end;
    double d = strtod(text, &end);

    /* strtod also takes blanks, hexadecimal, "inf" and "nan". */
    if (end == text || *end || text[strspn(text, "0123456789.eE+-")] ||
        !isfinite(d) || d < 0 || (decay && d >= 1))
        return wrong(o->name, text,
                     decay ? "a number from 0 to below 1"
                           : "a finite number from 0 up");
    *out = d;
    return OPT_GO;
}

/* Which word of "a|b|c"; -1 for none. */
static int word_index(const char *words, const char *text)
{
    size_t n = strlen(text);

    for (int i = 0;; i++) {
        size_t m = strcspn(words, "|");

        if (m == n && memcmp(words, text, n) == 0)
            return i;
        if (!words[m])
            return -1;
        words += m + 1;
    }
}

static int read_word(const opt *o, const char *text, void *out)
{
    int64_t i = word_index(o->arg, text);

    if (i < 0)
        return opt_fail(OPT_WRONG, "--%s: \"%s\" is none of %s", o->name, text,
                        o->arg);
    if (o->type == OPT_CHOICE)
        memcpy(out, &i, sizeof i);
    else
        memcpy(out, &text, sizeof text);
    return OPT_GO;
}

static int read_text(const opt *o, const char *text, void *out)
{
    if (!*text)
        return opt_fail(OPT_WRONG, "--%s: the value is empty", o->name);
    memcpy(out, &text, sizeof text);
    return OPT_GO;
}

int opt_store(const opt *o, const char *text, void *settings)
{
    void *out = (char *)settings + o->at;

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

int opt_numbers(const char *text, char between, int64_t high, int most,
                int64_t *out)
{
    for (int n = 0; n < most; text++) {
        char *end;
        long long x = strtoll(text, &end, 10);

        if (*text < '0' || *text > '9' || x < 1 || x > high)
            return 0;
        out[n++] = x;
        if (!*end)
            return n;
        if (*end != between)
            return 0;
        text = end;
    }
    return 0;
}

/* ------ To text ------ */

static void print_word(const char *words, int64_t i, char out[OPT_VALUE])
{
    for (; i > 0; i--)
        words += strcspn(words, "|") + 1;
    snprintf(out, OPT_VALUE, "%.*s", (int)strcspn(words, "|"), words);
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

const char *opt_value(const opt *o, const void *settings, char room[OPT_VALUE],
                      bool *quoted)
{
    const void *at = (const char *)settings + o->at;
    const char *text;

    *quoted = o->type >= OPT_CHOICE;
    switch (o->type) {
    case OPT_FLAG: return *(const bool *)at ? "true" : "false";
    case OPT_REAL:
    case OPT_DECAY: print_real(*(const double *)at, room); return room;
    case OPT_CHOICE:
        print_word(o->arg, *(const int64_t *)at, room);
        return room;
    case OPT_WORD:
    case OPT_TEXT: memcpy(&text, at, sizeof text); return text;
    default:
        snprintf(room, OPT_VALUE, "%lld", (long long)*(const int64_t *)at);
        return *(const int64_t *)at < ranges[o->type].low ? NULL : room;
    }
}
