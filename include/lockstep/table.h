/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables: rows of text in named columns, as spreadsheets write them (CSV).
 *
 *     ls_table *t;
 *
 *     ls_table_open(&t, "houses.csv");
 *     while ((status = ls_table_next(t)) > 0)
 *         status = ls_table_number(t, 0, &x);
 *     ls_table_close(t);
 *
 * The file is RFC 4180's, read generously.  Its first line names the columns.
 * The separator is the comma, semicolon, tab or | that this line has most of,
 * or what a line "sep=;" before it says.  A field in double quotes may hold
 * separators, ends of lines, and quotes that stand there twice; of other fields
 * the blanks at both ends do not count.  Lines end with LF, CR LF or CR; empty
 * ones are passed over, as is a byte order mark.  Rows are read one by one: a
 * table of any length needs the memory of its longest row.  A file that gzip
 * packed is unpacked as it is read.
 *
 * Of liblockstep_data: link with -llockstep_data (pkg-config lockstep_data). */
#ifndef LOCKSTEP_TABLE_H
#define LOCKSTEP_TABLE_H

#include <lockstep/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ls_table ls_table;

/* Open a table and read its first line.  LS_EIO; LS_EFORMAT: there is none, its
 * fields are numbers, or two are the same, a byte is zero, a text is not UTF-8,
 * a quote has no end or a text behind it: the message says in which line and
 * column, counted from 1.  LS_ENOMEM. */
LS_API int ls_table_open(ls_table **table, const char *path);

/* Close the table; NULL is accepted. */
LS_API void ls_table_close(ls_table *table);

/* The number of columns. */
LS_API int ls_table_columns(const ls_table *table);

/* The name of column i = 0, 1, ..; NULL past the last.  One without a name is
 * "column 3", counted from 1.  It lives until the table is closed. */
LS_API const char *ls_table_column(const ls_table *table, int i);

/* The column of this name; LS_ENOTFOUND: there is none, and the message names
 * the nearest. */
LS_API int ls_table_find(const ls_table *table, const char *name);

/* Read the next row: 1, or 0 after the last one.  Fails as ls_table_open does;
 * LS_EFORMAT: it has more fields than the first line, or fewer, or a number as
 * 1.050 where another has a comma for the point (or the other way round), so
 * that the point may part thousands. */
LS_API int ls_table_next(ls_table *table);

/* Begin again before the first row. */
LS_API int ls_table_rewind(ls_table *table);

/* The line of the file on which the row begins, counted from 1. */
LS_API int64_t ls_table_line(const ls_table *table);

/* The text of field i of the row, "" where there is none; NULL past the last
 * column and where there is no row.  It lives until the next call with this
 * table. */
LS_API const char *ls_table_text(const ls_table *table, int i);

/* Is field i of the row missing: empty, or without quotes NA, N/A, NaN, null or
 * ?, in letters of either case? */
LS_API bool ls_table_missing(const ls_table *table, int i);

/* Give *out the number that field i of the row is, rounded to nearest: digits
 * with a point and an exponent, or with a comma for the point where the comma
 * is not the separator.  The locale plays no part.  LS_EFORMAT names line,
 * column and text of a field that is missing or no finite number. */
LS_API int ls_table_number(const ls_table *table, int i, double *out);

#ifdef __cplusplus
}
#endif

#endif
