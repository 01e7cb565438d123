/* SPDX-License-Identifier: BSD-3-Clause */
/* The findings, as one object of JSON. */
#include "info/info.h"
#include "opt/json_parts.h"
#include "run/machine_json.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static json_t *json_workers(const info *r)
{
    json_t *list = json_array();
    ls_place p;

    for (int w = 0; w < r->workers; w++) {
        ls_mesh_place(r->mesh, w, &p);
        list = json_and(
            list,
            json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "pu", p.pu,
                      "core", p.core, "kind", p.kind, "l3", p.l3, "numa",
                      p.numa, "package", p.package, "device", p.device,
                      "devices", p.devices));
    }
    return list;
}

static json_t *json_roofs(const info *r)
{
    json_t *list = json_array();

    for (int i = 0; i < r->roofs; i++)
        list = json_and(
            list, json_pack("{s:s, s:s, s:f, s:f}", "name", r->roof[i].name,
                            "unit", i + 1 < r->roofs ? "FLOP/s" : "B/s", "one",
                            r->roof[i].one, "all", r->roof[i].all));
    return list;
}

int info_print_json(const info *r)
{
    json_t *o = json_pack("{s:s, s:s}", "program", opt_program_name,
                          "version", ls_version());

    json_t *machine = machine_json(r->mesh, !r->set.topology);
    json_t *plan = json_pack("{s:i, s:o}", "devices", ls_mesh_devices(r->mesh),
                             "workers", json_workers(r));
    int failed = json_object_update_new(o, machine);

    failed |= json_object_update_new(o, plan);
    if (r->seats.of)
        o = json_with(o, "ranks", seats_json(&r->seats));
    if (r->set.measure)
        o = json_with(o, "measured", json_roofs(r));
    if (failed) {
        json_decref(o);
        o = NULL;
    }
    return json_print(o, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
}
