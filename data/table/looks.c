/* SPDX-License-Identifier: BSD-3-Clause */
/* See looks.h. */
#include "table/looks.h"
#include "table/csv.h"
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

static const char *const blanks[] = {"\xc2\xa0", "\xe2\x80\xaf",
                                     "\xe2\x80\x89", "\xe2\x80\x87",
                                     "\xe2\x80\x8b", "\xe3\x80\x80"};

/* The zeros of other scripts, before their nine other digits in Unicode:
 * Arabic, Persian, Hindi, Bengali, Thai, and of full width. */
static const char *const zeros[] = {"\xd9\xa0",     "\xdb\xb0",
                                    "\xe0\xa5\xa6", "\xe0\xa7\xa6",
                                    "\xe0\xb9\x90", "\xef\xbc\x90"};

/* Put the byte `by` for a character, and those behind it for the `more` ones
 * that follow it. */
static bool replace(char *text, const char *what, int more, char by)
{
    size_t n = strlen(what);
    bool found = false;

    for (char *at = text; strlen(at) >= n; at++) {
        int above = (unsigned char)at[n - 1] - (unsigned char)what[n - 1];

        if (strncmp(at, what, n - 1) != 0 || above < 0 || above > more)
            continue;
        *at = (char)(by + above);
        memmove(at + 1, at + n, strlen(at + n) + 1);
        found = true;
    }
    return found;
}

static char *trim(char *text)
{
    size_t n = strspn(text, " ");

    memmove(text, text + n, strlen(text + n) + 1);
    for (n = strlen(text); n && text[n - 1] == ' '; n--)
        text[n - 1] = 0;
    return text;
}

static const char marks[] = ",. '_";

/* "1 000", "-1.234,56", "1,00,000" (India's): the mark between, or 0. */
static char grouped(const char *p)
{
    int n = digits(p += *p == '-' || *p == '+'), last = 0;
    char mark = p[n];

    if (n < 1 || n > 3 || !mark || !strchr(marks, mark))
        return 0;
    for (p += n; *p == mark; p += 1 + last) {
        last = digits(p + 1);
        if (last != 3 && !(last == 2 && mark == ','))
            return 0;
    }
    if (last != 3)
        return 0;
    if (*p == '.' || *p == ',')
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

/* The end of a number that may have marks. */
static char *number_end(char *p)
{
    char *e;

    for (p += *p == '.'; is_digit(*p) || (*p && strchr(marks, *p) &&
                                          is_digit(p[1])); p++)
        ;
    e = p + 1 + (*p && (p[1] == '-' || p[1] == '+'));
    return (*p == 'e' || *p == 'E') && is_digit(*e) ? e + digits(e) : p;
}

/* A sign or a currency, as "~", "$" or "US$"; or two letters or three that may
 * be one or a name, as "CHF", "No. ". */
static ls__look look_before(const char *text)
{
    size_t n = 0, capitals = 0;

    for (; is_letter(text[n]); n++)
        capitals += text[n] <= 'Z';
    if ((n == 0 && strcspn(text, "_/\\") == strlen(text)) || text[n] == '$')
        return LS__UNIT;
    return (text[n] ? n == 2 || n == 3 : n == 3 && capitals == 3) &&
                   !text[n + strspn(text + n, ". ")]
               ? LS__NAMED : LS__PLAIN;
}

/* No other number, but "m2", "m3". */
static bool is_unit(const char *text)
{
    size_t n = strcspn(text, "0123456789");

    return !text[n] || (n && is_letter(text[n - 1]) && !text[n + 1] &&
                        (text[n] == '2' || text[n] == '3'));
}

/* Find what stands around the number of a text, and cut that out of it. */
static ls__look look_around(char *text, ls__around *a)
{
    char *p = text + strcspn(text, "0123456789"), *end;
    bool minus = *text == '-' || *text == '+';
    ls__look look = LS__UNIT;
    double x;

    p -= p > text && p[-1] == '.';
    p -= p > text && (p[-1] == '-' || p[-1] == '+');
    end = number_end(p + (*p == '-' || *p == '+'));
    if (p - text >= (int)sizeof a->before || strlen(end) >= sizeof a->behind ||
        !is_unit(end))
        return LS__PLAIN;
    strcpy(a->behind, end + strspn(end, " "));
    *end = 0;
    memcpy(a->before, text, (size_t)(p - text));
    if (!ls__number_value(p, true, &x) && !grouped(p))
        return LS__PLAIN;
    if (p > text && minus) /* "-$5" */
        memmove(a->before, a->before + 1, sizeof a->before - 1);
    if (!strcmp(a->behind, "-") ||
        (p > text && *text == '-' && !*trim(a->before)))
        look = *a->before ? LS__PLAIN : LS__NEGATIVE;
    else if (*a->before)
        look = look_before(a->before);
    trim(a->before);
    memmove(text, p, strlen(p) + 1);
    return look;
}

static ls__look number_look(char *text, ls__around *a)
{
    bool script = false, blank = false, bracket;
    ls__look look;
    size_t n;

    for (size_t i = 0; i < sizeof zeros / sizeof *zeros; i++)
        script |= replace(text, zeros[i], 9, '0');
    for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++)
        blank |= replace(text, blanks[i], 0, ' ');
    trim(text);
    n = strlen(text);
    if ((bracket = n > 2 && *text == '(' && text[n - 1] == ')'))
        memmove(text, text + 1, n), text[n - 2] = 0;
    if ((look = look_around(text, a)) == LS__PLAIN)
        return look;
    if (script || bracket)
        return script ? LS__SCRIPT : LS__NEGATIVE;
    if (*a->before || *a->behind || look == LS__NEGATIVE)
        return look;
    return blank || grouped(text) ? LS__GROUPED
           : strchr(text, ',') ? LS__COMMA : LS__PLAIN;
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
    return ls__table_missing(text); /* in quotes */
}

