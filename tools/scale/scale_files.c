/* SPDX-License-Identifier: BSD-3-Clause */
/* The findings as JSON.  Numbers that do not exist are null. */
#include "opt/json_parts.h"
#include "opt/opt.h"
#include "run/output_json.h"
#include "scale/scale_report.h"

#include <jansson.h>
#include <math.h>

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
        "{s:s, s:f, s:f, s:f, s:o, s:o, s:o}", "op", o->name, "row_forward",
        o->forward, "row_backward", o->backward, "row_bytes", o->bytes,
        "flops_per_byte", real(o->bytes > 0 ? flops / o->bytes : (double)NAN),
        "roof_seconds", real(o->least), "bound_by",
        known ? json_string(o->of_memory ? "memory" : "cores") : json_null());
}

static json_t *operators(const findings *r)
{
    json_t *list = json_array();

    for (int i = 0; i < r->ops; i++)
        list = json_and(list, operator_json(r, &r->op[i]));
    return list;
}

json_t *scale_text(const char *text)
{
    json_t *t = json_string(text);

    return t ? t : json_null();
}

json_t *findings_json(const findings *r)
{
    const ls_work *w = &r->info.work;

    return json_pack(
        "{s:s, s:s, s:o, s:s, s:s, s:s, s:i, s:f, s:s, s:s, s:s, s:i, s:i, s:i,"
        " s:f, s:f, s:f, s:f, s:o, s:o, s:s, s:o}",
        "program", opt_program_name, "version", ls_version(), "command",
        scale_text(r->command), "model", r->model, "scaling",
        r->weak ? "weak" : "strong", "cpu", r->cpu, "usable_cores", r->cores,
        "others_cpus", r->others,
        "mesh", r->mesh, "isa", r->isa, "products", r->products, "devices",
        r->info.devices, "repeats", r->info.repeats, "steps", r->info.steps,
        "row_flops", w->row_flops, "row_bytes", r->row_bytes, "reduce_bytes",
        w->reduce_bytes, "update_bytes", w->update_bytes, "operators",
        operators(r), "points", points(r), "advice",
        r->scaling->advice, "serial_share", real(r->serial));
}

int scale_put_json(json_t *o, const char *path)
{
    return output_json(path, o, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
}

int scale_json(const findings *r, const char *path)
{
    return scale_put_json(findings_json(r), path);
}
