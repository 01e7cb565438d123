/* SPDX-License-Identifier: BSD-3-Clause */
/* What was found, as one object of JSON. */
#include "info/info.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static json_t *json_levels(const info *r)
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

static json_t *json_kinds(const info *r)
{
    json_t *list = json_array();
    ls_core_kind k;

    for (int i = 0; ls_mesh_kind(r->mesh, i, &k); i++)
        json_array_append_new(list, json_pack("{s:s, s:i, s:i}", "name", k.name,
                                              "cores", k.cores, "allowed",
                                              k.allowed));
    return list;
}

static json_t *json_workers(const info *r)
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

static json_t *json_notes(const info *r)
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

static json_t *json_roofs(const info *r)
{
    json_t *list = json_array();

    for (int i = 0; i < r->roofs; i++)
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:f, s:f}", "name", r->roof[i].name,
                            "unit", i + 1 < r->roofs ? "FLOP/s" : "B/s", "one",
                            r->roof[i].one, "all", r->roof[i].all));
    return list;
}

int info_print_json(const info *r)
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
