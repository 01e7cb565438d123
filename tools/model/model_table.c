/* SPDX-License-Identifier: BSD-3-Clause */
/* table: RealMLP.  Its network, first values and groups are the library's
 * (lockstep/realmlp.h); here options reach it. */
#include "model/model_parts.h"
#include "model/selection.h"

#include <lockstep/realmlp.h>

#include <stdio.h>

const opt_word model_recipes[] = {
    {"td", MODEL_TD}, {"td-s", MODEL_TD_S}, {NULL, 0}};

enum { OF_RECIPE = -1 }; /* an option that was not given */

/* One network scatters where rows are few: so many side by side. */
enum { FEW_ROWS = 1000, OF_FEW = 4 };

/* Make what the settings say; NULL: there is no memory, as ls_errmsg says. */
static ls_realmlp *realmlp(const model_settings *s)
{
    ls_realmlp_options o = ls_realmlp_defaults();
    int64_t widths[MODEL_LAYERS];
    ls_realmlp *m = NULL;

    model_widths("hidden", s->hidden, widths, &o.hidden);
    o.width = widths;
    o.recipe = s->recipe == MODEL_TD_S ? LS_REALMLP_TD_S : LS_REALMLP_TD;
    o.activate = model_activation(s->activation);
    o.dropout = s->dropout;
    o.periodic = s->periodic;
    o.smoothing = s->smoothing;
    o.members = s->ensemble;
    o.low = s->low;
    o.high = s->high;
    o.rounds = s->rounds;
    o.calibrated = s->calibrate;
    ls_realmlp_new(&m, s->coding, &o);
    return m;
}

/* Say what is wrong before anything is opened. */
static int check(const model_settings *s)
{
    ls_realmlp *m = realmlp(s);

    ls_realmlp_free(m);
    return m ? OPT_GO : opt_fail(OPT_WRONG, "%s", ls_errmsg());
}

static void table_build(ls_graph *g, const model_settings *s)
{
    ls_realmlp *m = realmlp(s);

    if (m)
        ls_realmlp_build(m, g); /* else a graph without a loss says so */
    ls_realmlp_free(m);
}

static int table_groups(const model_settings *s, ls_group group[MODEL_GROUPS],
                        char room[MODEL_GROUPS][MODEL_NAME])
{
    ls_realmlp *m = realmlp(s);
    int count = 0;
    const ls_group *of = m ? ls_realmlp_groups(m, &count) : NULL;

    for (int i = 0; i < count; i++) {
        group[i] = of[i];
        snprintf(room[i], MODEL_NAME, "%s", of[i].names);
        group[i].names = room[i];
    }
    ls_realmlp_free(m);
    return count;
}

static double table_lr(const model_settings *s)
{
    ls_realmlp *m = realmlp(s);
    double lr = m ? ls_realmlp_optimizer(m).lr : 0;

    ls_realmlp_free(m);
    return lr;
}

static int table_start(ls_trainer *t, const data *d, const settings *s,
                       const model_means *with)
{
    ls_realmlp *m = realmlp(&s->model);
    int status = m ? ls_realmlp_start(m, t, with->pool, with->options,
                                      &d->input[0].all)
                   : LS_ENOMEM;

    ls_realmlp_free(m);
    return status;
}

/* ------ The rows ------ */

unsigned model_table_idle(const model_settings *s)
{
    return (s->recipe == MODEL_TD_S ? OF_DECAY : 0) |
           (s->regression ? OF_CLASSES : 0);
}

/* Refuse what a recipe or a target leaves without effect. */
static int check_idle(const model_settings *m, const opt_line *line)
{
    unsigned idle = model_table_idle(m);
    int status = OPT_GO;

    if (idle & OF_DECAY)
        status = opt_refuse_idle(line, OF_DECAY, " has no effect on --recipe "
                                 "td-s, which has no weight decay");
    if (status == OPT_GO && m->recipe == MODEL_TD_S &&
        !opt_given(line, "dropout"))
        status = opt_refuse_idle(line, OF_DROPOUT, " needs --dropout with "
                                 "--recipe td-s, which has none");
    return status == OPT_GO && (idle & OF_CLASSES)
               ? opt_refuse_idle(line, OF_CLASSES, " is for classes, and the "
                                 "target is a number")
               : status;
}

