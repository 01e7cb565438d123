/* SPDX-License-Identifier: BSD-3-Clause */
/* Dates as numbers.  A date is as ISO 8601 has it, 2026-11-25, or 2026/11/25,
 * or 25.11.2026, and may have a time behind T or a blank, 18:30, 18:30:05 or
 * 18:30:05.25, and that a zone, Z or +02:00. */
#ifndef LS_TABLE_DATE_H
#define LS_TABLE_DATE_H

#include <stdbool.h>

/* The numbers that a date becomes; those but the days are of the date as it is
 * written. */
typedef enum ls__date_part {
    LS__NO_DATE, /* columns of anything else */
    LS__DAYS,    /* since 1970-01-01; the time is a fraction, a zone's taken
                    off */
    LS__YEAR,
    LS__MONTH,   /* 1 to 12 */
    LS__DAY,     /* 1 to 31 */
    LS__WEEKDAY, /* Monday is 1, Sunday 7 */
    LS__YEARDAY, /* 1 to 366 */
    LS__HOUR,    /* 0 to below 24; minutes and seconds are a fraction */
    LS__DATE_PARTS
} ls__date_part;

/* "days", "year", ..; NULL of LS__NO_DATE. */
extern const char *const ls__date_name[LS__DATE_PARTS];

/* The part of a name; LS__NO_DATE: none has it. */
ls__date_part ls__date_named(const char *name);

/* Take a text apart, into part[LS__DAYS] and those behind it; false: it is no
 * date. */
bool ls__date_read(const char *text, double part[LS__DATE_PARTS]);

#endif
