/* SPDX-License-Identifier: BSD-3-Clause */
/* The worth of a trial: see trials.h. */
#include "train/trials.h"

#include <stdlib.h>

/* Ask the model that was saved about the rows of the fold. */
static int ask_fold(const session *s, worth *w)
{
    const data *d = &s->run.data;
    int64_t select = s->run.set.model.select;
    ls_predictor *p = NULL;
    float *out = NULL;
    int64_t width;
    int status = opt_check(ls_predictor_load(&p, s->set.save));

    if (status == OPT_GO)
        status = worth_predict(p, &d->fold[0], &out, &width);
    if (status == OPT_GO)
        *w = worth_by(worth_of(d->fold[0].shape[0], width, out,
                               d->fold[1].data, data_target(d)), select,
                      worth_figure(select, d->fold[0].shape[0], width, out,
                                   d->fold[1].data, data_target(d)));
    free(out);
    ls_predictor_close(p);
    return status;
}

int trial_worth(const session *s, worth *w)
{
    const figures *f = &s->eval.figures;
    const data *d = &s->run.data;

    if (d->fold[0].data)
        return ask_fold(s, w);
    if (!f->computed)
        return opt_fail(OPT_WRONG, "--tune: nothing is held back to compare "
                        "by; --valid or --cv");
    *w = worth_by(worth_of(f->rows, f->width, f->out, f->y, data_target(d)),
                  s->run.set.model.select, s->eval.score->stop.best);
    return OPT_GO;
}
