/* The bar is spaces, a carriage return and printable characters: no escape
 * sequences, so that every terminal can show it. */
#define _GNU_SOURCE
#include "progress.h"
#include "opt.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

double progress_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_start(progress *bar, int64_t first, int64_t total)
{
    *bar = (progress){.on = isatty(STDERR_FILENO), .first = first};
    bar->total = total;
    bar->started = progress_clock();
}

static void draw(progress *bar, int64_t done, float loss)
{
    enum { CELLS = 20 };
    double seconds = bar->last - bar->started;
    int full = (int)(CELLS * (double)done / (double)bar->total);
    long long left = (long long)(seconds / (double)(done - bar->first) *
                                 (double)(bar->total - done));
    char line[160];
    int n = snprintf(line, sizeof line,
                     "[%.*s%*s] %lld/%lld  loss %.4f  %.0f rows/s  ETA "
                     "%lld:%02lld",
                     full, "####################", CELLS - full, "",
                     (long long)done, (long long)bar->total,
                     opt_shown((double)loss),
                     (double)bar->rows / seconds, left / 60, left % 60);

    fprintf(stderr, "\r%s%*s", line, bar->drawn > n ? bar->drawn - n : 0, "");
    fflush(stderr);
    bar->drawn = n;
}

void progress_step(progress *bar, int64_t done, float loss, int64_t rows)
{
    double now;

    bar->rows += rows;
    if (!bar->on)
        return;
    now = progress_clock();
    if (now - bar->last < 0.1)
        return;
    bar->last = now;
    draw(bar, done, loss);
}

void progress_clear(progress *bar)
{
    if (bar->drawn)
        fprintf(stderr, "\r%*s\r", bar->drawn, "");
    bar->drawn = 0;
}
