/* SPDX-License-Identifier: BSD-3-Clause */
/* See looks.h. */
#include "table/looks.h"
#include "table/number.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 40 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The number of digits that a text begins with. */
static int digits(const char *p)
{
    int n = 0;

    while (is_digit(p[n]))
        n++;
    return n;
}

/* ------ Numbers ------ */

static const char *const signs[] = {"$", "\xe2\x82\xac", "\xc2\xa3",
                                    "\xc2\xa5", "%"};
static const char *const blanks[] = {"\xc2\xa0", "\xe2\x80\xaf",
                                     "\xe2\x80\x89"};

enum { SIGNS = sizeof signs / sizeof *signs, PER_CENT = SIGNS - 1 };

/* Take every `what` out of a text, or put a byte in its place. */
static bool replace(char *text, const char *what, char by)
{
    size_t n = strlen(what);
    bool found = false;

    for (char *at; (at = strstr(text, what)); found = true) {
        if (by)
            *at++ = by;
        memmove(at, at + n - (by != 0), strlen(at + n - (by != 0)) + 1);
    }
    return found;
}

static void trim(char *text)
{
    size_t n = strspn(text, " ");

    memmove(text, text + n, strlen(text + n) + 1);
    for (n = strlen(text); n && text[n - 1] == ' '; n--)
        text[n - 1] = 0;
}

/* "1 000", "-1.234,56": the mark between thousands, or 0. */
static char grouped(const char *p)
{
    int n = digits(p += *p == '-' || *p == '+');
    char mark = p[n];

    if (n < 1 || n > 3 || !mark || !strchr(",. '", mark))
        return 0;
    for (p += n; *p == mark && digits(p + 1) == 3; p += 4)
        n = 4;
    if (n < 4)
        return 0;
    if ((*p == '.' || *p == ',') && *p != mark)
        p += 1 + digits(p + 1);
    return *p ? 0 : mark;
}

char ls__thousands(const char *text)
{
    const char *p = text + (*text == '-' || *text == '+');
    char mark = *p == '0' ? 0 : grouped(p);

    return (mark == '.' || mark == ',') && strlen(strchr(p, mark)) == 4 ? mark
                                                                       : 0;
}

static ls__look number_look(char *text)
{
    ls__look look = LS__PLAIN;
    double x;

    for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++)
        replace(text, blanks[i], ' ');
    for (int i = 0; i < SIGNS; i++)
        if (replace(text, signs[i], 0))
            look = i == PER_CENT ? LS__PERCENT : LS__MONEY;
    trim(text);
    if (look && ls__number_value(text, true, &x))
        return look;
    if (grouped(text))
        return look ? look : LS__GROUPED;
    return !look && strchr(text, ',') && ls__number_value(text, true, &x)
               ? LS__COMMA : LS__PLAIN;
}

/* ------ Dates ------ */

/* "18:30", "6:30:05 PM". */
static bool is_time(const char *p)
{
    int n = digits(p);

    if (n < 1 || n > 2 || p[n] != ':' || digits(p + n + 1) != 2)
        return false;
    p += n + 3;
    while (is_digit(*p) || (*p && strchr(":. AaPpMm", *p)))
        p++;
    return !*p;
}

/* Is nothing behind a date, or a time? */
static bool ends_date(const char *p)
{
    while (*p == ' ' || *p == 'T' || *p == ',')
        p++;
    return !*p || is_time(p);
}

/* Three numbers with a mark between them; one may be a year. */
static bool is_date(const char *p)
{
    int size[3];
    char mark = 0;

    for (int i = 0; i < 3; i++) {
        size[i] = digits(p);
        p += size[i];
        if (i < 2 && ((i && *p != mark) || !*p || !strchr("/.-", *p)))
            return false;
        mark = *p;
        p += i < 2;
    }
    if (size[0] == 4)
        return size[1] <= 2 && size[2] > 0 && size[2] <= 2 && ends_date(p);
    return size[0] > 0 && size[0] <= 2 && size[1] > 0 && size[1] <= 2 &&
           (size[2] == 2 || size[2] == 4) && ends_date(p);
}