ls__look ls__looks_like(const char *text, ls__around *around)
{
    char room[LONGEST];

    *around = (ls__around){0};
    if (strlen(text) >= sizeof room)
        return LS__PLAIN;
    if (is_absent(text))
        return LS__ABSENT;
    if (is_date(text) || has_month(text))
        return LS__DATE;
    if (is_time(text))
        return LS__TIME;
    strcpy(room, text);
    return number_look(room, around);
}

/* ------ What to type ------ */

/* A text as a regular expression of sed -E in the shell's quotes. */
static const char *escape(const char *text, char room[4 * LONGEST])
{
    char *to = room;

    for (; *text; text++) {
        if (strchr("\\/.*[](){}+?|^$", *text))
            *to++ = '\\';
        if (*text == '\'')
            to += sprintf(to, "\\x27");
        else
            *to++ = *text;
    }
    *to = 0;
    return room;
}

static void hint_of_unit(const ls__around *a, const char *mark, size_t size,
                         char *out)
{
    char room[4 * LONGEST], before[6 * LONGEST] = "", behind[6 * LONGEST] = "";

    if (*a->before)
        snprintf(before, sizeof before,
                 "s/(^|[\"%s]) *([-+]?)%s *([-+.0-9])/\\1\\2\\3/g", mark,
                 escape(a->before, room));
    if (*a->behind)
        snprintf(behind, sizeof behind, "s/([0-9]) *%s *([\"\\r%s]|$)/\\1\\2/g",
                 escape(a->behind, room), mark);
    snprintf(out, size, "a number with \"%s%s%s\" %s it; sed -E '%s%s%s' FILE "
             ">NEW takes that off, if all have it", a->before,
             *before && *behind ? ".." : "", a->behind,
             !*behind ? "before" : *before ? "around" : "behind", before,
             *before && *behind ? ";" : "", behind);
}

/* pandas takes marks of ASCII between thousands out. */
static void hint_of_marks(const char *text, const char *separator, size_t size,
                          char *out)
{
    char mark = grouped(text), thousands[32] = "";
    const char *quote = "\\x27"; /* the shell's */
    bool comma = mark != ',' && strchr(text, ',');

    if (mark)
        snprintf(thousands, sizeof thousands, ", thousands=\"%s\"",
                 mark == '\'' ? quote : (char[]){mark, 0});
    snprintf(out, size, "a number with %s; python3 -c 'import pandas as p; "
             "p.read_csv(\"FILE\", sep=\"%s\"%s%s).to_csv(\"NEW\", "
             "index=False)' writes it without",
             mark ? "marks between thousands" : "a comma for the point",
             separator, thousands, comma ? ", decimal=\",\"" : "");
}

void ls__look_hint(const char *text, const char *name, char separator,
                   size_t size, char *out)
{
    const char *mark = separator == '\t' ? "\\t" : (char[]){separator, 0};
    ls__around around;
    ls__look look = ls__looks_like(text, &around);

    *out = 0;
    for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++)
        if (look >= LS__UNIT && look <= LS__SCRIPT && strstr(text, blanks[i])) {
            snprintf(out, size, "a number with a blank that is none of ASCII; "
                     "sed 's/%s//g' FILE >NEW takes that out", blanks[i]);
            return;
        }
    if (look == LS__UNIT || look == LS__NAMED)
        hint_of_unit(&around, mark, size, out);
    else if (look == LS__NEGATIVE)
        snprintf(out, size, "a negative number; sed -E ':a;s/(^|[\"%s])%s"
                 "([\"\\r%s]|$)/\\1-\\2\\3/;ta' FILE >NEW writes its minus "
                 "before it", mark,
                 *text == '(' ? "\\(([^()\"]+)\\)" :
                 *text == '-' ? "- +([0-9.]+)" : "([0-9][0-9.]*)-", mark);
    else if (look == LS__GROUPED || look == LS__COMMA)
        hint_of_marks(text, mark, size, out);
    else if (look == LS__SCRIPT)
        snprintf(out, size, "a number in other digits than 0 to 9; python3 -c "
                 "'import sys; sys.stdout.writelines(str(int(c)) if c.isdecimal"
                 "() else c for c in sys.stdin.read())' <FILE >NEW writes "
                 "these");
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
                 "sed -E ':a;s@(^|[%s])\"?%s\"?([\\r%s]|$)@\\1\\2@;ta' FILE "
                 ">NEW empties it", mark,
                 escape(text, (char[4 * LONGEST]){0}), mark);
}
