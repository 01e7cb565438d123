/* SPDX-License-Identifier: BSD-3-Clause */
/* See attest.h. */
#include "verify/attest.h"
#include "opt/opt.h"
#include "run/output_json.h"

static const char STATEMENT[] = "https://in-toto.io/Statement/v1";
static const char PREDICATE[] = "https://lockstep/verified-training/v1";

static json_t *materials(const published *p)
{
    json_t *all = json_array(), *one;
    size_t i;

    json_array_foreach (json_object_get(p->head, "data"), i, one)
        json_array_append_new(
            all, json_pack("{s:O,s:{s:O}}", "name",
                           json_object_get(one, "name"), "digest", "sha256",
                           json_object_get(one, "sha256")));
    return all;
}

static json_t *predicate(const published *p, int replayed, int segments)
{
    return json_pack(
        "{s:s,s:O,s:O,s:O,s:s,s:s,s:I,s:{s:i,s:i,s:s},s:o}", "program",
        published_text(p, "program"), "bits", json_object_get(p->head, "bits"),
        "options", json_object_get(p->head, "options"), "graph",
        json_object_get(p->head, "graph"), "transcript", p->facts.file, "root",
        p->facts.root, "batches", (json_int_t)p->facts.batches, "replayed",
        "segments", replayed, "of", segments, "by", ls_version(), "materials",
        materials(p));
}

int attest_write(const char *path, const published *p, const char *model_name,
                 int replayed, int segments)
{
    if (!*p->facts.model)
        return opt_fail(OPT_FAILED, "%s: names no model that a statement could "
                        "be about: train with --save", p->path);
    return output_json(
        path,
        json_pack("{s:s,s:[{s:s,s:{s:s}}],s:s,s:o}", "_type", STATEMENT,
                  "subject", "name", model_name, "digest", "sha256",
                  p->facts.model, "predicateType", PREDICATE, "predicate",
                  predicate(p, replayed, segments)),
        JSON_INDENT(2));
}
