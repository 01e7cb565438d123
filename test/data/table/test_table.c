/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that tables are read as RFC 4180 has them and generously beyond, that
 * numbers are those of strtod in any locale, and that each wrong table is
 * refused by its line and column. */
#define _GNU_SOURCE
#include "calls.h"
#include "comma.h"
#include "lockstep.h"

#include <lockstep/table.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int fd = -1;
static char path[64];

/* The file holds these bytes now. */
static void put(const void *bytes, size_t n)
{
    if (fd >= 0)
        close(fd);
    fd = memfd_create("table", 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, n), (ssize_t)n);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
}

static ls_table *open_text(const char *text)
{
    ls_table *t = NULL;

    put(text, strlen(text));
    ck_assert_msg(ls_table_open(&t, path) == 0, "%s", ls_errmsg());
    return t;
}

/* All fields of all rows: "a|b;c|d;", with the names first. */
static const char *all(const char *text)
{
    static char out[4096];
    ls_table *t = open_text(text);
    int n = ls_table_columns(t), status;
    size_t at = 0;

    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(out + at, sizeof out - at, "%s%s", i ? "|" : "",
                               ls_table_column(t, i));
    ck_assert_ptr_null(ls_table_column(t, n));
    ck_assert_ptr_null(ls_table_text(t, 0));
    while ((status = ls_table_next(t)) > 0)
        for (int i = 0; i < n; i++)
            at += (size_t)snprintf(out + at, sizeof out - at, "%s%s",
                                   i ? "|" : ";", ls_table_text(t, i));
    ck_assert_msg(status == 0, "%s", ls_errmsg());
    ls_table_close(t);
    return out;
}

static const struct {
    const char *text, *want;
} forms[] = {
    {"a,b\n1,2\n3,4\n", "a|b;1|2;3|4"},
    {"a,b\n1,2", "a|b;1|2"},
    {"a,b\r\n1,2\r\n", "a|b;1|2"},
    {"a,b\r1,2\r3,4", "a|b;1|2;3|4"},
    {"\xef\xbb\xbf"
     "a,b\n1,2\n",
     "a|b;1|2"},
    {"a;b\n1,5;2\n", "a|b;1,5|2"},
    {"a\tb\n1\t\n", "a|b;1|"},
    {"a,b;c,d\n1,2,3\n", "a|b;c|d;1|2|3"},
    {"\"a;x;y\",b\n1,2\n", "a;x;y|b;1|2"},
    {"a\n\n\n1\n  \n2\n", "a;1;2"},
    {"a,b\n\"1\n2\",\"x\"\"y\"\n", "a|b;1\n2|x\"y"},
    {"a,b\n\"\",\" x \"\n", "a|b;| x "},
    {" a , b \n 1 , \"2\" \n", "a|b;1|2"},
    {"a,b\nx\"y,\"\"\"\"\n", "a|b;x\"y|\""},
    {",b,\n1,2,3\n", "column 1|b|column 3;1|2|3"},
    {"a\n\"x\"", "a;x"},
    {"a,b", "a|b"},
    {"gr\xc3\xb6\xc3\x9f"
     "e,b\n\xe2\x82\xac,1\n",
     "gr\xc3\xb6\xc3\x9f"
     "e|b;\xe2\x82\xac|1"},
};

LOOP_TEST(table_forms, 0, sizeof forms / sizeof *forms)
{
    ck_assert_str_eq(all(forms[_i].text), forms[_i].want);
}

static const struct {
    const char *text, *message;
} wrongs[] = {
    {"", "the table is empty"},
    {"\n \n", "the table is empty"},
    {"1,2.5\n3,4\n", "line 1: all fields are numbers; the first line names"},
    {"a,b,a\n", "line 1: two columns are named \"a\""},
    {"a,b\n1\n", "line 2: 1 field where the first line has 2"},
    {"a,b\n1,2\n1,2,3\n", "line 3: 3 fields where the first line has 2"},
    {"a,b\n1,\"x\n", "line 2, column 2: the quote has no end"},
    {"a,b\n\"x\ny\n\nz", "line 2, column 1: the quote has no end"},
    {"a,b\n1,\"x\"y\n", "line 2, column 2: a text follows the closing quote"},
    {"a,b\n\"1\n\n\",\"x\" y\n", "line 4, column 2: a text follows"},
    {"a,b\n1,\xe4\n", "line 2, column 2: the text is not UTF-8"},
    {"a,\xff\n", "line 1, column 2: the text is not UTF-8"},
};

