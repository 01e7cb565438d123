/* SPDX-License-Identifier: BSD-3-Clause */
/* lockstep-info: what lockstep sees of a machine and would do on it.
 *
 * Sections of text, or with --json one object of the same facts.  For a
 * machine one does not own (--topology) there is no CPU to ask, so only the
 * machine and the mesh are shown.  Of several ranks the first one shows where
 * each of them runs. */
#define _GNU_SOURCE
#include "info/seats.h"
#include "info/verify.h"
#include "opt/opt.h"

#include <lockstep.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char opt_program_name[] = "lockstep-info";

typedef struct settings {
    int64_t devices; /* 0: the usable cores */
    int64_t workers; /* 0: as many as are of use */
    const char *cpus, *topology;
    bool measure;
    bool json;
    bool verify, each_core;
    double minutes;
} settings;

#define AT(member) offsetof(settings, member)

/* clang-format off */
static const opt options[] = {
    { OPT_ROW("devices", "N|auto", OPT_DEVICES, AT(devices), NULL, "8",
              "plan for so many devices; auto: the usable cores") },
    { OPT_ROW("workers", "N", OPT_WORKERS, AT(workers), NULL, "",
              "on so many threads (min(devices, cores))") },
    { OPT_ROW("cpus", "LIST", OPT_TEXT, AT(cpus), NULL, "",
              "processors the workers may sit on: 8-15") },
    { OPT_ROW("topology", "TEXT|F.xml", OPT_TEXT, AT(topology), NULL, "",
              "a machine described for hwloc: \"pack:2 core:16 pu:2\"") },
    { OPT_ROW("measure", NULL, OPT_FLAG, AT(measure), NULL, "",
              "measure multiply-adds and memory, about a second") },
    { OPT_ROW("json", NULL, OPT_FLAG, AT(json), NULL, "",
              "one object of JSON") },
    { OPT_ROW("verify", NULL, OPT_FLAG, AT(verify), NULL, "",
              "train small models, compare with recorded bytes") },
    { OPT_ROW("each-core", NULL, OPT_FLAG, AT(each_core), NULL, "",
              "on each processor by itself, one after the other"),
      .needs = "verify" },
    { OPT_ROW("minutes", "M", OPT_REAL, AT(minutes), NULL, "0",
              "again and again for so long, or until something differs"),
      .needs = "verify" },
};
/* clang-format on */

static const opt_model only = {
    .name = "",
    .about = "Show the machine, its usable cores, and the mesh planned on it.",
};
static const opt_model *const models[] = {&only};

/* A measured rate, with one worker and with all. */
typedef struct roof {
    const char *name; /* an instruction level, or "copy" */
    double one, all;  /* FLOP/s or bytes/s */
} roof;

enum { ROOFS = 8 }; /* of levels, precisions and the copy */

typedef struct run {
    opt_program program;
    settings set;
    opt_line line;
    seats seats;
    ls_mesh *mesh;
    int workers;
    roof roof[ROOFS];
    int roofs;
} run;

/* ------ Measuring ------ */

static int measure_level(run *r, ls_pool *pool, const char *name)
{
    roof *f = &r->roof[r->roofs++];
    int status;

    f->name = name;
    status = ls_measure_flops(pool, 1, name, &f->one);
    if (status == 0)
        status = ls_measure_flops(pool, r->workers, name, &f->all);
    return opt_check(status);
}

static int measure_precision(run *r, ls_pool *pool, int i)
{
    static const struct {
        const char *name;
        ls_precision precision;
    } kinds[] = {{"bf16", LS_BF16_LAYERS}, {"f32x3", LS_F32X3_LAYERS},
                 {"f32x6", LS_F32X6_LAYERS}};
    roof *f = &r->roof[r->roofs++];
    ls_precision p = kinds[i].precision;
    int status;

    f->name = kinds[i].name;
    status = ls_measure_products(pool, 1, p, &f->one);
    if (status == 0)
        status = ls_measure_products(pool, r->workers, p, &f->all);
    return opt_check(status);
}

static int measure_copy(run *r, ls_pool *pool)
{
    roof *f = &r->roof[r->roofs++];
    int status;

    f->name = "copy";
    status = ls_measure_copy(pool, 1, &f->one);
    if (status == 0)
        status = ls_measure_copy(pool, r->workers, &f->all);
    return opt_check(status);
}

