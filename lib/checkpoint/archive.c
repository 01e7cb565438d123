/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of arrays for the header's readers: lists of what the reader of each
 * format has checked and owns. */
#include "base/error.h"
#include "base/assert.h"
#include "base/json.h"
#include "base/sized.h"
#include "checkpoint/checkpoint.h"
#include "model/graph_json.h"
#include "file/convert.h"
#include "state/model_view.h"
#include <lockstep/model.h>
#include <lockstep/predictor.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct ls_archive {
    ls__arena arena;
    char *path;
    ls__checkpoint folder; /* one of these three */
    ls__safetensors file;
    ls__model_view of;            /* of a model in memory */
    char *graph;            /* and what it says */
    char step[24]; /* of a checkpoint */
    int count, pairs;
    ls_entry *entry;
    ls_setting *pair;
};

/* ------ A checkpoint as one list of arrays and one of notes ------ */

static int join_entries(ls_archive *a)
{
    const ls__safetensors *p = &a->folder.params, *o = &a->folder.optimizer;

    a->count = p->count + o->count;
    a->entry = ls__arena_new(&a->arena, (size_t)a->count, sizeof *a->entry);
    if (!a->entry)
        return LS_ENOMEM;
    for (int i = 0; i < a->count; i++)
        a->entry[i] = i < p->count ? p->entry[i] : o->entry[i - p->count];
    return 0;
}

static void add_pair(ls_archive *a, const char *key, const char *value)
{
    a->pair[a->pairs++] = (ls_setting){key, value};
}

static void add_texts(ls_archive *a, json_t *texts)
{
    const char *key;
    json_t *value;

    json_object_foreach(texts, key, value)
        add_pair(a, key, json_string_value(value));
}

static int join_notes(ls_archive *a)
{
    const ls__checkpoint *c = &a->folder;
    size_t n = 2 + json_object_size(c->options) + json_object_size(c->notes);

    a->pair = ls__arena_new(&a->arena, n, sizeof *a->pair);
    if (!a->pair)
        return LS_ENOMEM;
    snprintf(a->step, sizeof a->step, "%lld", (long long)c->step);
    add_pair(a, "step", a->step);
    add_pair(a, "state", c->state);
    add_texts(a, c->options);
    add_texts(a, c->notes);
    LS__ASSERT(a->pairs == (int)n);
    return 0;
}

/* The folder that holds them, where one of them was meant? */
static int not_one(const ls_archive *a, int status)
{
    char name[LS__STAMP_TEXT];
    ls__stamp *list;
    int count;
    int listed = ls__checkpoint_list(AT_FDCWD, a->path, &list, &count);

    if (listed < 0)
        return listed;
    if (count) {
        ls__stamp_text(name, list[count - 1]);
        status = ls__fail(LS_EFORMAT, "%s: holds %d checkpoint%s; the newest "
                          "is %s/%s", a->path, count, ls__s(count),
                          a->path, name);
    }
    free(list);
    return status;
}

static int open_folder(ls_archive *a)
{
    int status = ls__checkpoint_open(&a->folder, a->path);

    if (status == LS_EFORMAT)
        return not_one(a, status);
    if (status == 0)
        status = ls__checkpoint_arrays(&a->folder);
    if (status == 0)
        status = join_entries(a);
    return status < 0 ? status : join_notes(a);
}

static int open_file(ls_archive *a)
{
    int status = ls__safetensors_read(&a->file, a->path);

    a->count = a->file.count;
    a->entry = a->file.entry;
    a->pairs = a->file.pairs;
    a->pair = a->file.pair;
    return status;
}

/* ------ A model in memory ------ */

static int list_params(ls_archive *a)
{
    const ls__params *p = a->of.layout;

    a->path = ls__arena_text(&a->arena, "a model in memory");
    a->entry = ls__arena_new(&a->arena, (size_t)p->count, sizeof *a->entry);
    if (!a->path || !a->entry)
        return LS_ENOMEM;
    for (; a->count < p->count; a->count++) {
        const ls__slot *s = &p->slot[a->count];
        ls_entry *e = &a->entry[a->count];

        *e = (ls_entry){.name = s->name, .dtype = "F32", .rank = s->rank,
                        .elements = s->size, .bytes = 4 * s->size,
                        .data = a->of.value + s->offset};
        memcpy(e->shape, s->shape, sizeof s->shape);
    }
    return 0;
}

