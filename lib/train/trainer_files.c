/* Files of a trainer's parameters: weights, models, PyTorch's, adapters
 * (lockstep/lora.h).  What opens a run again is lib/checkpoint's. */
#include "base/error.h"
#include "base/utf8.h"
#include "model/lora_file.h"
#include "model/model_file.h"
#include "model/norm_fold.h"
#include "model/torch_file.h"
#include "model/weights_file.h"
#include "train/trainer.h"

#include <string.h>

int ls_trainer_save(const ls_trainer *t, const char *path)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(path);
    return ls__weights_save(&t->model, path, NULL, 0, NULL);
}

int ls_trainer_save_model(const ls_trainer *t, const char *path)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(path);
    return ls__model_save(&t->model, path, 0, NULL);
}

int ls_trainer_save_folded(const ls_trainer *t, const char *path)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(path);
    return ls__norm_fold_save(&t->model, path);
}

/* The metadata's own names are those that a reader of the file trusts. */
static int check_note(int i, int notes, const ls_setting *note)
{
    const char *name = note[i].name;

    if (!name || !note[i].value || !ls__utf8_is(name) ||
        !ls__utf8_is(note[i].value))
        return ls__fail(LS_EINVAL, "ls_trainer_save_noted: note %d of %d is "
                        "NULL or not UTF-8", i, notes);
    for (int k = 0; k < i; k++)
        if (!strcmp(note[k].name, name))
            return ls__fail(LS_EINVAL, "ls_trainer_save_noted: two notes are "
                            "named \"%s\"", name);
    if (strcmp(name, "sha256") && strcmp(name, "lockstep") &&
        strcmp(name, "lockstep.crc32") && strcmp(name, LS__GRAPH_KEY))
        return 0;
    return ls__fail(LS_EINVAL, "ls_trainer_save_noted: \"%s\" is a name that "
                    "the file has itself", name);
}

int ls_trainer_save_noted(const ls_trainer *t, const char *path, int notes,
                          const ls_setting *note)
{
    int status = 0;

    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(path);
    if (notes < 0)
        return ls__fail(LS_EINVAL, "ls_trainer_save_noted: %d notes; there may "
                        "be 0 or more", notes);
    if (notes)
        LS__NEED(note);
    for (int i = 0; i < notes && status == 0; i++)
        status = check_note(i, notes, note);
    return status == 0 ? ls__model_save(&t->model, path, notes, note) : status;
}

int ls_trainer_load(ls_trainer *t, const char *path, const char *names)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(path);
    return ls__weights_load(&t->model, path, names);
}

int ls_trainer_load_torch(ls_trainer *t, const char *path, const char *names,
                          const char *layers)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(path);
    return ls__torch_load(&t->model, path, names, layers);
}

/* ------ low-rank adapters ------ */

int ls_lora_save(const ls_trainer *t, const char *path)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(path);
    return ls__lora_save(&t->model, path);
}

int ls_lora_load(ls_trainer *t, const char *path)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(path);
    return ls__lora_load(&t->model, path);
}

int ls_lora_save_merged(const ls_trainer *t, const char *path)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(path);
    return ls__lora_merge(&t->model, path);
}
