/* SPDX-License-Identifier: BSD-3-Clause */
/* The findings as JSON, where numbers that do not exist are null, and their
 * points as CSV, where these are empty. */
#include "opt/cores.h"
#include "opt/json_parts.h"
#include "opt/opt.h"
#include "run/machine_json.h"
#include "run/output.h"
#include "run/output_json.h"
#include "scale/scale_findings.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/utsname.h>

static json_t *real(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *times(const ls_times *t)
{
    return json_pack("{s:f, s:f, s:f, s:f}", "gradients", t->gradients,
                     "reduce", t->reduce, "update", t->update, "waiting",
                     t->waiting);
}

static json_t *repeats(const findings *r, int i)
{
    json_t *list = json_array();

    for (int k = 0; k < r->info.repeats; k++)
        list = json_and(list, real(scaling_seconds(r->scaling, i, k)));
    return list;
}

static json_t *point_json(const findings *r, int i)
{
    const scaling_point *p = &r->point[i];
    const finding_rate *rate = &r->rate[i];
    json_t *o = json_pack(
        "{s:i, s:i, s:b, s:b, s:s, s:I, s:f, s:f, s:f, s:o, s:f, s:f, s:o, s:o,"
        " s:o, s:o, s:o, s:o}",
        "ranks", p->ranks, "workers", p->workers, "oversubscribed",
        p->oversubscribed, "verified", p->verified, "state", p->state, "rows",
        (json_int_t)p->rows, "seconds", p->seconds, "least", p->least, "most",
        p->most, "repeats", repeats(r, i), "steps_per_second", rate->steps,
        "rows_per_second", rate->rows, "speedup", real(p->speedup),
        "speedup_least", real(p->speedup_least), "speedup_most",
        real(p->speedup_most), "efficiency", real(p->efficiency), "mean",
        times(&p->mean), "max", times(&p->max));

    if (o && r->tokens)
        o = json_with(o, "tokens_per_second", real(rate->tokens));
    if (o)
        json_object_update_new(
            o, json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "flops", p->flops,
                         "flops_roof", p->flops_roof, "gradient_rate",
                         p->gradient_rate, "reduce_rate", p->reduce_rate,
                         "update_rate", p->update_rate, "copy_roof",
                         p->copy_roof));
    return o;
}

static json_t *points(const findings *r)
{
    json_t *list = json_array();

    for (int i = 0; i < r->points; i++)
        list = json_and(list, point_json(r, i));
    return list;
}

static json_t *operator_json(const findings *r, const finding_op *o)
{
    double flops = o->forward + o->backward;
    bool known = isfinite(r->ridge) && o->bytes > 0;

    return json_pack(
        "{s:s, s:f, s:f, s:f, s:o, s:o, s:o, s:o}", "op", o->name,
        "row_forward", o->forward, "row_backward", o->backward, "row_bytes",
        o->bytes, "flops_per_byte",
        real(o->bytes > 0 ? flops / o->bytes : (double)NAN), "cores_seconds",
        real(o->cores), "memory_seconds", real(o->memory), "bound_by",
        known ? json_string(finding_of_memory(o) ? "memory" : "cores")
              : json_null());
}

static json_t *operators(const findings *r)
{
    json_t *list = json_array();

    for (int i = 0; i < r->ops; i++)
        list = json_and(list, operator_json(r, &r->op[i]));
    return list;
}

/* A text, or null: a command line may hold bytes that are none. */
static json_t *text_json(const char *text)
{
    json_t *t = json_string(text);

    return t ? t : json_null();
}

json_t *findings_json(const findings *r)
{
    const ls_work *w = &r->info.work;

    return json_pack(
        "{s:s, s:s, s:o, s:s, s:s, s:s, s:i, s:f, s:s, s:s, s:s, s:i, s:i, s:i,"
        " s:f, s:f, s:f, s:f, s:o, s:o, s:o, s:s, s:o}", "program",
        opt_program_name, "version", ls_version(), "command",
        text_json(r->command), "model", r->model, "scaling",
        r->weak ? "weak" : "strong", "cpu", r->cpu, "usable_cores", r->cores,
        "others_cpus", r->others,
        "mesh", r->mesh, "isa", r->isa, "products", r->products, "devices",
        r->info.devices, "repeats", r->info.repeats, "steps", r->info.steps,
        "row_flops", w->row_flops, "row_bytes", r->row_bytes, "reduce_bytes",
        w->reduce_bytes, "update_bytes", w->update_bytes, "bound_seconds",
        real(r->bound), "operators", operators(r), "points", points(r),
        "advice", r->scaling->advice, "serial_share", real(r->serial));
}

