/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of a trainer's parameters: weights, models, adapters
 * (lockstep/lora.h).  What opens a run again is lib/checkpoint's. */
#include "base/error.h"
#include "base/sized.h"
#include "base/utf8.h"
#include "model/graph_json.h"
#include "weights/file_axes.h"
#include "weights/lora_file.h"
#include "weights/model_file.h"
#include "weights/weights_file.h"
#include "state/trainer_state.h"
#include <lockstep/lora.h>
#include <lockstep/model.h>

#include <stdlib.h>
#include <string.h>

int ls_trainer_save(const ls_trainer *t, const char *path)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(path);

    const ls__model_view of = ls__view_of_trainer(t);

    return ls__weights_save(&of, path, NULL, 0, NULL);
}

int ls_trainer_save_model(const ls_trainer *t, const char *path)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(path);

    const ls__model_view of = ls__view_of_trainer(t);

    return ls__model_save(&of, path, 0, NULL);
}

/* The metadata's own names are those that a reader of a file trusts. */
static bool is_own(const char *name)
{
    static const char *const own[] = {"sha256", "lockstep", "lockstep.crc32",
                                      LS__GRAPH_KEY, LS__LORA_KEY,
                                      LS__AXES_KEY};

    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!strcmp(name, own[i]))
            return true;
    return false;
}

static int check_note(const char *function, int i, int notes,
                      const ls_setting *note)
{
    const char *name = note[i].name;

    if (!name || !note[i].value || !ls__utf8_is(name) ||
        !ls__utf8_is(note[i].value))
        return ls__fail(LS_EINVAL, "%s: note %d of %d is NULL or not UTF-8",
                        function, i, notes);
    for (int k = 0; k < i; k++)
        if (!strcmp(note[k].name, name))
            return ls__fail(LS_EINVAL, "%s: two notes are named \"%s\"",
                            function, name);
    if (!is_own(name))
        return 0;
    return ls__fail(LS_EINVAL, "%s: \"%s\" is a name that files have "
                    "themselves", function, name);
}

static int check_notes(const char *function, int notes, const ls_setting *note)
{
    int status = 0;

    if (notes < 0)
        return ls__fail(LS_EINVAL, "%s: %d notes; there may be 0 or more",
                        function, notes);
    if (notes && !note)
        return ls__null(function, "notes");
    for (int i = 0; i < notes && status == 0; i++)
        status = check_note(function, i, notes, note);
    return status;
}

LS__DEFAULTS(ls_save_options, ls_save_defaults_bytes)

/* The values with one parameter filled, to be freed. */
static int fill(const ls__model_view *of, const ls_save_options *o,
                float **value)
{
    const ls__slot *s = ls__params_find(of->layout, o->filled);
    size_t bytes = (size_t)of->layout->floats * sizeof **value;

    if (!s)
        return LS_ENOTFOUND;
    if (!(*value = ls__new(1, bytes, "values of a file")))
        return LS_ENOMEM;
    memcpy(*value, of->value, bytes);
    for (int64_t i = 0; i < s->size; i++)
        (*value)[s->offset + i] = o->fill;
    return 0;
}

typedef int save_fn(const ls__model_view *of, const char *path, int notes,
                    const ls_setting *note);

int ls_trainer_save_with(const ls_trainer *t, const char *path,
                         const ls_save_options *options)
{
    static save_fn *const writers[] = {[LS_SAVE_MODEL] = ls__model_save,
                                       [LS_SAVE_ADAPTERS] = ls__lora_save,
                                       [LS_SAVE_MERGED] = ls__lora_merge};
    _Static_assert(sizeof writers / sizeof *writers == LS_SAVE_MERGED + 1,
                   "a writer of each kind");
    ls_save_options o = ls_save_defaults();
    float *value = NULL;
    ls__model_view of;
    int status;

    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(path);
    LS__NEED(options);
    status = ls__sized_take("save", &o, sizeof o, options);
    if (status < 0)
        return status;
    if ((int)o.kind < 0 || (size_t)o.kind >= sizeof writers / sizeof *writers)
        return ls__fail(LS_EINVAL, "%s: kind is %d, which is none", __func__,
                        (int)o.kind);
    status = check_notes(__func__, o.n_notes, o.notes);
    of = ls__view_of_trainer(t);
    of.axes = o.axes;
    if (status == 0 && o.filled)
        status = fill(&of, &o, &value);
    if (value)
        of.value = value;
    if (status == 0)
        status = writers[o.kind](&of, path, o.n_notes, o.notes);
    free(value);
    return status;
}

int ls_trainer_load(ls_trainer *t, const char *path, const char *names)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(path);
    return ls__weights_load(ls__state_of(t).layout, ls__state_set(t, 0), path,
                            names);
}
