/* SPDX-License-Identifier: BSD-3-Clause */
/* The findings as JSON, where numbers that do not exist are null, and their
 * points as CSV, where these are empty. */
#include "opt/json_parts.h"
#include "opt/opt.h"
#include "run/machine_json.h"
#include "run/output.h"
#include "run/output_json.h"
#include "scale/scale_findings.h"

#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
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

/* ------ Numbers of a point ------ */

#define OF_POINT(member) offsetof(scaling_point, member), false
#define OF_RATE(member) offsetof(finding_rate, member), true

/* Those of CSV in their order; JSON has the phases by themselves. */
static const struct {
    const char *name;
    size_t at;
    bool of_rate, of_phases;
} columns[] = {
    {"seconds", OF_POINT(seconds), false},
    {"least", OF_POINT(least), false},
    {"most", OF_POINT(most), false},
    {"steps_per_second", OF_RATE(steps), false},
    {"rows_per_second", OF_RATE(rows), false},
    {"tokens_per_second", OF_RATE(tokens), false},
    {"speedup", OF_POINT(speedup), false},
    {"efficiency", OF_POINT(efficiency), false},
    {"flops", OF_POINT(flops), false},
    {"flops_roof", OF_POINT(flops_roof), false},
    {"reduce_rate", OF_POINT(reduce_rate), false},
    {"update_rate", OF_POINT(update_rate), false},
    {"copy_roof", OF_POINT(copy_roof), false},
    {"gradients", OF_POINT(mean.gradients), true},
    {"reduce", OF_POINT(mean.reduce), true},
    {"update", OF_POINT(mean.update), true},
    {"waiting", OF_POINT(mean.waiting), true},
    {"gradients_max", OF_POINT(max.gradients), true},
    {"reduce_max", OF_POINT(max.reduce), true},
    {"update_max", OF_POINT(max.update), true},
    {"waiting_max", OF_POINT(max.waiting), true},
    {"gradient_rate", OF_POINT(gradient_rate), false},
};

enum { COLUMNS = sizeof columns / sizeof *columns };

static double number(const findings *r, int point, int column)
{
    const void *from = columns[column].of_rate ? (const void *)&r->rate[point]
                                               : &r->point[point];
    double x;

    memcpy(&x, (const char *)from + columns[column].at, sizeof x);
    return x;
}

/* ------ JSON ------ */

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
    json_t *o = json_pack(
        "{s:i, s:i, s:b, s:b, s:s, s:I, s:o, s:o, s:o, s:o, s:o}", "ranks",
        p->ranks, "workers", p->workers, "oversubscribed", p->oversubscribed,
        "verified", p->verified, "state", p->state, "rows",
        (json_int_t)p->rows, "repeats", repeats(r, i), "speedup_least",
        real(p->speedup_least), "speedup_most", real(p->speedup_most), "mean",
        times(&p->mean), "max", times(&p->max));

    for (int k = 0; k < COLUMNS; k++)
        if (!columns[k].of_phases)
            o = json_with(o, columns[k].name, real(number(r, i, k)));
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

/* A command line may hold bytes that are no text. */
static json_t *text_json(const char *text)
{
    json_t *t = json_string(text);

    return t ? t : json_null();
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

static json_t *findings_json(const findings *r)
{
    const ls_work *w = &r->info.work;

    return json_pack(
        "{s:s, s:s, s:o, s:s, s:s, s:s, s:i, s:f, s:s, s:s, s:s, s:i, s:i, s:i,"
        " s:f, s:f, s:f, s:f, s:o, s:o, s:o, s:s, s:o, s:o, s:o}", "program",
        opt_program_name, "version", ls_version(), "command",
        text_json(r->command), "model", r->model, "scaling",
        r->weak ? "weak" : "strong", "cpu", r->cpu, "usable_cores", r->cores,
        "others_cpus", r->others, "mesh", ls_mesh_text(r->machine), "isa",
        r->isa, "products", r->products, "devices", r->info.devices, "repeats",
        r->info.repeats, "steps", r->info.steps,
        "row_flops", w->row_flops, "row_bytes", r->row_bytes, "reduce_bytes",
        w->reduce_bytes, "update_bytes", w->update_bytes, "bound_seconds",
        real(r->bound), "operators", operators(r), "points", points(r),
        "advice", r->scaling->advice, "serial_share", real(r->serial),
        "system", kernel(), "machine", machine_json(r->machine, true));
}

int scale_json(const findings *r, const char *path)
{
    return output_json(path, findings_json(r),
                       JSON_INDENT(2) | JSON_REAL_PRECISION(9));
}

/* ------ CSV ------ */

static void put_line(FILE *f, const findings *r, int i)
{
    const scaling_point *p = &r->point[i];

    fprintf(f, "%d,%d,%d,%d,%lld", p->workers, p->ranks, p->oversubscribed,
            p->verified, (long long)p->rows);
    for (int k = 0; k < COLUMNS; k++)
        if (isfinite(number(r, i, k)))
            fprintf(f, ",%.9g", number(r, i, k));
        else
            fputc(',', f);
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
        put_line(o.file, r, i);
    return output_close(&o, status);
}
