/* SPDX-License-Identifier: BSD-3-Clause */
/* The plot of lockstep-scale stays within its frame: with phases that take more
 * than their step and speed-ups above the ideal, no bar, dot or line is above
 * the frame's upper end, and the highest one is near it. */
#define _GNU_SOURCE
#include "opt/opt.h"
#include "program.h"
#include "scale/scale_findings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char opt_program_name[] = "test";

enum { TOP = 64 }; /* of the frame */

static scaling_point points[] = {
    {.workers = 1, .ranks = 1, .verified = true, .rows = 64, .seconds = 1e-3,
     .mean = {.gradients = 1e-3, .reduce = 1e-4}, .speedup = 1,
     .speedup_least = 1, .speedup_most = 1},
    {.workers = 2, .ranks = 1, .verified = true, .rows = 64, .seconds = 7e-4,
     .mean = {.gradients = 1e-3, .reduce = 1e-3, .update = 2e-4,
              .waiting = 3e-4},
     .speedup = 2.57, .speedup_least = 1.4, .speedup_most = 3.5},
};

static findings some_findings(void)
{
    return (findings){
        .points = 2, .point = points, .model = "mlp", .most = 2,
        .unit = {"ms", 1e3}, .info = {.devices = 4},
    };
}

/* The least of the numbers that stand behind ` name="`. */
static double least(const char *text, const char *name)
{
    double found = 1e9;

    for (; (text = strstr(text, name)); text += strlen(name))
        if (strtod(text + strlen(name), NULL) < found)
            found = strtod(text + strlen(name), NULL);
    return found;
}

/* Two ranks of one worker are where one rank of two is. */
TEST(test_ranks_in_plot)
{
    char path[] = "/tmp/lockstep-plot-XXXXXX", text[65536], *dot[2] = {0};
    scaling_point three[] = {points[0], points[1], points[1]};
    findings r = some_findings();
    FILE *file;
    size_t n;

    close(mkstemp(path));
    three[2].ranks = 2;
    three[2].workers = 1;
    r.points = 3;
    r.point = three;
    r.ranks = true;
    ck_assert_int_eq(scale_plot(&r, path), OPT_GO);
    file = fopen(path, "r");
    ck_assert_ptr_ne(file, NULL);
    n = fread(text, 1, sizeof text - 1, file);
    text[n] = 0;
    fclose(file);
    unlink(path);
    for (char *at = text; (at = strstr(at, "cx=\"")); at++) {
        dot[0] = dot[1];
        dot[1] = at;
    }
    ck_assert_double_eq(strtod(dot[0] + 4, NULL), strtod(dot[1] + 4, NULL));
    ck_assert_ptr_nonnull(strstr(text, ">2 ranks<"));
    ck_assert_ptr_nonnull(strstr(text, ">2x1<"));
    ck_assert_ptr_nonnull(strstr(text, ">1x2<"));
}

TEST(test_frame)
{
    static const char *const places[] = {" y1=\"", " y2=\"", " cy=\""};
    char path[] = "/tmp/lockstep-plot-XXXXXX", text[65536];
    findings r = some_findings();
    FILE *file;
    const char *bars;
    size_t n;

    close(mkstemp(path));
    ck_assert_int_eq(scale_plot(&r, path), OPT_GO);
    file = fopen(path, "r");
    ck_assert_ptr_ne(file, NULL);
    n = fread(text, 1, sizeof text - 1, file);
    text[n] = 0;
    fclose(file);
    unlink(path);
    for (int i = 0; i < 3; i++)
        ck_assert_double_ge(least(text, places[i]), TOP);
    bars = strstr(text, "<rect class=\"gradients\"");
    ck_assert_ptr_ne(bars, NULL);
    ck_assert_double_ge(least(bars, " y=\""), TOP);
    ck_assert_double_le(least(bars, " cy=\""), 1e9);
    ck_assert_double_le(least(text, " y2=\""), TOP + 20);
}

MAIN()