static int note_graph(ls_archive *a)
{
    json_t *said = ls__graph_said(a->of.graph, false);

    a->graph = said ? ls__json_text(said, JSON_COMPACT) : NULL;
    a->pair = ls__arena_new(&a->arena, 1, sizeof *a->pair);
    json_decref(said);
    if (!a->graph)
        return ls__no_memory("a graph's JSON", 0);
    if (!a->pair)
        return LS_ENOMEM;
    add_pair(a, LS__GRAPH_KEY, a->graph);
    return 0;
}

/* Hand it out with the graph and the parameters of a model. */
static int open_view(ls_archive **archive, ls__model_view of)
{
    ls_archive *a = ls__new(1, sizeof *a, "archive");
    int status;

    if (!a) {
        ls__view_close(&of);
        return LS_ENOMEM;
    }
    a->of = of;
    status = list_params(a);
    if (status == 0 && of.graph)
        status = note_graph(a);
    if (status < 0)
        ls_archive_close(a);
    else
        *archive = a;
    return status;
}

int ls_archive_of_trainer(ls_archive **archive, const ls_trainer *t)
{
    LS__NEED(archive);
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    return open_view(archive, ls__view_of_trainer(t));
}

int ls_archive_of_predictor(ls_archive **archive, ls_predictor *p)
{
    LS__NEED(archive);
    LS__NEED_AS(p, "predictor", LS_EINVAL);
    return open_view(archive, ls__view_of_predictor(p));
}

/* ------ All of them ------ */

static int open_path(ls_archive *a, const char *path)
{
    struct stat info;

    a->path = ls__arena_text(&a->arena, path);
    if (!a->path)
        return LS_ENOMEM;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode) ? open_folder(a)
                                                           : open_file(a);
}

int ls_archive_open(ls_archive **archive, const char *path)
{
    LS__NEED(archive);
    LS__NEED(path);

    ls_archive *a = ls__new(1, sizeof *a, "archive");
    int status;

    if (!a)
        return LS_ENOMEM;
    if ((status = open_path(a, path)) < 0) {
        ls_archive_close(a);
        return status;
    }
    *archive = a;
    return 0;
}

void ls_archive_close(ls_archive *a)
{
    if (!a)
        return;
    ls__checkpoint_close(&a->folder);
    ls__safetensors_free(&a->file);
    ls__view_close(&a->of);
    free(a->graph);
    ls__arena_free(&a->arena);
    free(a);
}

int ls_archive_entries(const ls_archive *a)
{
    LS__NEED_AS(a, "archive", 0);
    return a->count;
}

bool ls_archive_entry_bytes(const ls_archive *a, int i, ls_entry *entry,
                            size_t size)
{
    LS__NEED_AS(a, "archive", false);
    LS__NEED_OR(entry, false);
    if (i < 0 || i >= a->count)
        return false;
    ls__sized_put(entry, size, &a->entry[i], sizeof *entry);
    return true;
}

int ls_archive_read(const ls_archive *a, int i, int64_t n, float *out)
{
    LS__NEED_AS(a, "archive", LS_EINVAL);
    LS__NEED(out);

    ls_entry e;
    int status;

    if (!ls_archive_entry(a, i, &e))
        return ls__fail(LS_EINVAL, "%s: there is no array %d of %d", a->path,
                        i, a->count);
    if ((status = ls__convert_check(&e, a->path)) < 0)
        return status;
    if (n != e.elements)
        return ls__fail(LS_ESHAPE, "%s: tensor \"%s\" has %lld element%s, not "
                        "%lld", a->path, e.name, (long long)e.elements,
                        ls__s(e.elements), (long long)n);
    ls__convert(&e, out);
    return 0;
}

bool ls_archive_note(const ls_archive *a, int i, const char **name,
                     const char **value)
{
    LS__NEED_AS(a, "archive", false);
    LS__NEED_OR(name, false);
    LS__NEED_OR(value, false);
    if (i < 0 || i >= a->pairs)
        return false;
    *name = a->pair[i].name;
    *value = a->pair[i].value;
    return true;
}
