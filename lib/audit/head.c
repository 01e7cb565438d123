/* SPDX-License-Identifier: BSD-3-Clause */
/* The head of a transcript. */
#include "audit/head.h"
#include "base/json.h"
#include "base/sha.h"
#include "file/changes.h"
#include "file/line.h"
#include "model/graph_json.h"
#include "trainer/facts.h"

#include <stdlib.h>
#include <string.h>

/* ------ hashes ------ */

/* The hash of a graph's JSON in model files; that of the empty text for a
 * gradient function of the user's, which says nothing. */
static int head_graph(const ls_trainer *t, char hex[LS__HEX])
{
    const ls_graph *graph = ls__state_of(t).graph;
    json_t *said = NULL;
    char *text = NULL;

    if (graph) {
        said = ls__graph_as_filed(graph);
        text = said ? ls__line_write(said) : NULL;
        json_decref(said);
        if (!text)
            return ls__no_memory("a graph's text", 0);
    }
    ls_digest(text ? text : "", text ? strlen(text) : 0, hex);
    free(text);
    return 0;
}

/* The layout of parameters among the floats that a root is a hash of. */
static void hash_layout(const ls__params *p, char hex[LS__HEX])
{
    ls__sha256 sha;

    ls__sha256_init(&sha);
    for (int i = 0; i < p->count; i++) {
        const ls__slot *s = &p->slot[i];

        ls__sha256_update(&sha, s->name, strlen(s->name) + 1);
        ls__sha256_number(&sha, s->rank);
        for (int k = 0; k < s->rank; k++)
            ls__sha256_number(&sha, s->shape[k]);
        ls__sha256_number(&sha, s->offset);
    }
    ls__sha256_number(&sha, p->floats);
    ls__sha256_hex(&sha, hex);
}

/* ------ the line ------ */

json_t *ls__head_all_options(const ls_trainer *t,
                             const ls_transcript_options *o)
{
    return ls__json_with_texts(ls__facts_of_run(t), o->n_settings, o->settings);
}

json_t *ls__head_said(const ls_trainer *t, const char *kind, json_t *options,
                      int64_t chunk_rows)
{
    const ls__state is = ls__state_of(t);
    char layout[LS__HEX];

    hash_layout(is.layout, layout);
    return json_pack("{s:i,s:i,s:s,s:s,s:s,s:s,s:i,s:o,s:I}", "bits", LS_BITS,
                     "devices", is.here.of, "kind", kind, "layout", layout,
                     "lockstep", ls_version(), "maker", "any", "micro",
                     is.micro, "options", options, "plan",
                     (json_int_t)chunk_rows);
}

static json_t *files_array(const ls_transcript_options *o)
{
    json_t *array = json_array();

    for (int i = 0; i < o->n_files; i++) {
        const ls_data_file *f = &o->files[i];

        array = ls__json_and(
            array, json_pack("{s:I,s:s,s:s,s:s}", "bytes",
                             (json_int_t)f->bytes, "name", f->name, "role",
                             f->role ? f->role : f->name, "sha256",
                             f->sha256));
    }
    return array;
}

static json_t *head_line(const ls__chain *c, const ls_trainer *t,
                         const ls_transcript_options *o, const ls__extent *has)
{
    char graph[LS__HEX];
    json_t *line;

    if (head_graph(t, graph) < 0)
        return NULL;
    line = ls__head_said(t, "head", ls__head_all_options(t, o),
                         ls__state_of(t).chunk_rows);
    line = ls__json_with(line, "data", files_array(o));
    line = ls__json_with(line, "every", json_integer(has->every));
    line = ls__json_with(line, "graph", json_string(graph));
    line = ls__json_with(line, "prev", json_string(c->prev));
    line = ls__json_with(line, "program", json_string(o->program));
    line = ls__json_with(line, "sum", json_string(o->sum ? o->sum : ""));
    line = ls__json_with(line, "version", json_integer(LS__TRANSCRIPT_VERSION));
    if (has->rows)
        line = ls__json_with(line, "rows", json_integer(1));
    if (has->gradient)
        line = ls__json_with(line, "gradient", json_integer(1));
    if (o->source)
        line = ls__json_with(line, "source", json_string(o->source));
    return line;
}

