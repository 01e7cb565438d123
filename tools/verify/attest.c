/* SPDX-License-Identifier: BSD-3-Clause */
/* See attest.h. */
#include "verify/attest.h"
#include "opt/json_parts.h"
#include "opt/opt.h"
#include "run/output_json.h"

static const char STATEMENT[] = "https://in-toto.io/Statement/v1";
static const char PREDICATE[] = "https://lockstep/verified-training/v2";

static json_t *materials(const published *p)
{
    json_t *all = json_array(), *one;
    size_t i;

    json_array_foreach (json_object_get(p->head, "data"), i, one)
        all = json_and(
            all, json_pack("{s:O,s:{s:O},s:{s:O}}", "name",
                           json_object_get(one, "name"), "digest", "sha256",
                           json_object_get(one, "sha256"), "annotations",
                           "role", json_object_get(one, "role")));
    return all;
}

static json_t *predicate(const published *p, const attested *how)
{
    return json_pack(
        "{s:s,s:O,s:O,s:O,s:s,s:s,s:s,s:I,s:{s:b,s:I,s:I,s:s},s:o}", "program",
        published_text(p, "program"), "bits", json_object_get(p->head, "bits"),
        "options", json_object_get(p->head, "options"), "graph",
        json_object_get(p->head, "graph"), "transcript", p->facts.file, "root",
        p->facts.root, "contents", p->facts.contents, "batches",
        (json_int_t)p->facts.batches, "replayed", "whole", how->whole,
        "batches", (json_int_t)how->trained, "of",
        (json_int_t)p->facts.batches, "by", ls_version(), "materials",
        materials(p));
}

int attest_write(const char *path, const published *p, const char *model_name,
                 const attested *how)
{
    return output_json(
        path,
        json_pack("{s:s,s:[{s:s,s:{s:s}}],s:s,s:o}", "_type", STATEMENT,
                  "subject", "name", model_name, "digest", "sha256",
                  p->facts.model, "predicateType", PREDICATE, "predicate",
                  predicate(p, how)),
        JSON_INDENT(2));
}