/* The least and the greatest target that is trained on.  (gcc 12 for arm64
 * fails on a loop of fmin and fmax.) */
static void find_range(const data *d, model_settings *s)
{
    const float *y = d->input[1].all.data, *low = y, *high = y;

    for (int64_t i = 1; i < d->rows; i++) {
        low = y[i] < *low ? y + i : low;
        high = y[i] > *high ? y + i : high;
    }
    s->low = (double)*low;
    s->high = (double)*high;
}

static int table_load(data *d, settings *s, const opt_line *line)
{
    model_settings *m = &s->model;
    int64_t widths[MODEL_LAYERS];
    int n, status = model_widths("hidden", m->hidden, widths, &n);

    if (status == OPT_GO && !s->data.path)
        status = opt_fail(OPT_WRONG, "table needs --data FILE.csv");
    if (status != OPT_GO)
        return status;
    if (s->data.eval_path && !opt_given(line, "valid"))
        s->data.valid = 0;
    s->data.shuffle = !s->data.no_shuffle;
    if ((status = model_table_rows(d, s, line)) != OPT_GO)
        return status;
    if (!s->data.target)
        s->data.target = data_target(d).name;
    if (!opt_given(line, "ensemble") && d->rows < FEW_ROWS && !m->of_old)
        m->ensemble = OF_FEW;
    if (!opt_given(line, "activation"))
        m->activation = OF_RECIPE;
    if (!opt_given(line, "dropout"))
        m->dropout = OF_RECIPE;
    if (!opt_given(line, "recipe:periodic"))
        m->periodic = OF_RECIPE;
    if (select_of_probabilities(m->select) && !opt_given(line, "smoothing"))
        m->smoothing = 0;
    m->calibrate |= m->select == SELECT_LOGLOSS;
    if (m->regression)
        find_range(d, m);
    status = check_idle(m, line);
    return status == OPT_GO ? check(m) : status;
}

static const model table = {
    .keys = LS_KEYS_NNX,
    .epochs = true,
    .last_best = true,
    .load = table_load,
    .build = table_build,
    .groups = table_groups,
    .lr = table_lr,
    .start = table_start,
};

static const opt_start own[] = {
    {"hidden", "256,256,256"}, {"activation", "selu"}, {"dropout", "0.15"},
    {"batch", "256"}, {"epochs", "256"}, {"valid", "0.2"},
    {"optimizer", "adamw"}, {"lr", "0.04"}, {"optimizer:b2", "0.95"},
    {"optimizer:weight-decay", "0.02"}, {"schedule", "coslog"},
    {"optimizer:decay-schedule", "flat-cosine"},
    {"dropout:schedule", "flat-cosine"},
    {"early-stop", "20"}, {"log-every", "0"}, {NULL, NULL},
};

static const char *const files[] = {".csv", ".csv.gz", ".tsv", ".tsv.gz", NULL};

const opt_model model_table = {
    .name = "table",
    .about = "RealMLP on a table: strong defaults for rows of numbers and "
             "words",
    .note = "--data F.csv is all it needs, and says it where no MODEL is "
            "named: the last\ncolumn is predicted (--target names another), a "
            "fifth of the rows is held back,\nand the weights of the epoch "
            "that was best on them are saved; twenty without a\nbetter one are "
            "the end.  Below 1,000 rows four networks are one model.\n"
            "--recipe td-s is the smaller one of the paper.  lr is that of "
            "the task: 0.04 for\nclasses, 0.2 for numbers (td-s 0.07).",
    .impl = &table,
    .own = own,
    .files = files,
};