static int measure_all(run *r, ls_pool *pool)
{
    int status = OPT_GO;
    ls_isa isa;

    for (int i = 0; i < ROOFS - 4 && status == OPT_GO &&
                    ls_isa_level(i, &isa); i++)
        if (isa.here)
            status = measure_level(r, pool, isa.name);
    for (int i = 0; i < 3 && status == OPT_GO; i++)
        status = measure_precision(r, pool, i);
    return status == OPT_GO ? measure_copy(r, pool) : status;
}

static int measure(run *r)
{
    ls_pool_options o = ls_pool_defaults();
    ls_pool *pool = NULL;
    int status;

    if (!r->set.measure)
        return OPT_GO;
    o.pin_caller = true;
    status = opt_check(ls_pool_open(&pool, r->mesh, &o));
    if (status == OPT_GO)
        status = measure_all(r, pool);
    ls_pool_close(pool);
    return status;
}

/* ------ As text ------ */

static void print_bytes(int64_t bytes)
{
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double n = (double)bytes;
    int u = 0;

    for (; n >= 1024 && u < 4; u++)
        n /= 1024;
    printf("%.4g %s", n, unit[u]);
}

static void print_levels(const run *r)
{
    ls_level level;

    for (int i = 0; ls_mesh_level(r->mesh, i, &level); i++) {
        printf("  %-9s %5d", level.name, level.count);
        if (level.most > 0)
            printf(level.least < level.most ? "  of " : "  x ");
        if (level.least < level.most) {
            print_bytes(level.least);
            printf(" to ");
        }
        if (level.most > 0)
            print_bytes(level.most);
        putchar('\n');
    }
}

/* Prints the kinds of cores where there are several. */
static void print_kinds(const run *r)
{
    ls_core_kind kind;

    if (!ls_mesh_kind(r->mesh, 1, &kind))
        return;
    for (int i = 0; ls_mesh_kind(r->mesh, i, &kind); i++)
        printf("  kind %-4d %5d  core%s, %d allowed%s%s%s\n", i, kind.cores,
               kind.cores == 1 ? "" : "s", kind.allowed,
               *kind.name ? " (" : "", kind.name, *kind.name ? ")" : "");
}

/* Do two neighbours go on one line? */
static bool alike(const ls_place *a, const ls_place *b)
{
    return a->kind == b->kind && a->package == b->package &&
           a->numa == b->numa && a->l3 == b->l3;
}

/* "3" or "3-5" or "4-8:2", as wide as its column. */
static void print_range(int first, int last, int step, int width)
{
    char text[64];
    int n = snprintf(text, sizeof text, "%d", first);

    if (last != first)
        n += snprintf(text + n, sizeof text - (size_t)n, "-%d", last);
    if (last != first && step != 1)
        snprintf(text + n, sizeof text - (size_t)n, ":%d", step);
    printf("  %-*s", width, text);
}

static void print_number(int n, int width)
{
    if (n < 0)
        printf("  %*s", width, "-");
    else
        printf("  %*d", width, n);
}

/* The last worker of a line that begins with `first`: places alike and PUs at
 * equal steps. */
static int line_end(const run *r, int first, const ls_place *a, int *step)
{
    int last = first, next_step;
    ls_place before = *a, b;

    *step = 1;
    for (; last + 1 < r->workers; last++, before = b) {
        ls_mesh_place(r->mesh, last + 1, &b);
        next_step = b.pu - before.pu;
        if (!alike(a, &b) || next_step <= 0 ||
            (last > first && next_step != *step))
            break;
        *step = next_step;
    }
    return last;
}

static void print_map(const run *r)
{
    printf("\n  %-9s  %-11s  %-9s  %4s  %7s  %4s  %4s\n", "workers", "PU",
           "devices", "kind", "package", "numa", "L3");
    for (int w = 0, last, step; w < r->workers; w = last + 1) {
        ls_place a, b;

        ls_mesh_place(r->mesh, w, &a);
        last = line_end(r, w, &a, &step);
        ls_mesh_place(r->mesh, last, &b);
        print_range(w, last, 1, 9);
        print_range(a.pu, b.pu, step, 11);
        if (b.device + b.devices > a.device)
            print_range(a.device, b.device + b.devices - 1, 1, 9);
        else
            printf("  %-9s", "none");
        print_number(a.kind, 4);
        print_number(a.package, 7);
        print_number(a.numa, 4);
        print_number(a.l3, 4);
        putchar('\n');
    }
}

static const char *say_isa(const ls_isa *isa)
{
    const char *asked = getenv("LS_ISA");

    if (!isa->here)
        return "not of this CPU";
    if (!isa->used)
        return "not in use";
    return asked && *asked ? "in use, LS_ISA asks for it"
                           : "in use, the best of this CPU";
}

