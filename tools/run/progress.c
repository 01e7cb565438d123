/* SPDX-License-Identifier: BSD-3-Clause */
/* The bar is spaces, a carriage return and printable characters: no escape
 * sequences, so that every terminal can show it. */
#define _GNU_SOURCE
#include "run/progress.h"
#include "opt/opt.h"

#include <stdio.h>
#include <unistd.h>

void progress_start(progress *bar, int64_t first, int64_t total)
{
    *bar = (progress){.on = isatty(STDERR_FILENO), .first = first,
                      .total = total, .started = opt_seconds(), .what = ""};
}

/* "[##### ] " with that many cells. */
static int put_cells(char *out, size_t size, int cells, const progress *bar,
                     int64_t done)
{
    int full = (int)(cells * (double)done / (double)bar->total);

    return snprintf(out, size, "[%.*s%*s] ", full, "####################",
                    cells - full, "");
}

/* "1:02:03", or "2:03" of minutes and seconds. */
static void put_clock(char out[32], double seconds)
{
    long long s = (long long)seconds, hours = s / 3600;

    if (hours)
        snprintf(out, 32, "%lld:%02lld:%02lld", hours, s / 60 % 60, s % 60);
    else
        snprintf(out, 32, "%lld:%02lld", s / 60, s % 60);
}

static int put_numbers(char *out, size_t size, const progress *bar,
                       int64_t done, float loss)
{
    double seconds = bar->last - bar->started;
    int n = snprintf(out, size, "%lld/%lld%s", (long long)done,
                     (long long)bar->total, bar->what);
    char clock[32];

    if (done == bar->first)
        return n;
    put_clock(clock, seconds / (double)(done - bar->first) *
                         (double)(bar->total - done));
    n += snprintf(out + n, size - (size_t)n, "  ETA %s", clock);
    if (bar->rows)
        n += snprintf(out + n, size - (size_t)n, "  loss %.4f  %.0f rows/s",
                      opt_shown((double)loss), (double)bar->rows / seconds);
    return n;
}

/* The numbers come first: the cells take what is left of the line, and of a
 * line that is too short for the numbers their end is cut. */
static void draw(progress *bar, int64_t done, float loss)
{
    enum { CELLS = 20, LEAST = 4 };
    char cells[CELLS + 4] = "", numbers[160];
    int width = opt_columns() - 1;
    int n = put_numbers(numbers, sizeof numbers, bar, done, loss);
    int room = width - n - 3, all = n < width ? n : width;

    if (room >= LEAST)
        all += put_cells(cells, sizeof cells, room < CELLS ? room : CELLS, bar,
                         done);
    fprintf(stderr, "\r%s%.*s%*s", cells, width, numbers,
            bar->drawn > all ? bar->drawn - all : 0, "");
    fflush(stderr);
    bar->drawn = all;
}

void progress_step(progress *bar, int64_t done, float loss, int64_t rows)
{
    double now = opt_seconds();

    bar->rows += rows;
    if (!bar->on || now - bar->last < 0.1)
        return;
    bar->last = now;
    draw(bar, done, loss);
}

void progress_clear(progress *bar)
{
    int width = opt_columns() - 1; /* it may be narrower now */

    if (bar->drawn)
        fprintf(stderr, "\r%*s\r", bar->drawn < width ? bar->drawn : width,
                "");
    bar->drawn = 0;
}
