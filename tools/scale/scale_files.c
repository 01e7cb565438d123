/* SPDX-License-Identifier: BSD-3-Clause */
/* The findings as JSON and as CSV.  Numbers that do not exist are null, and an
 * empty field. */
#include "opt/opt.h"
#include "run/output.h"
#include "run/output_json.h"
#include "scale/prediction.h"
#include "scale/scale_report.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

/* ------ JSON ------ */

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
        json_array_append_new(list, real(scaling_seconds(r->scaling, i, k)));
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
        json_object_set_new(o, "tokens_per_second", real(rate->tokens));
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
        json_array_append_new(list, point_json(r, i));
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
        json_array_append_new(list, operator_json(r, &r->op[i]));
    return list;
}

static json_t *guesses(const findings *r)
{
    json_t *list = json_array();

    for (int i = 0; i < r->guesses; i++)
        json_array_append_new(
            list, json_pack("{s:i, s:f, s:f, s:f, s:b}", "workers",
                            r->guess_workers[i], "seconds", r->guess[i].seconds,
                            "speedup", r->guess[i].speedup, "memory_seconds",
                            r->guess[i].reduce + r->guess[i].update,
                            "at_copy_roof",
                            r->guess[i].roof));
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
    json_t *o = json_pack(
        "{s:s, s:s, s:o, s:s, s:s, s:s, s:i, s:f, s:s, s:s, s:s, s:i, s:i, s:i,"
        " s:f, s:f, s:f, s:f, s:o, s:o, s:s, s:o, s:o}",
        "program", opt_program_name, "version", ls_version(), "command",
        scale_text(r->command), "model", r->model, "scaling",
        r->weak ? "weak" : "strong", "cpu", r->cpu, "usable_cores", r->cores,
        "others_cpus", r->others,
        "mesh", r->mesh, "isa", r->isa, "products", r->products, "devices",
        r->info.devices, "repeats", r->info.repeats, "steps", r->info.steps,
        "row_flops", w->row_flops, "row_bytes", r->row_bytes, "reduce_bytes",
        w->reduce_bytes, "update_bytes", w->update_bytes, "operators",
        operators(r), "points", points(r), "advice",
        r->scaling->advice, "serial_share", real(r->serial),
        "model_beyond", guesses(r));

    if (o && r->prediction)
        json_object_set_new(o, "prediction", prediction_json(r->prediction));
    return o;
}

int scale_put_json(json_t *o, const char *path)
{
    return output_json(path, o, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
}

int scale_json(const findings *r, const char *path)
{
    return scale_put_json(findings_json(r), path);
}

/* ------ CSV ------ */

static void field(FILE *f, double x)
{
    if (isfinite(x))
        fprintf(f, ",%.9g", x);
    else
        fputc(',', f);
}

static void put_times(FILE *f, const ls_times *t)
{
    field(f, t->gradients);
    field(f, t->reduce);
    field(f, t->update);
    field(f, t->waiting);
}

static void put_line(FILE *f, const scaling_point *p,
                     const finding_rate *rate)
{
    fprintf(f, "%d,%d,%d,%lld", p->workers, p->oversubscribed, p->verified,
            (long long)p->rows);
    field(f, p->seconds);
    field(f, p->least);
    field(f, p->most);
    field(f, rate->steps);
    field(f, rate->rows);
    field(f, rate->tokens);
    field(f, p->speedup);
    field(f, p->efficiency);
    field(f, p->flops);
    field(f, p->flops_roof);
    field(f, p->reduce_rate);
    field(f, p->update_rate);
    field(f, p->copy_roof);
    put_times(f, &p->mean);
    put_times(f, &p->max);
    fprintf(f, ",%d", p->ranks);
    field(f, p->gradient_rate);
    fputc('\n', f);
}

int scale_csv(const findings *r, const char *path)
{
    output o;
    int status;

    if (r->prediction)
        return prediction_csv(r->prediction, r, path);
    if ((status = output_open(&o, path)) != OPT_GO)
        return status;
    fputs("workers,oversubscribed,verified,rows,seconds,least,most,"
          "steps_per_second,rows_per_second,tokens_per_second,speedup,"
          "efficiency,flops,flops_roof,reduce_rate,update_rate,copy_roof,"
          "gradients,reduce,update,waiting,gradients_max,reduce_max,update_max,"
          "waiting_max,ranks,gradient_rate\n", o.file);
    for (int i = 0; i < r->points; i++)
        put_line(o.file, &r->point[i], &r->rate[i]);
    return output_close(&o, status);
}