static void print_kernels(void)
{
    char text[LS_TEXT];
    ls_isa isa;

    puts("\nkernels");
    for (int i = 0; ls_isa_level(i, &isa); i++)
        printf("  %-11s%s\n", isa.name, say_isa(&isa));
    ls_blis_text(text);
    printf("  %s\n", text);
    if (ls_backend_text(text, NULL, LS_BF16_LAYERS) == 0)
        printf("  bf16 layers: %s\n", text);
}

static void print_roofs(const run *r)
{
    if (!r->roofs)
        return;
    printf("\nmeasured     %10s  %6d worker%s\n", "1 worker", r->workers,
           r->workers == 1 ? "" : "s");
    for (int i = 0; i < r->roofs; i++)
        printf("  %-11s%10.1f  %10.1f  %s\n", r->roof[i].name,
               1e-9 * r->roof[i].one, 1e-9 * r->roof[i].all,
               i + 1 < r->roofs ? "GFLOP/s" : "GB/s, read and written");
}

static void print_text(const run *r)
{
    puts("machine");
    if (*ls_mesh_cpu(r->mesh))
        printf("  %s\n", ls_mesh_cpu(r->mesh));
    print_levels(r);
    print_kinds(r);
    printf("\n%s\n%s\n", ls_mesh_cores_text(r->mesh), ls_mesh_text(r->mesh));
    if (r->seats.of)
        seats_print(&r->seats);
    else
        print_map(r);
    if (!r->set.topology)
        print_kernels();
    print_roofs(r);
}

/* ------ As JSON ------ */

static json_t *json_levels(const run *r)
{
    json_t *list = json_array();
    ls_level l;

    for (int i = 0; ls_mesh_level(r->mesh, i, &l); i++)
        json_array_append_new(
            list, json_pack("{s:s, s:i, s:I, s:I}", "name", l.name, "count",
                            l.count, "least_bytes", (json_int_t)l.least,
                            "most_bytes", (json_int_t)l.most));
    return list;
}

static json_t *json_kinds(const run *r)
{
    json_t *list = json_array();
    ls_core_kind k;

    for (int i = 0; ls_mesh_kind(r->mesh, i, &k); i++)
        json_array_append_new(list, json_pack("{s:s, s:i, s:i}", "name", k.name,
                                              "cores", k.cores, "allowed",
                                              k.allowed));
    return list;
}

static json_t *json_workers(const run *r)
{
    json_t *list = json_array();
    ls_place p;

    for (int w = 0; w < r->workers; w++) {
        ls_mesh_place(r->mesh, w, &p);
        json_array_append_new(
            list,
            json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "pu", p.pu,
                      "core", p.core, "kind", p.kind, "l3", p.l3, "numa",
                      p.numa, "package", p.package, "device", p.device,
                      "devices", p.devices));
    }
    return list;
}

static json_t *json_notes(const run *r)
{
    json_t *list = json_array();

    for (int i = 0; ls_mesh_note(r->mesh, i); i++)
        json_array_append_new(list, json_string(ls_mesh_note(r->mesh, i)));
    return list;
}

static json_t *json_kernels(void)
{
    json_t *list = json_array();
    ls_isa isa;

    for (int i = 0; ls_isa_level(i, &isa); i++)
        json_array_append_new(list, json_pack("{s:s, s:b, s:b}", "name",
                                              isa.name, "here", isa.here,
                                              "used", isa.used));
    return list;
}

static json_t *json_roofs(const run *r)
{
    json_t *list = json_array();

    for (int i = 0; i < r->roofs; i++)
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:f, s:f}", "name", r->roof[i].name,
                            "unit", i + 1 < r->roofs ? "FLOP/s" : "B/s", "one",
                            r->roof[i].one, "all", r->roof[i].all));
    return list;
}

