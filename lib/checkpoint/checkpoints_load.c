/* SPDX-License-Identifier: BSD-3-Clause */
/* Going on from a run's checkpoints: the newest that can be read, and what of
 * it is another now. */
#include "base/error.h"
#include "base/assert.h"
#include "checkpoint/checkpoints.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The files hold what a trainer of this model would write, in its order. */
static int check_array(const ls__checkpoint *from, const ls__safetensor *want,
                       const ls_entry *e)
{
    char is[LS__SHAPE_TEXT], was[LS__SHAPE_TEXT];

    if (strcmp(want->name, e->name))
        return ls__fail(LS_ENOTFOUND, "%s: the model has \"%s\" where the "
                        "checkpoint has \"%s\"", from->folder, want->name,
                        e->name);
    if (want->rank != e->rank ||
        memcmp(want->shape, e->shape, (size_t)e->rank * sizeof *e->shape))
        return ls__fail(LS_ESHAPE, "%s: \"%s\" is %s, but was %s in the "
                        "checkpoint", from->folder, e->name,
                        ls__shape_text(is, want->rank, want->shape),
                        ls__shape_text(was, e->rank, e->shape));
    return strcmp(e->dtype, "F32")
               ? ls__fail(LS_EFORMAT, "%s: \"%s\" is of type %s", from->folder,
                          e->name, e->dtype)
               : 0;
}

static int check_arrays(const ls_checkpoints *c, const ls__checkpoint *from)
{
    int params = c->layout->count;
    int n = c->blocks * params, status = 0;

    if (from->params.count != params || from->optimizer.count != n - params)
        return ls__fail(LS_ESHAPE, "%s: %d parameters and %d moments, but were "
                        "%d and %d in the checkpoint", from->folder, params,
                        n - params, from->params.count, from->optimizer.count);
    for (int i = 0; i < n && status == 0; i++)
        status = check_array(from, &c->tensor[i],
                             i < params ? &from->params.entry[i]
                                        : &from->optimizer.entry[i - params]);
    return status;
}

/* The destination of a block: on one machine the trainer, else the copy, to be
 * dealt out. */
static float *target(const ls_checkpoints *c, int b)
{
    return ls__spread_is(c->trainer) ? c->copy[b]
                                     : ls__state_write(c->trainer, b);
}

/* All is checked: from here on nothing can fail. */
static void take(ls_checkpoints *c, ls__checkpoint *from)
{
    const ls__params *p = c->layout;

    for (int b = 0; b < c->blocks; b++) {
        float *to = target(c, b);

        for (int i = 0; i < p->count; i++) {
            const ls_entry *e = b ? &from->optimizer.entry[(b - 1) * p->count
                                                           + i]
                                  : &from->params.entry[i];

            LS__ASSERT(e->bytes == p->slot[i].size * (int64_t)sizeof *to);
            memcpy(to + p->slot[i].offset, e->data, (size_t)e->bytes);
        }
    }
    json_decref(c->loaded);
    c->loaded = json_incref(from->notes);
}

static json_t *nodes_of(const ls_checkpoints *c)
{
    return json_object_get(c->graph, "nodes");
}

/* c->differs is of this one from here on. */
static int compare(ls_checkpoints *c, ls__checkpoint *from, ls__comparison *how)
{
    int status;

    json_decref(c->differs);
    c->differs = how->changed = json_object();
    if (!how->changed)
        return ls__no_memory("changed options", sizeof(void *));
    if ((status = ls__checkpoint_compare(how, c->options, from->options,
                                         false)) < 0 ||
        (status = ls__checkpoint_arrays(from)) < 0 ||
        (status = check_arrays(c, from)) < 0)
        return status;
    return ls__checkpoint_compare(how, nodes_of(c), from->nodes, true);
}

static int load_folder(ls_checkpoints *c, const char *folder, int64_t *step)
{
    ls__checkpoint from = {0};
    ls__comparison how = {.folder = folder, .may_change = c->may_change};
    int status = ls__checkpoint_open(&from, folder);

    if (status == 0 && (status = compare(c, &from, &how)) == 0) {
        take(c, &from);
        *step = from.step;
    }
    ls__checkpoint_close(&from);
    return status;
}

static int load(ls_checkpoints *c, ls__stamp stamp, int64_t *step)
{
    size_t room = strlen(c->dir.path) + LS__STAMP_TEXT + 1;
    char *folder = ls__new(room, 1, "file name"), name[LS__STAMP_TEXT];
    int status;

    if (!folder)
        return LS_ENOMEM;
    ls__stamp_text(name, stamp);
    snprintf(folder, room, "%s/%s", c->dir.path, name);
    status = load_folder(c, folder, step);
    free(folder);
    return status;
}

