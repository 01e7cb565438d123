/* SPDX-License-Identifier: BSD-3-Clause */
/* See machine_json.h. */
#include "run/machine_json.h"
#include "opt/json_parts.h"

static json_t *levels(const ls_mesh *mesh)
{
    json_t *list = json_array();
    ls_level l;

    for (int i = 0; ls_mesh_level(mesh, i, &l); i++)
        list = json_and(
            list, json_pack("{s:s, s:i, s:I, s:I}", "name", l.name, "count",
                            l.count, "least_bytes", (json_int_t)l.least,
                            "most_bytes", (json_int_t)l.most));
    return list;
}

static json_t *kinds(const ls_mesh *mesh)
{
    json_t *list = json_array();
    ls_core_kind k;

    for (int i = 0; ls_mesh_kind(mesh, i, &k); i++)
        list = json_and(
            list, json_pack("{s:s, s:i, s:i}", "name", k.name, "cores", k.cores,
                            "allowed", k.allowed));
    return list;
}

static json_t *notes(const ls_mesh *mesh)
{
    json_t *list = json_array();

    for (int i = 0; ls_mesh_note(mesh, i); i++)
        list = json_and(list, json_string(ls_mesh_note(mesh, i)));
    return list;
}

static json_t *kernels(void)
{
    json_t *list = json_array();
    ls_isa isa;

    for (int i = 0; ls_isa_level(i, &isa); i++)
        list = json_and(
            list, json_pack("{s:s, s:b, s:b}", "name", isa.name, "here",
                            isa.here, "used", isa.used));
    return list;
}

json_t *machine_json(const ls_mesh *mesh, bool here)
{
    char text[LS_TEXT];
    json_t *o = json_pack(
        "{s:s, s:o, s:o, s:i, s:s, s:s, s:o}", "cpu", ls_mesh_cpu(mesh),
        "levels", levels(mesh), "kinds", kinds(mesh), "usable_cores",
        ls_mesh_usable_cores(mesh), "why", ls_mesh_cores_text(mesh), "mesh",
        ls_mesh_text(mesh), "notes", notes(mesh));

    if (o && here) {
        o = json_with(o, "kernels", kernels());
        ls_blis_text(text);
        o = json_with(o, "blis", json_string(text));
    }
    return o;
}