static int put_json(json_t *o, const char *path)
{
    return output_json(path, o, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
}

int scale_json(const findings *r, const char *path)
{
    return put_json(findings_json(r), path);
}

/* The kernel, by which the clock, huge pages and the quota differ. */
static json_t *kernel(void)
{
    struct utsname u;

    if (uname(&u) < 0)
        return json_null();
    return json_pack("{s:s, s:s, s:s}", "name", u.sysname, "release", u.release,
                     "machine", u.machine);
}

int scale_report(json_t *models, const char *command, const char *cpus,
                 const char *path)
{
    ls_mesh_options of = ls_mesh_defaults();
    ls_mesh *mesh = NULL;
    json_t *o = NULL;
    int status;

    of.cpus = cpus;
    of.devices = 1;
    of.details = true;
    of.workers = cores_of(of);
    status = of.workers < 0 ? of.workers : ls_mesh_open(&mesh, &of);
    if (status == 0)
        o = json_pack("{s:s, s:s, s:o, s:o, s:o, s:O}", "program",
                      opt_program_name, "version", ls_version(), "command",
                      text_json(command), "system", kernel(), "machine",
                      machine_json(mesh, true), "models", models);
    ls_mesh_close(mesh);
    return status == 0 ? put_json(o, path) : opt_check_usage(status);
}

/* ------ CSV ------ */

#define OF_POINT(member) offsetof(scaling_point, member), 0
#define OF_RATE(member) offsetof(finding_rate, member), 1

/* Columns that are real numbers, of a point or its rates, in their order. */
static const struct {
    const char *name;
    size_t at;
    bool of_rate;
} columns[] = {
    {"seconds", OF_POINT(seconds)},
    {"least", OF_POINT(least)},
    {"most", OF_POINT(most)},
    {"steps_per_second", OF_RATE(steps)},
    {"rows_per_second", OF_RATE(rows)},
    {"tokens_per_second", OF_RATE(tokens)},
    {"speedup", OF_POINT(speedup)},
    {"efficiency", OF_POINT(efficiency)},
    {"flops", OF_POINT(flops)},
    {"flops_roof", OF_POINT(flops_roof)},
    {"reduce_rate", OF_POINT(reduce_rate)},
    {"update_rate", OF_POINT(update_rate)},
    {"copy_roof", OF_POINT(copy_roof)},
    {"gradients", OF_POINT(mean.gradients)},
    {"reduce", OF_POINT(mean.reduce)},
    {"update", OF_POINT(mean.update)},
    {"waiting", OF_POINT(mean.waiting)},
    {"gradients_max", OF_POINT(max.gradients)},
    {"reduce_max", OF_POINT(max.reduce)},
    {"update_max", OF_POINT(max.update)},
    {"waiting_max", OF_POINT(max.waiting)},
    {"gradient_rate", OF_POINT(gradient_rate)},
};

enum { COLUMNS = sizeof columns / sizeof *columns };

static void put_line(FILE *f, const scaling_point *p, const finding_rate *rate)
{
    fprintf(f, "%d,%d,%d,%d,%lld", p->workers, p->ranks, p->oversubscribed,
            p->verified, (long long)p->rows);
    for (int i = 0; i < COLUMNS; i++) {
        const char *from = columns[i].of_rate ? (const char *)rate
                                              : (const char *)p;
        const double *x = (const double *)(const void *)(from + columns[i].at);

        if (isfinite(*x))
            fprintf(f, ",%.9g", *x);
        else
            fputc(',', f);
    }
    fputc('\n', f);
}

int scale_csv(const findings *r, const char *path)
{
    output o;
    int status = output_open(&o, path);

    if (status != OPT_GO)
        return output_close(&o, status);
    fputs("workers,ranks,oversubscribed,verified,rows", o.file);
    for (int i = 0; i < COLUMNS; i++)
        fprintf(o.file, ",%s", columns[i].name);
    fputc('\n', o.file);
    for (int i = 0; i < r->points; i++)
        put_line(o.file, &r->point[i], &r->rate[i]);
    return output_close(&o, status);
}