/* Another file may be good where one is damaged or cannot be read; no other one
 * helps where the options differ. */
static bool is_damage(int status)
{
    return status == LS_EFORMAT || status == LS_EIO || status == LS_ENOTSUP;
}

static void note_skipped(ls_checkpoints *c)
{
    if (!*c->skipped) /* the newest says most */
        snprintf(c->skipped, sizeof c->skipped, "%s", ls_errmsg());
}

/* List what stands under the path: the open folder is the thread's while it is
 * BUSY. */
static int list_all(const ls_checkpoints *c, ls__stamp **list, int *count)
{
    return ls__checkpoint_list(AT_FDCWD, c->dir.path, list, count);
}

/* The newest of fewer updates that can be read; *step stays where there is
 * none. */
static int load_newest(ls_checkpoints *c, int64_t before, int64_t *step)
{
    ls__stamp *list;
    int count, i, status = list_all(c, &list, &count);

    if (status < 0)
        return status;
    *c->skipped = 0;
    for (i = count - 1; i >= 0; i--) {
        if (list[i].step >= before)
            continue;
        status = load(c, list[i], step);
        if (!is_damage(status))
            break;
        note_skipped(c);
    }
    free(list);
    if (is_damage(status))
        return ls__fail(LS_EFORMAT, "%s: of %d checkpoint%s none can be read; "
                        "the newest: %s", c->dir.path, count, ls__s(count),
                        c->skipped);
    return status;
}

static int load_before(ls_checkpoints *c, int64_t before, int64_t *step)
{
    int64_t found = -1;
    int status = 0;

    if (c->started && ls__spread_is(c->trainer))
        ls__checkpoints_idle(c); /* it needs the copy */
    if (c->started)
        status = load_newest(c, before, &found);
    if (ls__spread_is(c->trainer))
        status = ls__checkpoints_deal(c, status, &found);
    if (status < 0)
        return status;
    if (found >= 0)
        ls__checkpoints_set(c, found);
    *step = found;
    return 0;
}

int ls_checkpoints_load(ls_checkpoints *c, int64_t *step)
{
    LS__NEED_AS(c, "checkpoints", LS_EINVAL);
    LS__NEED(step);
    return load_before(c, INT64_MAX, step);
}

int ls_checkpoints_back(ls_checkpoints *c, int64_t before, int64_t *step)
{
    LS__NEED_AS(c, "checkpoints", LS_EINVAL);
    LS__NEED(step);

    int status;

    if (c->started)
        ls__checkpoints_idle(c); /* the folder is the thread's until then */
    if ((status = load_before(c, before, step)) < 0 || *step < 0)
        return status;
    return ls__spread_agree(c->trainer,
                            c->started ? ls__checkpoint_drop(&c->dir, *step)
                                       : 0);
}

int ls_checkpoints_count(const ls_checkpoints *c)
{
    LS__NEED_AS(c, "checkpoints", LS_EINVAL);

    ls__stamp *list = NULL;
    int count = 0, status = c->started ? list_all(c, &list, &count) : 0;

    free(list);
    status = ls__spread_agree(c->trainer, status);
    if (status == 0 && ls__spread_is(c->trainer))
        status = ls__spread_tell(c->trainer, &count, sizeof count);
    return status < 0 ? status : count;
}

const char *ls_checkpoints_note(const ls_checkpoints *c, const char *name)
{
    LS__NEED_AS(c, "checkpoints", NULL);
    LS__NEED_OR(name, NULL);
    return json_string_value(json_object_get(c->loaded, name));
}

bool ls_checkpoints_change(const ls_checkpoints *c, int i, ls_change *change)
{
    LS__NEED_AS(c, "checkpoints", false);
    LS__NEED_OR(change, false);

    const char *name;
    json_t *was;

    json_object_foreach(c->differs, name, was)
        if (i-- == 0) {
            json_t *is = json_object_get(c->options, name);

            is = is ? is : json_object_get(nodes_of(c), name);
            *change = (ls_change){name, json_string_value(is),
                                  json_string_value(was)};
            return true;
        }
    return false;
}

const char *ls_checkpoints_skipped(const ls_checkpoints *c)
{
    LS__NEED_AS(c, "checkpoints", NULL);
    return *c->skipped ? c->skipped : NULL;
}