/* ------ the file's ------ */

/* Another contract gives other bytes, so nothing behind it can be compared. */
static int check_version(const json_t *file, const char *path)
{
    int64_t version = ls__json_count(file, "version");
    int64_t bits = ls__json_count(file, "bits");

    if (!ls__line_is(file, "head"))
        return ls__fail(LS_EFORMAT, "%s: does not begin with a line \"head\"",
                        path);
    if (version != LS__TRANSCRIPT_VERSION)
        return ls__fail(LS_ENOTSUP, "%s: a transcript of version %lld; this is "
                        "lockstep %s, which knows version %d", path,
                        (long long)version, ls_version(),
                        LS__TRANSCRIPT_VERSION);
    if (bits != LS_BITS)
        return ls__fail(LS_ENOTSUP, "%s: was written under version %lld of the "
                        "contract of bits, by lockstep %s; this is lockstep "
                        "%s, of version %d: the older release can check it",
                        path, (long long)bits, ls__json_word(file, "lockstep"),
                        ls_version(), LS_BITS);
    return 0;
}

static ls__extent extent_of(const json_t *file)
{
    return (ls__extent){.every = ls__json_count(file, "every"),
                        .rows = ls__json_count(file, "rows") == 1,
                        .gradient = ls__json_count(file, "gradient") == 1};
}

/* Tell the difference, `every` last, as it follows from options.  A run that is
 * compared from later on has the options of there: they are compared where the
 * state is, and `every` is the beginning's. */
static bool differs(const json_t *file, const json_t *here, int64_t from,
                    char *what, size_t size)
{
    const char *passed[] = {"every", NULL, NULL};

    if (from >= 0 && !json_equal(json_object_get(file, "options"),
                                 json_object_get(here, "options")))
        passed[1] = "options";
    if (ls__line_differs(file, here, passed, what, size))
        return true;
    if (!passed[1])
        passed[0] = NULL;
    return ls__line_differs(file, here, passed, what, size);
}

static int compare(ls__chain *c, const ls_trainer *t,
                   const ls_transcript_options *o, ls__extent *has,
                   json_t *options)
{
    char what[LS__MESSAGE / 2];
    json_t *file, *here = NULL;
    int status = ls__chain_read(c, &file);

    if (status == 0 && !file)
        status = ls__fail(LS_EFORMAT, "%s: is empty", c->path);
    if (status == 0)
        status = check_version(file, c->path);
    if (status == 0) {
        here = head_line(c, t, o, has);
        *has = extent_of(file);
        if (!here)
            status = ls__no_memory("a transcript's head", 0);
        else if (has->every < 1)
            status = ls__fail(LS_EFORMAT, "%s: its head has no number of "
                              "batches between states", c->path);
        else if (differs(file, here, o->from, what, sizeof what))
            status = ls__fail(LS_EDIFFERS, "%s: line 1 (head): %s", c->path,
                              what);
        else
            status = ls__changes_follow(options, file);
    }
    json_decref(here);
    json_decref(file);
    return status;
}

int ls__head_put(ls__chain *c, const ls_trainer *t,
                 const ls_transcript_options *o, ls__extent *has,
                 json_t *options)
{
    json_t *line;
    char *text;
    int status;

    if (c->compares)
        return compare(c, t, o, has, options);
    line = head_line(c, t, o, has);
    if (line && !ls__line_has_files(line)) {
        json_decref(line);
        return ls__fail(LS_EINVAL, "ls_transcript_open: options.files: names "
                        "and roles are without folders and control characters, "
                        "each role once");
    }
    text = line ? ls__line_write(line) : NULL;
    json_decref(line);
    if (!text)
        return ls__no_memory("a transcript's head", 0);
    status = ls__chain_put(c, text, NULL);
    free(text);
    return status;
}
