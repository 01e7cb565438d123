/* SPDX-License-Identifier: BSD-3-Clause */
/* See date.h. */
#include "table/date.h"
#include "base/error.h"

#include <lockstep/columns.h>
#include <string.h>

const char *const ls__date_name[LS__DATE_PARTS] = {
    [LS__DAYS] = "days",       [LS__YEAR] = "year",
    [LS__MONTH] = "month",     [LS__DAY] = "day",
    [LS__WEEKDAY] = "weekday", [LS__YEARDAY] = "yearday",
    [LS__HOUR] = "hour",
};

ls__date_part ls__date_named(const char *name)
{
    for (int part = LS__DAYS; part < LS__DATE_PARTS; part++)
        if (strcmp(ls__date_name[part], name) == 0)
            return (ls__date_part)part;
    return LS__NO_DATE;
}

/* Read `count` digits of a number from low to high; false: they are none. */
static bool digits(const char **text, int count, int low, int high, int *out)
{
    const char *p = *text;
    int x = 0;

    for (int i = 0; i < count; i++, p++) {
        if (*p < '0' || *p > '9')
            return false;
        x = 10 * x + (*p - '0');
    }
    *text = p;
    *out = x;
    return x >= low && x <= high;
}

static bool sign(const char **text, char wanted)
{
    if (**text != wanted)
        return false;
    ++*text;
    return true;
}

static bool is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Days before a month of a year, month 13 being the next year's first. */
static int before_month(int year, int month)
{
    static const int before[] = {0,   31,  59,  90,  120, 151, 181,
                                 212, 243, 273, 304, 334, 365};

    return before[month - 1] + (month > 2 && is_leap(year));
}

/* Days from 1970-01-01 to the year's first. */
static int before_year(int year)
{
    int y = year - 1; /* years that are over since the year 1 */

    return 365 * y + y / 4 - y / 100 + y / 400 - 719162;
}

/* One digit or two. */
static bool short_digits(const char **text, int high, int *out)
{
    const char *p = *text;

    return digits(text, p[0] && p[1] >= '0' && p[1] <= '9' ? 2 : 1, 1, high,
                  out);
}

/* "2026-11-25", "2026/11/25"; "25.11.2026". */
static bool read_parts(const char **text, int *year, int *month, int *day)
{
    const char *p = *text;
    char mark;

    if (digits(text, 4, 1, 9999, year)) {
        mark = **text;
        return (mark == '-' || mark == '/') && sign(text, mark) &&
               digits(text, 2, 1, 12, month) && sign(text, mark) &&
               digits(text, 2, 1, 31, day);
    }
    *text = p;
    return short_digits(text, 31, day) && sign(text, '.') &&
           short_digits(text, 12, month) && sign(text, '.') &&
           digits(text, 4, 1, 9999, year);
}

static bool read_day(const char **text, double *part)
{
    int year, month, day, days;

    if (!read_parts(text, &year, &month, &day) ||
        day > before_month(year, month + 1) - before_month(year, month))
        return false;
    part[LS__YEAR] = year;
    part[LS__MONTH] = month;
    part[LS__DAY] = day;
    part[LS__YEARDAY] = before_month(year, month) + day;
    days = before_year(year) + before_month(year, month) + day - 1;
    part[LS__DAYS] = days;
    part[LS__WEEKDAY] = (days + 719162) % 7 + 1; /* 0001-01-01 is a Monday */
    return true;
}

/* The decimals of a second. */
static double fraction(const char **text)
{
    double unit = 1, x = 0;

    for (; **text >= '0' && **text <= '9'; ++*text) {
        unit /= 10;
        x += unit * (**text - '0');
    }
    return x;
}

/* "18:30:05.25" as seconds. */
static bool read_time(const char **text, double *seconds)
{
    int hour, minute, second = 0;

    if (!digits(text, 2, 0, 23, &hour) || !sign(text, ':') ||
        !digits(text, 2, 0, 59, &minute))
        return false;
    *seconds = 3600 * hour + 60 * minute;
    if (**text != ':')
        return true;
    ++*text;
    if (!digits(text, 2, 0, 59, &second))
        return false;
    *seconds += second;
    if (**text == '.' || **text == ',') {
        ++*text;
        *seconds += fraction(text);
    }
    return true;
}

/* "", "Z", "+02:00", "+0200" or "+02" as seconds. */
static bool read_zone(const char **text, int *seconds)
{
    int hours, minutes = 0;
    char first = **text;

    *seconds = 0;
    if (!first)
        return true;
    ++*text;
    if (first == 'Z')
        return true;
    if ((first != '+' && first != '-') || !digits(text, 2, 0, 23, &hours))
        return false;
    if ((sign(text, ':') || **text) && !digits(text, 2, 0, 59, &minutes))
        return false;
    *seconds = (first == '-' ? -60 : 60) * (60 * hours + minutes);
    return true;
}

bool ls__date_read(const char *text, double part[LS__DATE_PARTS])
{
    double seconds = 0;
    int zone = 0;

    if (!read_day(&text, part))
        return false;
    part[LS__HOUR] = 0;
    if (!*text)
        return true;
    if ((*text != 'T' && *text != ' ') || !*++text ||
        !read_time(&text, &seconds) || !read_zone(&text, &zone) || *text)
        return false;
    part[LS__HOUR] = seconds / 3600;
    part[LS__DAYS] += (seconds - zone) / 86400;
    return true;
}

bool ls_date_read(ls_date *date, const char *text)
{
    double part[LS__DATE_PARTS];

    LS__NEED_OR(date, false);
    LS__NEED_OR(text, false);
    if (!ls__date_read(text, part))
        return false;
    *date = (ls_date){
        part[LS__DAYS], part[LS__YEAR], part[LS__MONTH], part[LS__DAY],
        part[LS__WEEKDAY], part[LS__YEARDAY], part[LS__HOUR],
    };
    return true;
}
