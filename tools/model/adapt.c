/* SPDX-License-Identifier: BSD-3-Clause */
/* See adapt.h. */
#include "model/adapt.h"

#include <stdlib.h>
#include <string.h>

int adapt_add(ls_graph *graph, const start_settings *s)
{
    char *text, *rest, *names;
    int status = 0;

    if (!s->lora)
        return 0;
    if (!(text = rest = strdup(s->lora_on)))
        return LS_ENOMEM;
    while (status == 0 && (names = strsep(&rest, ",")))
        status = ls_lora_add(graph, names, s->lora, s->lora_alpha);
    free(text);
    return status;
}

int adapt_start(ls_trainer *trainer, const start_settings *s)
{
    const char *names = s->init_only || !s->lora ? s->init_only : LS_LORA_REST;
    int status = s->init ? ls_trainer_load(trainer, s->init, names) : 0;

    if (status == 0 && s->init && s->lora_init)
        status = ls_lora_load(trainer, s->lora_init);
    return opt_check(status);
}

int adapt_save(const ls_trainer *trainer, const settings *s, const char *path,
               int notes, const ls_setting *note, double temperature)
{
    ls_save_options o = ls_save_defaults();
    ls_onnx *onnx = s->model.network.onnx;

    o.filled = temperature > 0 ? "temperature" : NULL;
    o.fill = (float)temperature;
    if (s->start.lora && s->start.lora_save == ADAPT_MERGED)
        o.kind = LS_SAVE_MERGED;
    else if (s->start.lora && s->start.lora_save == ADAPT_ALONE)
        o.kind = LS_SAVE_ADAPTERS;
    if (onnx && !(o.axes = ls_onnx_axes(onnx)))
        return opt_fail(OPT_FAILED, "%s", ls_errmsg());
    o.n_notes = notes;
    o.notes = note;
    return opt_check(ls_trainer_save_with(trainer, path, &o));
}
