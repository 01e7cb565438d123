/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts that mean a number or a date to a person, and are none to a table: a
 * column of them would become words without a word said. */
#ifndef LS_TABLE_LOOKS_H
#define LS_TABLE_LOOKS_H

#include <stddef.h>

typedef enum ls__look {
    LS__PLAIN,    /* as none of these */
    LS__UNIT,     /* "17 %", "$95", "5 kg": a number, something around it */
    LS__NAMED,    /* "CHF 5", "No. 5": it may be a name, too */
    LS__NEGATIVE, /* "(12)", "12-" */
    LS__GROUPED,  /* "4,600", "1 000", "1.234,56", "1_000" */
    LS__COMMA,    /* "4,6", where the comma parts fields */
    LS__SCRIPT,   /* a number in digits of another script */
    LS__DATE,     /* "01/15/2025", "15-Jan-2025", "15.01.25 6:30 PM" */
    LS__TIME,     /* "18:30" */
    LS__ABSENT    /* "None", "-", "NA" in quotes: a value that is missing */
} ls__look;

/* What stands around a number; zeros behind it. */
typedef struct ls__around {
    char before[8], behind[16];
} ls__around;

/* The look of a text that is no number and no date of a table. */
ls__look ls__looks_like(const char *text, ls__around *around);

/* Write what it is, and what one may type to make it what a table has:
 * "a time of day; write it as a number of hours, 18.5 for 18:30".
 * The column is called name, and fields are parted by separator. */
void ls__look_hint(const char *text, const char *name, char separator,
                   size_t size, char *out);

/* The point or the comma of a number that may part thousands: three digits
 * stand behind it, and before it one to three that begin with no 0.  Else 0. */
char ls__thousands(const char *text);

#endif