/* The first failure of a table. */
static int first_failure(void)
{
    ls_table *t = NULL;
    int status = ls_table_open(&t, path);

    while (status == 0 || status == 1) {
        status = ls_table_next(t);
        if (status == 0)
            break;
    }
    if (t)
        ls_table_close(t);
    return status;
}

LOOP_TEST(table_wrongs, 0, sizeof wrongs / sizeof *wrongs)
{
    put(wrongs[_i].text, strlen(wrongs[_i].text));
    ck_assert_int_eq(first_failure(), LS_EFORMAT);
    ck_assert_msg(strstr(ls_errmsg(), wrongs[_i].message), "%s", ls_errmsg());
}

TEST(table_zero_bytes)
{
    put("a,b\n1,\0\n", 8);
    FAILS(first_failure(), LS_EFORMAT,
          "line 2, column 2: there is a zero byte");
    put("\xff\xfe"
        "a\0\n\0",
        6);
    ck_assert_int_eq(first_failure(), LS_EFORMAT);
    ck_assert_int_eq(ls_table_open(NULL, path), LS_EINVAL);
    ck_assert_int_eq(ls_table_open(&(ls_table *){0}, "no/where"), LS_EIO);
}

/* ------ Numbers ------ */

static const char *const numbers[] = {
    "0",
    "-0",
    "1",
    "+7",
    "1.5",
    ".5",
    "5.",
    "-.25e2",
    "1e3",
    "1E-3",
    "00012",
    "0.1",
    "123456789012345",
    "1234567890123456789",
    "0.3333333333333333",
    "9007199254740993",
    "1e22",
    "1e23",
    "-1e-22",
    "1e-23",
    "3.14159265358979323",
    "1.7976931348623157e308",
    "5e-324",
    "1e-400",
    "0.000001",
    "17.99",
    "0.07871",
    "123456789.123456789e-5",
    "0e999999999",
};
static const char *const no_numbers[] = {
    "x",   "1x", "0x10", "inf",   "1e999", "--1",   "1 2", "1e",
    "1e+", ".",  "-",    "1.2.3", "1,5",   "1_000", "e5",
};

static void check_numbers(ls_table *t, char point)
{
    char text[64], *at;
    double x;

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        ck_assert_int_eq(ls_table_next(t), 1);
        ck_assert_msg(ls_table_number(t, 0, &x) == 0, "%s", ls_errmsg());
        snprintf(text, sizeof text, "%s", numbers[i]);
        if (point != '.' && (at = strchr(text, '.')))
            *at = point;
        {
            double want = strtod(text, NULL);

            ck_assert_msg(memcmp(&x, &want, sizeof x) == 0, "%s: %.17g",
                          numbers[i], x);
        }
    }
}

TEST(table_numbers)
{
    char text[4096] = "a,b\n";
    ls_table *t;
    double x = 4;

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sprintf(text + strlen(text), "%s,\n", numbers[i]);
    for (size_t i = 0; i < sizeof no_numbers / sizeof *no_numbers; i++)
        sprintf(text + strlen(text), "\"%s\",\n", no_numbers[i]);
    t = open_text(text);
    check_numbers(t, '.');
    for (size_t i = 0; i < sizeof no_numbers / sizeof *no_numbers; i++) {
        ck_assert_int_eq(ls_table_next(t), 1);
        ck_assert_msg(ls_table_number(t, 0, &x) == LS_EFORMAT, "%s",
                      no_numbers[i]);
        ck_assert(!ls_table_missing(t, 0));
    }
    ck_assert_double_eq(x, 4);
    ck_assert_int_eq(ls_table_rewind(t), 0);
    folder_open();
    if (set_comma())
        check_numbers(t, ',');
    unset_comma();
    folder_close();
    ls_table_close(t);
}