static int print_json(const run *r)
{
    char text[LS_TEXT];
    json_t *o = json_pack(
        "{s:s, s:s, s:s, s:o, s:o, s:i, s:s, s:s, s:i, s:o, s:o}", "program",
        opt_program_name, "version", ls_version(), "cpu", ls_mesh_cpu(r->mesh),
        "levels", json_levels(r), "kinds", json_kinds(r), "usable_cores",
        ls_mesh_usable_cores(r->mesh), "why", ls_mesh_cores_text(r->mesh),
        "mesh", ls_mesh_text(r->mesh), "devices", ls_mesh_devices(r->mesh),
        "workers", json_workers(r), "notes", json_notes(r));

    if (o && !r->set.topology) {
        json_object_set_new(o, "kernels", json_kernels());
        ls_blis_text(text);
        json_object_set_new(o, "blis", json_string(text));
    }
    if (o && r->seats.of)
        json_object_set_new(o, "ranks", seats_json(&r->seats));
    if (o && r->set.measure)
        json_object_set_new(o, "measured", json_roofs(r));
    if (!o || json_dumpf(o, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6)))
        return opt_fail(OPT_FAILED, "the facts do not become JSON");
    putchar('\n');
    json_decref(o);
    return OPT_GO;
}

/* ------ Stages ------ */

/* --verify measures nothing and plans for nobody. */
static int check_verify(const run *r)
{
    for (int i = 0; i < r->program.count; i++) {
        const opt *o = &r->program.option[i];
        bool its = o->needs && strcmp(o->needs, "verify") == 0;

        if (r->line.given[i] && !its && strcmp(o->name, "verify") &&
            strcmp(o->name, "json"))
            return opt_fail(OPT_WRONG, "--verify goes with no option but "
                            "--json, --each-core and --minutes; --%s is "
                            "another", o->name);
    }
    return OPT_GO;
}

static int check(run *r)
{
    if (r->set.measure && r->set.topology)
        return opt_fail(OPT_WRONG, "--measure is of this machine, --topology "
                        "of another");
    if (opt_check_together(&r->line) != OPT_GO ||
        (r->set.verify && check_verify(r) != OPT_GO))
        return OPT_WRONG;
    return opt_check(ls_isa_check());
}

/* --verify is all that is done then. */
static int verify_bytes(run *r)
{
    verify_options o = {r->set.json, r->set.each_core, r->set.minutes};
    int status = r->set.verify ? verify(&o) : OPT_GO;

    return r->set.verify && status == OPT_GO ? OPT_DONE : status;
}

/* A machine one does not own has no ranks. */
static int meet_ranks(run *r)
{
    return r->set.topology ? OPT_GO
                           : seats_meet(&r->seats, r->set.devices,
                                        r->set.cpus);
}

static int most(const run *r)
{
    return seats_workers(&r->seats, r->set.devices);
}

static int open_mesh(run *r)
{
    ls_mesh_options o = ls_mesh_defaults();
    int status;

    o.devices = (int)r->set.devices;
    o.workers = (int)r->set.workers;
    o.cpus = seats_cpus(&r->seats, r->set.cpus);
    o.topology = r->set.topology;
    o.details = true;
    if (!o.devices)
        o.devices = 1;
    status = opt_check_usage(ls_mesh_open(&r->mesh, &o));
    if (status == OPT_GO && !r->set.devices) { /* auto */
        r->set.devices = ls_mesh_usable_cores(r->mesh);
        ls_mesh_close(r->mesh);
        r->mesh = NULL;
        return open_mesh(r);
    }
    if (status == OPT_GO)
        r->workers = ls_mesh_workers(r->mesh);
    if (status == OPT_GO && !r->set.workers && r->workers > most(r)) {
        r->set.workers = most(r);
        ls_mesh_close(r->mesh);
        r->mesh = NULL;
        return open_mesh(r);
    }
    return status;
}

static int show(run *r)
{
    int status = seats_gather(&r->seats, r->mesh);

    if (status != OPT_GO)
        return status;
    if (r->set.json)
        status = print_json(r);
    else
        print_text(r);
    for (int i = 0; ls_mesh_note(r->mesh, i); i++)
        fprintf(stderr, "note: %s\n", ls_mesh_note(r->mesh, i));
    return opt_end(status);
}

static int (*const stages[])(run *r) = {check, verify_bytes, meet_ranks,
                                     open_mesh, measure, show};

int main(int argc, char **argv)
{
    static run r; /* not of a small stack (ulimit -s) */
    int status;

    ls_blis_tune();
    r.program = (opt_program){.models = models, .model_count = 1};
    opt_add(&r.program, (opt_rows)OPT_ROWS(options), &r.set);
    status = opt_parse(&r.program, argc, argv, &r.line);
    status = seats_join(&r.seats, status, r.set.topology || r.set.verify);
    for (size_t i = 0; i < sizeof stages / sizeof *stages && status == OPT_GO;
         i++)
        status = stages[i](&r);
    ls_mesh_close(r.mesh);
    status = seats_close(&r.seats, status);
    return status == OPT_DONE ? 0 : status;
}
