/* SPDX-License-Identifier: BSD-3-Clause */
/* The three forms of a prediction. */
#include "run/output.h"
#include "scale/prediction.h"

#include <jansson.h>
#include <stdio.h>

/* ------ Text ------ */

static const char *name_of(const described *d)
{
    return d->text ? d->text : "this machine";
}

static void print_count(int n, const char *what)
{
    printf(", %d %s%s", n, what, n == 1 ? "" : "s");
}

/* What a number is taken from, where it is not assumed. */
static const char *source(double said, const char *of)
{
    return said > 0 ? "assumed" : of;
}

static void print_rates(const prediction *p)
{
    const described *on = &p->on;
    const measured *m = &p->measured;

    if (on->core > 0)
        printf("a core: %.4g GFLOP/s (%s); ", 1e-9 * on->core,
               source(on->assumed.core, "as here"));
    if (on->node > 0)
        printf("memory of a node: %.4g GB/s (%s)", 1e-9 * on->node,
               source(on->assumed.node, "as all cores here"));
    else
        printf("memory is not in it: no roofs");
    if (m->copy > 0)
        printf(", of a core %.4g GB/s", 1e-9 * m->copy);
    if (on->node > 0 && on->packages > 1)
        printf("; between packages: %.4g GB/s (%s)", 1e-9 * on->link,
               source(on->assumed.link, "as a node's memory"));
    printf("; a line between cores: %.3g ns (%s)\n", 1e9 * m->line,
           m->line_is_assumed ? "assumed" : "as here");
}

static void print_head(const prediction *p)
{
    const described *on = &p->on;

    printf("\npredicted for %s: %d core%s", name_of(on), on->cores,
           on->cores == 1 ? "" : "s");
    if (on->caches)
        print_count(on->caches, "L3");
    print_count(on->nodes, "NUMA node");
    print_count(on->packages, "package");
    print_count(p->devices, "device");
    putchar('\n');
    print_rates(p);
}

static void print_row(const predicted *row, double unit)
{
    const scaling_guess *g = &row->guess;

    printf("%7d  %9.4g  %8.2f  %8.0f %%  %10.5g  %8.4g  %8.4g  %8.4g  %8.4g  "
           "%8.4g  %8.4g  %8.4g%s\n", row->workers, unit * g->seconds,
           row->speedup, 100 * row->efficiency, row->rows, unit * g->compute,
           unit * g->aid, unit * g->memory, unit * g->reduce, unit * g->update,
           unit * g->barriers, unit * g->serial, g->roof ? "  memory" : "");
}

static void print_nodes_barrier(const prediction *p, const findings *r)
{
    const predicted *most = &p->row[p->rows - 1];
    int i = 0;

    while (i < p->rows && !(p->row[i].guess.nodes_barrier > 0))
        i++;
    if (i == p->rows)
        return;
    printf("barriers: from %d workers on one more, where NUMA nodes add their "
           "own devices' gradients first (%.4g %s of the %.4g of %d workers)\n",
           p->row[i].workers, r->unit.scale * most->guess.nodes_barrier,
           r->unit.name, r->unit.scale * most->guess.barriers, most->workers);
}

static void print_checks(const prediction *p, const findings *r)
{
    for (int i = 0; i < p->checks; i++) {
        const checked *c = &p->check[i];

        printf("on this machine: %d worker%s predicted %.4g %s, measured %.4g "
               "(%+.1f %%)%s\n", c->workers, c->workers == 1 ? "" : "s",
               r->unit.scale * c->predicted, r->unit.name,
               r->unit.scale * c->measured,
               100 * (c->predicted / c->measured - 1),
               c->workers == 1 ? ", which the model begins with" : "");
    }
}

void prediction_table(const prediction *p, const findings *r)
{
    print_head(p);
    printf("workers  %6s/step  %8s  %10s  %10s  %8s  %8s  %8s  %8s  %8s  %8s  "
           "%8s\n", r->unit.name, "speed-up", "efficiency", "rows/s", "compute",
           "aid", "memory", "reduce", "update", "barriers", "serial");
    for (int i = 0; i < p->rows; i++)
        print_row(&p->row[i], r->unit.scale);
    print_nodes_barrier(p, r);
    print_checks(p, r);
}

/* ------ CSV ------ */

int prediction_csv(const prediction *p, const findings *r, const char *path)
{
    output o;
    int status = output_open(&o, path);

    if (status != 0)
        return status;
    fputs("model,devices,workers,seconds,rows_per_second,speedup,efficiency,"
          "compute,aid,memory,reduce,update,barriers,serial,at_memory\n",
          o.file);
    for (int i = 0; i < p->rows; i++) {
        const predicted *row = &p->row[i];
        const scaling_guess *g = &row->guess;

        fprintf(o.file, "%s,%d,%d,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,"
                "%.9g,%.9g,%.9g,%d\n", r->model, p->devices, row->workers,
                g->seconds, row->rows, row->speedup, row->efficiency,
                g->compute, g->aid, g->memory, g->reduce, g->update,
                g->barriers, g->serial, g->roof);
    }
    return output_close(&o, status);
}

/* ------ JSON ------ */

static json_t *known(double x)
{
    return x > 0 ? json_real(x) : json_null();
}

static json_t *row_json(const predicted *row)
{
    const scaling_guess *g = &row->guess;

    return json_pack(
        "{s:i, s:f, s:f, s:f, s:f, s:{s:f, s:f, s:f, s:f, s:f, s:f, s:f}, s:f,"
        " s:b}",
        "workers", row->workers, "seconds", g->seconds, "rows_per_second",
        row->rows, "speedup", row->speedup, "efficiency", row->efficiency,
        "terms", "compute", g->compute, "aid", g->aid, "memory", g->memory,
        "reduce", g->reduce, "update", g->update, "barriers", g->barriers,
        "serial", g->serial, "nodes_barrier", g->nodes_barrier, "at_memory",
        g->roof);
}

static json_t *rows_json(const prediction *p)
{
    json_t *list = json_array();

    for (int i = 0; i < p->rows; i++)
        json_array_append_new(list, row_json(&p->row[i]));
    return list;
}

static json_t *checks_json(const prediction *p)
{
    json_t *list = json_array();

    for (int i = 0; i < p->checks; i++)
        json_array_append_new(
            list, json_pack("{s:i, s:f, s:f}", "workers", p->check[i].workers,
                            "predicted", p->check[i].predicted, "measured",
                            p->check[i].measured));
    return list;
}

json_t *prediction_json(const prediction *p)
{
    const described *on = &p->on;
    const measured *m = &p->measured;

    return json_pack(
        "{s:s, s:i, s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:{s:o, s:o, s:o, s:f,"
        " s:b}, s:o, s:o}",
        "machine", name_of(on), "cores", on->cores, "caches", on->caches,
        "nodes", on->nodes, "packages", on->packages, "devices", p->devices,
        "core_flops", known(on->core), "node_bytes", known(on->node),
        "link_bytes", known(on->link), "measured", "core_flops",
        known(m->core), "core_bytes", known(m->copy), "node_bytes",
        known(m->node), "line_seconds", m->line, "line_assumed",
        m->line_is_assumed, "rows", rows_json(p), "checks", checks_json(p));
}