/* Letters that a month's name begins with. */
static bool is_month(const char *p, size_t n)
{
    static const char names[] = "janfebmaraprmayjunjulaugsepoctnovdec";
    char low[4] = "";

    for (size_t i = 0; i < 3 && i < n; i++)
        low[i] = (char)(p[i] | 0x20);
    for (const char *m = names; n >= 3 && *m; m += 3)
        if (!strncmp(m, low, 3))
            return true;
    return false;
}

/* "15-Jan-2025", "January 15, 2025". */
static bool has_month(const char *p)
{
    int months = 0, numbers = 0;

    while (*p) {
        size_t n = 0;

        while (is_letter(p[n]))
            n++;
        months += n && is_month(p, n);
        numbers += digits(p) > 0;
        if ((n && !is_month(p, n)) ||
            (!n && !is_digit(*p) && !strchr(" ,.-/:", *p)))
            return false;
        p += n ? n : digits(p) ? (size_t)digits(p) : 1;
    }
    return months == 1 && numbers >= 2;
}

/* ------ */

static bool is_absent(const char *text)
{
    static const char *const word[] = {"None", "none", "NONE", "-", "--",
                                       "#N/A", "N/D", "NaT", "<NA>", "nil"};

    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        if (!strcmp(word[i], text))
            return true;
    return false;
}

ls__look ls__looks_like(const char *text)
{
    char room[LONGEST];

    if (strlen(text) >= sizeof room)
        return LS__PLAIN;
    if (is_absent(text))
        return LS__ABSENT;
    if (is_date(text) || has_month(text))
        return LS__DATE;
    if (is_time(text))
        return LS__TIME;
    strcpy(room, text);
    return number_look(room);
}

/* pandas takes marks of ASCII between thousands out. */
static void hint_of_marks(const char *text, char separator, size_t size,
                          char *out)
{
    char mark = grouped(text), thousands[32] = "";
    const char *quote = "\\x27"; /* the shell's */
    bool comma = mark != ',' && strchr(text, ',');

    for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++)
        if (strstr(text, blanks[i])) { /* which pandas leaves where it is */
            snprintf(out, size, "a number with marks between thousands; sed "
                     "'s/%s//g' FILE >NEW takes them out", blanks[i]);
            return;
        }
    if (mark)
        snprintf(thousands, sizeof thousands, ", thousands=\"%s\"",
                 mark == '\'' ? quote : (char[]){mark, 0});
    snprintf(out, size, "a number with %s; python3 -c 'import pandas as p; "
             "p.read_csv(\"FILE\", sep=\"%s\"%s%s).to_csv(\"NEW\", "
             "index=False)' writes it without",
             mark ? "marks between thousands" : "a comma for the point",
             separator == '\t' ? "\\t" : (char[]){separator, 0}, thousands,
             comma ? ", decimal=\",\"" : "");
}

void ls__look_hint(const char *text, const char *name, char separator,
                   size_t size, char *out)
{
    ls__look look = ls__looks_like(text);

    *out = 0;
    if (look == LS__PERCENT)
        snprintf(out, size, "a number with a per cent sign; sed 's/ *%%//g' "
                 "FILE >NEW takes that off");
    else if (look == LS__MONEY)
        snprintf(out, size, "a number with a currency's sign; sed -E "
                 "'s/ *(\\$|%s|%s|%s) *//g' FILE >NEW takes that off",
                 signs[1], signs[2], signs[3]);
    else if (look == LS__GROUPED || look == LS__COMMA)
        hint_of_marks(text, separator, size, out);
    else if (look == LS__DATE)
        snprintf(out, size, "a date, which is 2025-01-31 or 2025-01-31T18:30 "
                 "here; python3 -c 'import pandas as p; t = p.read_csv("
                 "\"FILE\"); t[\"%.40s\"] = p.to_datetime(t[\"%.40s\"], "
                 "dayfirst=True); t.to_csv(\"NEW\", index=False)' writes it so "
                 "(dayfirst=False: the month is first)", name, name);
    else if (look == LS__TIME)
        snprintf(out, size, "a time of day; write it as a number of hours, "
                 "18.5 for 18:30");
    else if (look == LS__ABSENT)
        snprintf(out, size, "a missing value, which is an empty field here; "
                 "sed -E ':a;s@(^|[%c])%s([%c]|$)@\\1\\2@;ta' FILE >NEW "
                 "empties it", separator, text, separator);
}
