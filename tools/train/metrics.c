/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON lines, written by hand: numbers must come out the same on every
 * machine, and the objects are flat. */
#define _GNU_SOURCE
#include "train/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------ The first line ------ */

/* Options have their parts, of a word those that are of use with it. */
static bool is_told(const opt_line *line, int i)
{
    const opt *o = &line->program->option[i];

    return opt_takes(o, line->program->models[line->model]) &&
           opt_is_of_chosen(line, o) &&
           (!opt_is_part(o) || opt_has_needed(line, o));
}

static int put_header(FILE *file, const run *r)
{
    int status;

    fprintf(file, "{\"program\":\"%s\",\"model\":\"%s\",\"options\":{",
            opt_program_name, run_model_name(r));
    status = opt_put_options(file, &r->line, is_told, "", ",");
    fprintf(file,
            "},\"devices\":%d,\"workers\":%d,\"bits\":\"portable\",",
            ls_mesh_devices(r->mesh), ls_mesh_workers(r->mesh));
    if (*r->products)
        fprintf(file, "\"products\":\"%s\",", r->products);
    fprintf(file, "\"versions\":{\"lockstep\":\"%s\",\"compiler\":\"%s\"}}\n",
            ls_version(), __VERSION__);
    return status;
}

/* Does a line end there? */
static bool ends_at(FILE *file, int64_t bytes)
{
    return fseeko(file, bytes - 1, SEEK_SET) == 0 && fgetc(file) == '\n';
}

/* Does the line of this step begin there, however much of it was written? */
static bool begins_at(FILE *file, int64_t bytes, int64_t step)
{
    char text[32], is[32];
    size_t n = (size_t)snprintf(text, sizeof text, "{\"step\":%lld,",
                                (long long)step);

    return fseeko(file, bytes, SEEK_SET) == 0 &&
           memcmp(is, text, fread(is, 1, n, file)) == 0;
}

/* The lines behind those of the checkpoint are of steps that will be made
 * again. */
static int go_on(metrics *m, int64_t keep, int64_t next)
{
    if (!ends_at(m->file, keep) || !begins_at(m->file, keep, next))
        return opt_fail(OPT_FAILED, "%s: does not hold the %lld bytes it held "
                        "when the checkpoint was saved; it is another file, or "
                        "lost its end: move it away, or name another",
                        m->path, (long long)keep);
    if (fflush(m->file) != 0 || ftruncate(fileno(m->file), keep) < 0 ||
        fseeko(m->file, 0, SEEK_END) < 0)
        return opt_no_file(m->path);
    return OPT_GO;
}

int64_t metrics_size(const metrics *m)
{
    return m->file ? ftello(m->file) : 0;
}

/* A checkpoint that knows of no metrics may be anybody's; the file is not. */
static int check_new(const metrics *m)
{
    struct stat info;

    if (stat(m->path, &info) < 0 || !S_ISREG(info.st_mode) || !info.st_size)
        return OPT_GO;
    return opt_fail(OPT_FAILED, "%s: is there already, but the checkpoint was "
                    "saved without --metrics: move it away, or name another",
                    m->path);
}

int metrics_open(metrics *m, const run *r, const char *path, int64_t keep,
                 int64_t next)
{
    *m = (metrics){.path = path};
    if (!m->path)
        return OPT_GO;
    if (keep > 0 && (m->file = fopen(m->path, "r+")))
        return go_on(m, keep, next);
    if (keep == 0 && next > 0 && check_new(m) != OPT_GO)
        return OPT_FAILED;
    m->file = fopen(m->path, "w");
    if (!m->file)
        return opt_no_file(m->path);
    return put_header(m->file, r) == OPT_GO ? metrics_flush(m) : OPT_FAILED;
}

/* ------ Steps ------ */

/* A member with the shortest text that reads back as the same float. */
static void put_float(FILE *file, const char *name, float f)
{
    char text[32] = "null";
    int digits = 1;

    if (isfinite(f))
        do
            snprintf(text, sizeof text, "%.*g", digits, (double)f);
        while (strtof(text, NULL) != f && digits++ < 9);
    fprintf(file, ",\"%s\":%s", name, text);
}

static const char *nonfinite(float f)
{
    return isnan(f) ? "nan" : f > 0 ? "inf" : "-inf";
}

int metrics_step(metrics *m, const ls_result *r, int64_t rows, double ms)
{
    if (!m->file)
        return OPT_GO;
    fprintf(m->file, "{\"step\":%lld", (long long)r->step);
    put_float(m->file, "loss", r->loss);
    if (!isfinite(r->loss))
        fprintf(m->file, ",\"nonfinite\":\"%s\"", nonfinite(r->loss));
    if (!isnan(r->accuracy))
        put_float(m->file, "accuracy", r->accuracy);
    put_float(m->file, "lr", r->lr);
    if (!isnan(r->grad_norm))
        put_float(m->file, "grad_norm", r->grad_norm);
    fprintf(m->file, ",\"rows\":%lld,\"ms\":%.3f}\n", (long long)rows, ms);
    return ferror(m->file) ? opt_no_file(m->path) : OPT_GO;
}

void metrics_check(metrics *m, const ls_health *c, int rank)
{
    if (!m->file)
        return;
    fprintf(m->file, "{\"check\":\"wrong\",\"at\":%lld,", (long long)c->step);
    if (rank >= 0)
        fprintf(m->file, "\"rank\":%d,", rank);
    fprintf(m->file, "\"worker\":%d,\"pu\":%d,\"wrong\":%lld}\n", c->worker,
            c->pu, (long long)c->wrong);
}

void metrics_onset(metrics *m, int64_t same, int64_t other)
{
    if (m->file)
        fprintf(m->file, "{\"check\":\"onset\",\"same\":%lld,\"other\":%lld}\n",
                (long long)same, (long long)other);
}

int metrics_flush(metrics *m)
{
    if (m->file && (fflush(m->file) != 0 || ferror(m->file)))
        return opt_no_file(m->path);
    return OPT_GO;
}

int metrics_close(metrics *m)
{
    int status = metrics_flush(m);

    if (m->file && fclose(m->file) != 0 && status == OPT_GO)
        status = opt_no_file(m->path);
    m->file = NULL;
    return status;
}
