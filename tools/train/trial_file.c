/* SPDX-License-Identifier: BSD-3-Clause */
/* The trials of --tune as a table: "trial,score,options", a line for each that
 * is over, in the order in which they end; that of the trials once all are
 * over.  A search goes on from it; one that was made by other options is
 * refused, since what is there would not be its own. */
#define _GNU_SOURCE
#include "run/output.h"
#include "train/trials.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

static const char TITLE[] = "trial,score,options\n";

/* Ask for two seconds: a search that was killed lets go of its lock only when
 * its processes are gone. */
static bool locked_out(int file)
{
    const struct timespec pause = {0, 20 * 1000 * 1000};

    for (int i = 0; i < 100; i++) {
        if (flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

int trial_file_open(const session *s, int *file)
{
    const char *path = s->set.tune_file;

    *file = -1;
    if (!path)
        return OPT_GO;
    *file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (*file < 0)
        return opt_no_file(path);
    return locked_out(*file)
               ? opt_fail(OPT_FAILED, "%s: another search writes it; "
                          "--tune :file=another", path)
               : OPT_GO;
}

void trial_file_close(const session *s, int file)
{
    if (file < 0)
        return;
    if (lseek(file, 0, SEEK_END) == 0)
        unlink(s->set.tune_file);
    close(file);
}

/* A last line that has no end, as a full disk leaves one, is cut off, the first
 * one too: its trial is made again. */
static int cut_torn(const char *path)
{
    FILE *f = fopen(path, "r");
    char head[sizeof TITLE] = "";
    long at = f ? (long)fread(head, 1, sizeof TITLE - 1, f) : 0;
    long whole = at == sizeof TITLE - 1 ? at : 0;
    bool own = memcmp(head, TITLE, (size_t)at) == 0;
    int byte;

    while (f && (byte = getc(f)) != EOF) {
        at++;
        if (byte == '\n')
            whole = at;
    }
    if (f)
        fclose(f);
    if (!own || at == whole || truncate(path, whole) == 0)
        return OPT_GO;
    return opt_no_file(path);
}

/* The table's row: a trial that this search would make, too? */
static int read_trial(const session *s, const ls_table *t, int64_t count,
                      bool *known, double *good)
{
    const char *path = s->set.tune_file;
    char options[TRIAL_TEXT];
    double number = -1, found = (double)NAN;
    int64_t trial;

    if (ls_table_number(t, 0, &number) < 0 || number < 0 ||
        number != floor(number) || number > 1e9)
        return opt_fail(OPT_FAILED, "%s: line %lld: \"%s\" is no trial", path,
                        (long long)ls_table_line(t), ls_table_text(t, 0));
    trial = (int64_t)number;
    trial_text(s, trial, options);
    if (strcmp(options, ls_table_text(t, 2)) != 0)
        return opt_fail(OPT_WRONG, "%s: trial %" PRId64 " had the options "
                        "\"%s\", and would have \"%s\" now: --tune "
                        ":file=another", path, trial, ls_table_text(t, 2),
                        options);
    if (!ls_table_missing(t, 1) && ls_table_number(t, 1, &found) < 0)
        return opt_fail(OPT_FAILED, "%s", ls_errmsg());
    if (trial >= count)
        return OPT_GO;
    known[trial] = true;
    good[trial] = found;
    return OPT_GO;
}

int trial_file_read(const session *s, int file, int64_t count, bool *known,
                    double *good)
{
    const char *path = s->set.tune_file;
    int status = path ? cut_torn(path) : OPT_GO, next = 0;
    ls_table *t = NULL;

    if (status != OPT_GO || !path || lseek(file, 0, SEEK_END) == 0)
        return status;
    status = opt_check(ls_table_open(&t, path));
    if (status == OPT_GO && (ls_table_columns(t) != 3 ||
                             strcmp(ls_table_column(t, 0), "trial") != 0))
        status = opt_fail(OPT_WRONG, "%s: is no file of --tune", path);
    while (status == OPT_GO && (next = ls_table_next(t)) > 0)
        status = read_trial(s, t, count, known, good);
    ls_table_close(t);
    return status == OPT_GO && next < 0 ? opt_check(next) : status;
}

enum { TRIAL_LINE = TRIAL_TEXT + 96 };

/* A trial's line, behind the title where it is the first one; its bytes. */
static int write_trial(const session *s, int64_t trial, double good, bool first,
                       char line[TRIAL_LINE])
{
    char options[TRIAL_TEXT], number[32] = "";

    trial_text(s, trial, options);
    if (isfinite(good))
        snprintf(number, sizeof number, "%.17g", good);
    return snprintf(line, TRIAL_LINE, "%s%" PRId64 ",%s,\"%s\"\n",
                    first ? TITLE : "", trial, number, options);
}

int trial_file_digest(const session *s, int64_t count, const double *good,
                      char sha256[65])
{
    char line[TRIAL_LINE], *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);

    for (int64_t i = 0; f && i < count; i++) {
        write_trial(s, i, good[i], i == 0, line);
        fputs(line, f);
    }
    if (!f || fclose(f) != 0) {
        free(text);
        return opt_no_memory("the trials");
    }
    ls_digest(text, bytes, sha256);
    free(text);
    return OPT_GO;
}

int trial_file_add(const session *s, int file, int64_t trial, double good)
{
    char line[TRIAL_LINE];
    int n;

    if (file < 0)
        return OPT_GO;
    n = write_trial(s, trial, good, lseek(file, 0, SEEK_END) == 0, line);
    return write(file, line, (size_t)n) == n
               ? OPT_GO : opt_fail(OPT_FAILED, "%s: cannot be written: %s",
                                   s->set.tune_file, strerror(errno));
}

/* ------ In order ------ */

typedef struct line {
    int64_t trial;
    char *text;
} line;

static int by_trial(const void *a, const void *b)
{
    const line *p = a, *q = b;

    return (p->trial > q->trial) - (p->trial < q->trial);
}

/* The table's row as a line; false: there is no memory. */
static bool read_line(const ls_table *t, line *l)
{
    double number = 0;

    ls_table_number(t, 0, &number);
    l->trial = (int64_t)number;
    return asprintf(&l->text, "%s,%s,\"%s\"\n", ls_table_text(t, 0),
                    ls_table_missing(t, 1) ? "" : ls_table_text(t, 1),
                    ls_table_text(t, 2)) > 0;
}

/* All lines of an open table, *n of them. */
static int read_lines(ls_table *t, line **all, size_t *n)
{
    int next;

    while ((next = ls_table_next(t)) > 0) {
        line *more = realloc(*all, (*n + 1) * sizeof *more);

        if (!more || !read_line(t, &(*all = more)[*n]))
            return opt_no_memory("the trials");
        ++*n;
    }
    return opt_check(next);
}

static int write_lines(const char *path, const line *all, size_t n)
{
    output out = {0};
    int status = output_open(&out, path);

    if (status != OPT_GO)
        return status;
    fputs(TITLE, out.file);
    for (size_t i = 0; i < n; i++)
        fputs(all[i].text, out.file);
    return output_close(&out, OPT_GO);
}

int trial_file_sort(const session *s)
{
    const char *path = s->set.tune_file;
    ls_table *t = NULL;
    line *all = NULL;
    size_t n = 0;
    int status;

    if (!path)
        return OPT_GO;
    status = opt_check(ls_table_open(&t, path));
    if (status == OPT_GO)
        status = read_lines(t, &all, &n);
    ls_table_close(t);
    if (status == OPT_GO) {
        qsort(all, n, sizeof *all, by_trial);
        status = write_lines(path, all, n);
    }
    while (n)
        free(all[--n].text);
    free(all);
    return status;
}
