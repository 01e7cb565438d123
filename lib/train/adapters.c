/* Files of a trainer's low-rank adapters (lockstep/lora.h). */
#include "base/error.h"
#include "model/lora_file.h"
#include "train/trainer.h"

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
