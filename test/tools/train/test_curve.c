/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that --plot's lines keep the mean of what they were given however much
 * that is, that no point leaves the frame, and what is drawn of odd numbers. */
#include "train/curve.h"
#include "calls.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char opt_program_name[] = "test_curve";

static curve c;

TEST(curve_means)
{
    enum { N = 100000 };
    double sum = 0, steps = 0;

    c = (curve){0};
    for (int i = 1; i <= N; i++)
        curve_add(&c.training, i, i % 10);
    ck_assert_int_le(c.training.points, CURVE_POINTS);
    ck_assert_int_ge(c.training.points, CURVE_POINTS / 2);
    for (int i = 0; i < c.training.points; i++) {
        sum += c.training.value[i];
        steps = fmax(steps, c.training.step[i]);
    }
    ck_assert_double_eq_tol(sum / c.training.points, 4.5, 0.1);
    ck_assert_double_eq_tol(steps, N, 2.0 * N / CURVE_POINTS);
    c = (curve){0};
    curve_add(&c.training, 1, (double)NAN);
    ck_assert_int_eq(c.training.points, 0);
}

/* All points of all polylines are within the frame. */
static void check_frame(const char *text)
{
    const char *at = text;

    while ((at = strstr(at, "points=\""))) {
        char *end;

        for (at += 8; *at && *at != '"'; at = end + (*end == ' ')) {
            double x = strtod(at, &end);
            double y = strtod(end + 1, &end);

            ck_assert(x >= 59.9 && x <= 620.1 && y >= 39.9 && y <= 340.1);
        }
    }
}

static const double values[][3] = {
    {1, 0.5, 0.25},     {0, 0, 0}, {-3, 7, 1e6},
    {1e-9, 2e-9, 3e-9}, {5, 5, 5}, {1e30, -1e30, 0},
};

enum { TEXT = 16384 };

static void draw(char text[TEXT])
{
    char path[] = "/tmp/lockstep-curve-XXXXXX";
    int fd = mkstemp(path);
    FILE *f;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(curve_write(&c, path, "mlp"), 0);
    f = fopen(path, "r");
    text[fread(text, 1, TEXT - 1, f)] = 0;
    fclose(f);
    close(fd);
    unlink(path);
    ck_assert_ptr_nonnull(strstr(text, "</svg>"));
}

LOOP_TEST(curve_frame, 0, sizeof values / sizeof *values)
{
    char text[TEXT];
    FILE *f;

    c = (curve){0};
    for (int i = 0; i < 3; i++) {
        curve_add(&c.training, i + 1, values[_i][i]);
        curve_add(&c.evaluation, 2 * i + 1, values[_i][2 - i]);
    }
    draw(text);
    ck_assert_ptr_null(strstr(text, ">best<"));
    ck_assert_ptr_null(strstr(text, "cut off"));
    ck_assert_ptr_null(strstr(text, "nan"));
    check_frame(text);
    f = fopen("/dev/null", "w");
    curve_print(&c, f);
    fclose(f);
}

/* A few first losses do not press all others to the bottom; the weights that
 * are kept have a mark. */
TEST(curve_spike)
{
    char text[TEXT];

    c = (curve){.best = 60};
    for (int i = 1; i <= 100; i++)
        curve_add(&c.training, i, i < 5 ? 1000 : 3);
    draw(text);
    check_frame(text);
    ck_assert_ptr_nonnull(strstr(text, ">mlp: loss, above 4 cut off<"));
    ck_assert_ptr_nonnull(strstr(text, "<text x=\"396.0\" y=\"36.0\" "
                                       "text-anchor=\"middle\">best<"));
}

MAIN()