/* Where the comma does not separate, it is a point. */
TEST(table_commas)
{
    ls_table *t = open_text("a;b\n1,5;1.25\n-12,345678901234567890;1,2,3\n");
    double x;

    ck_assert_int_eq(ls_table_next(t), 1);
    ck_assert_int_eq(ls_table_number(t, 0, &x), 0);
    ck_assert_double_eq(x, 1.5);
    ck_assert_int_eq(ls_table_number(t, 1, &x), 0);
    ck_assert_double_eq(x, 1.25);
    ck_assert_int_eq(ls_table_next(t), 1);
    ck_assert_int_eq(ls_table_number(t, 0, &x), 0);
    ck_assert_double_eq(x, -12.345678901234567890);
    FAILS(ls_table_number(t, 1, &x), LS_EFORMAT,
          "line 3, column 2 \"b\": \"1,2,3\" is no number");
    ls_table_close(t);
}

TEST(table_missing)
{
    ls_table *t = open_text("a,b\n,NA\n\"NA\",n/A\nNaN,Null\n?,x\n");
    static const bool want[4][2] = {
        {true, true}, {false, true}, {true, true}, {true, false}};
    double x;

    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(ls_table_next(t), 1);
        ck_assert_int_eq(ls_table_line(t), i + 2);
        for (int k = 0; k < 2; k++)
            ck_assert_int_eq(ls_table_missing(t, k), want[i][k]);
        ck_assert_int_eq(ls_table_number(t, 0, &x), LS_EFORMAT);
    }
    ck_assert_ptr_nonnull(
        strstr(ls_errmsg(), "line 5, column 1 \"a\": the value is missing"));
    ck_assert_int_eq(ls_table_next(t), 0);
    ck_assert(ls_table_missing(t, 0));
    ck_assert_int_eq(ls_table_number(t, 0, &x), LS_EINVAL);
    ls_table_close(t);
}

/* Fields that lie across the pieces in which the file is read, quotes and ends
 * of lines as well. */
TEST(table_pieces)
{
    enum { PIECE = 1 << 16 };
    char *text = malloc(PIECE + 64);
    ls_table *t = NULL;

    for (int shift = 0; shift < 24; shift++) {
        int n = PIECE - 12 - shift;
        int at = sprintf(text, "a,b\n%0*d,x\r\n", n, 7);

        at += sprintf(text + at, "\"p\"\"q\",\"r\"\r\n8,y\n");
        put(text, (size_t)at);
        ck_assert_int_eq(ls_table_open(&t, path), 0);
        ck_assert_int_eq(ls_table_next(t), 1);
        ck_assert_int_eq((int)strlen(ls_table_text(t, 0)), n);
        ck_assert_int_eq(ls_table_next(t), 1);
        ck_assert_str_eq(ls_table_text(t, 0), "p\"q");
        ck_assert_str_eq(ls_table_text(t, 1), "r");
        ck_assert_int_eq(ls_table_next(t), 1);
        ck_assert_str_eq(ls_table_text(t, 1), "y");
        ck_assert_int_eq(ls_table_line(t), 4);
        ck_assert_int_eq(ls_table_next(t), 0);
        ls_table_close(t);
    }
    free(text);
}

/* What has no end does not take all memory. */
TEST(table_bounds)
{
    size_t n = 70 << 20;
    char *text = malloc(n);

    memset(text, 'x', n);
    memcpy(text, "a,b\n\"", 5);
    put(text, n);
    FAILS(first_failure(), LS_EFORMAT, "longer than 64 MB");
    memset(text, ',', 3 << 20);
    put(text, 3 << 20);
    FAILS(first_failure(), LS_EFORMAT, "more than a million fields");
    free(text);
}

MAIN()
