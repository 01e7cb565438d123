/* SPDX-License-Identifier: BSD-3-Clause */
/* lockstep-info: what lockstep sees of a machine and would do on it.
 *
 * Sections of text, or with --json one object of the same facts.  For a
 * machine one does not own (--topology) there is no CPU to ask, so only the
 * machine and the mesh are shown.  Of several ranks the first one shows where
 * each of them runs. */
#define _GNU_SOURCE
#include "info/info.h"
#include "info/verify.h"
#include "opt/characters.h"
#include "opt/cores.h"
#include "opt/opt.h"

#include <lockstep.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char opt_program_name[] = "lockstep-info";

#define AT(member) offsetof(info_settings, member)

enum { OF_VERIFY = 1 }; /* a mark: --verify does not leave it unused */

/* clang-format off */
static const opt options[] = {
    { OPT_ROW("devices", "N|auto", OPT_DEVICES, AT(devices), NULL, "8",
              "plan for so many devices; auto: the usable cores") },
    { OPT_ROW("workers", "N", OPT_WORKERS, AT(workers), NULL, "",
              "on so many threads (min(devices, cores))") },
    { OPT_ROW("cpus", "LIST", OPT_TEXT, AT(cpus), NULL, "",
              "processors the workers may sit on: 8-15") },
    { OPT_ROW("topology", "TEXT|F.xml", OPT_TEXT, AT(topology), NULL, "",
              "a machine described for hwloc: \"pack:2 core:16 pu:2\""),
      .use = OPT_READ },
    { OPT_ROW("measure", NULL, OPT_FLAG, AT(measure), NULL, "",
              "measure multiply-adds and memory, about a second") },
    { OPT_ROW("json", NULL, OPT_FLAG, AT(json), NULL, "",
              "one object of JSON"), .marks = OF_VERIFY },
    { OPT_ROW("verify", NULL, OPT_FLAG, AT(verify), NULL, "",
              "train small models, compare with recorded bytes"),
      .marks = OF_VERIFY },
    { OPT_ROW("each-core", NULL, OPT_FLAG, AT(each_core), NULL, "",
              "on each processor by itself, one after the other"),
      .needs = "verify", .marks = OF_VERIFY },
    { OPT_ROW("minutes", "M", OPT_REAL, AT(minutes), NULL, "0",
              "again and again for so long, or until something differs"),
      .needs = "verify", .marks = OF_VERIFY },
};
/* clang-format on */

static const opt_model only = {
    .name = "",
    .about = "Show the machine, its usable cores, and the mesh planned on it.",
};
static const opt_model *const models[] = {&only};

/* ------ Measuring ------ */

/* What an instruction level computes, products of a precision, or a copy. */
static int measure_on(ls_pool *pool, const char *name, int workers, double *out)
{
    static const struct {
        const char *name;
        ls_precision precision;
    } products[] = {{"bf16", LS_BF16_LAYERS}, {"f32x3", LS_F32X3_LAYERS}};

    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        if (strcmp(products[i].name, name) == 0)
            return ls_measure_products(pool, workers, products[i].precision,
                                       out);
    return strcmp(name, "copy") == 0
               ? ls_measure_copy(pool, workers, out)
               : ls_measure_flops(pool, workers, name, out);
}

static int add_roof(info *r, ls_pool *pool, const char *name)
{
    roof *f = &r->roof[r->roofs++];
    int status;

    f->name = name;
    status = measure_on(pool, name, 1, &f->one);
    if (status == 0)
        status = measure_on(pool, name, r->workers, &f->all);
    return opt_check(status);
}

static int measure_all(info *r, ls_pool *pool)
{
    static const char *const rest[] = {"bf16", "f32x3", "copy"};
    int status = OPT_GO;
    ls_isa isa;

    for (int i = 0; i < ROOFS - 3 && status == OPT_GO &&
                    ls_isa_level(i, &isa); i++)
        if (isa.here)
            status = add_roof(r, pool, isa.name);
    for (int i = 0; i < 3 && status == OPT_GO; i++)
        status = add_roof(r, pool, rest[i]);
    return status;
}

static int measure(info *r)
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

/* ------ Stages ------ */

static int check(info *r)
{
    if (r->set.measure && r->set.topology)
        return opt_fail(OPT_WRONG, "--measure is of this machine, --topology "
                        "of another");
    if (opt_check_together(&r->line) != OPT_GO ||
        (r->set.verify &&
         opt_refuse_others(&r->line, OF_VERIFY, "--verify, which measures "
                           "nothing and plans for nobody")))
        return OPT_WRONG;
    return opt_check(ls_isa_check());
}

/* --verify is all that is done then. */
static int verify_bytes(info *r)
{
    verify_options o = {.json = r->set.json, .each_core = r->set.each_core,
                        .minutes = r->set.minutes};
    int status = r->set.verify ? verify(&o) : OPT_GO;

    return r->set.verify && status == OPT_GO ? OPT_DONE : status;
}

/* A machine one does not own has no ranks. */
static int meet_ranks(info *r)
{
    return r->set.topology ? OPT_GO
                           : seats_meet(&r->seats, r->set.devices,
                                        r->set.cpus);
}

static int most(const info *r)
{
    return seats_workers(&r->seats, r->set.devices);
}

static int open_mesh(info *r)
{
    ls_mesh_options o = ls_mesh_defaults();
    int status;

    o.devices = (int)r->set.devices;
    o.workers = (int)r->set.workers;
    o.cpus = seats_cpus(&r->seats, r->set.cpus);
    o.topology = r->set.topology;
    o.details = true;
    if (!o.devices) { /* auto */
        o.devices = 1;
        if ((status = cores_of(o)) < 0)
            return opt_check_usage(status);
        r->set.devices = o.devices = status;
    }
    status = opt_check_usage(ls_mesh_open(&r->mesh, &o));
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

static int show(info *r)
{
    int status = seats_gather(&r->seats, r->mesh);

    if (status != OPT_GO)
        return status;
    if (r->set.json)
        status = info_print_json(r);
    else
        info_print(r);
    for (int i = 0; ls_mesh_note(r->mesh, i); i++)
        fprintf(stderr, "note: %s\n",
                characters_shown(ls_mesh_note(r->mesh, i)));
    return opt_end(status);
}

static int (*const stages[])(info *r) = {check, verify_bytes, meet_ranks,
                                     open_mesh, measure, show};

int main(int argc, char **argv)
{
    static info r; /* not of a small stack (ulimit -s) */
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
    status = launch_close(&r.seats.launch, status);
    return status == OPT_DONE ? 0 : status;
}
