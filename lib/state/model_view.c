/* SPDX-License-Identifier: BSD-3-Clause */
/* See model_view.h. */
#include "state/model_view.h"
#include "predict/predictor.h"
#include "train/trainer.h"

static ls__model_view view_of(const ls__model *m, const float *value)
{
    return (ls__model_view){.layout = &m->params, .value = value,
                      .graph = m->graph};
}

ls__model_view ls__view_of_trainer(const ls_trainer *t)
{
    return view_of(&t->model, t->model.value);
}

ls__model_view ls__view_of_predictor(ls_predictor *p)
{
    ls__snapshot *taken = ls__snapshots_take(&p->snapshots);
    ls__model_view v = view_of(&p->model, taken->value);

    ls__predictor_hold(p);
    v.predictor = p;
    v.taken = taken;
    return v;
}

void ls__view_close(ls__model_view *v)
{
    if (v->predictor) {
        ls__snapshots_give(v->taken);
        ls__predictor_drop(v->predictor);
    }
    *v = (ls__model_view){0};
}
