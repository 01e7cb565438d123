/* SPDX-License-Identifier: BSD-3-Clause */
/* The progress bar stays within one line of its terminal, whatever its width,
 * and leaves nothing on it: on a pseudo-terminal, every text between two
 * returns to the line's start is shorter than the line, and the last one is
 * blank. */
#define _GNU_SOURCE
#include "calls.h"
#include "opt/opt.h"
#include "run/progress.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

const char opt_program_name[] = "test";

enum { STEPS = 30, ROOM = 16384 };

/* Both ends of a pseudo-terminal of some width; stderr is the near one. */
static int open_terminal(int columns)
{
    struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
    int far = posix_openpt(O_RDWR | O_NOCTTY), near;

    ck_assert_int_ge(far, 0);
    ck_assert_int_eq(grantpt(far), 0);
    ck_assert_int_eq(unlockpt(far), 0);
    near = open(ptsname(far), O_RDWR | O_NOCTTY);
    ck_assert_int_ge(near, 0);
    ck_assert_int_eq(ioctl(near, TIOCSWINSZ, &size), 0);
    ck_assert_int_eq(dup2(near, STDERR_FILENO), STDERR_FILENO);
    close(near);
    return far;
}

static double ago = 1000;
static bool folds; /* which have no rows */

static void run_bar(void)
{
    progress bar;

    progress_start(&bar, 0, STEPS);
    bar.started -= ago;
    bar.what = folds ? " folds" : "";
    for (int i = !folds; i <= STEPS; i++) {
        bar.last = 0; /* long ago */
        progress_step(&bar, i, 6.25f * (float)i, folds ? 0 : 1 << i % 20);
    }
    progress_clear(&bar);
    fflush(stderr);
}

/* All that has come out at the far end, which is closed. */
static void read_all(int far, char text[ROOM])
{
    size_t n = 0;
    ssize_t more = 1;

    ck_assert_int_eq(fcntl(far, F_SETFL, O_NONBLOCK), 0);
    while (n < ROOM - 1 && (more = read(far, text + n, ROOM - 1 - n)) > 0)
        n += (size_t)more;
    text[n] = 0;
    close(far);
}

/* The text of a bar on a terminal so wide. */
static void draw_on(int columns, char text[ROOM])
{
    int old = dup(STDERR_FILENO), far = open_terminal(columns);

    run_bar();
    ck_assert_int_eq(dup2(old, STDERR_FILENO), STDERR_FILENO);
    close(old);
    read_all(far, text);
}

static void check_lines(char *text, int columns)
{
    const char *last = "";
    int drawn = 0;

    for (char *at = strtok(text, "\r"); at; at = strtok(NULL, "\r")) {
        ck_assert_msg((int)strlen(at) < columns, "%d columns: \"%s\"", columns,
                      at);
        ck_assert_ptr_eq(strchr(at, '\n'), NULL);
        drawn += strspn(at, " ") < strlen(at);
        last = at;
    }
    ck_assert_int_eq(drawn, STEPS);
    ck_assert_uint_eq(strspn(last, " "), strlen(last));
}

static const int widths[] = {2, 10, 19, 20, 40, 41, 57, 60, 80, 200};

LOOP_TEST(test_width, 0, sizeof widths / sizeof *widths)
{
    static char text[ROOM];

    draw_on(widths[_i], text);
    check_lines(text, widths[_i]);
}

/* A terminal wide enough has cells before the numbers. */
TEST(test_cells)
{
    static char text[ROOM];

    draw_on(100, text);
    ck_assert(strstr(text, "\r[##########          ] 15/30  ETA "));
    ck_assert(strstr(text, "\r[####################] 30/30  ETA 0:00  loss "));
}

/* Days are hours.  What has no rows has no loss, and before the first of them
 * is over the time that is left is not known. */
TEST(test_folds)
{
    static char text[ROOM];

    ago = 500000;
    folds = true;
    draw_on(100, text);
    ck_assert(strstr(text, "\r[                    ] 0/30 folds\r["));
    ck_assert(strstr(text, " 15/30 folds  ETA 138:53:20\r["));
}

MAIN()
