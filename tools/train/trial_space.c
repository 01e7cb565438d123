/* SPDX-License-Identifier: BSD-3-Clause */
/* RealMLP's space of options (Holzmueller et al. 2024, with pytabkit's
 * probabilities), as far as it is one of options here: what of the paper's is
 * left out are two other embeddings of numbers, a network without scale, and
 * the options that a recipe or a target does not take.
 * Trial t of a seed has the same options whatever was tried before. */
#include "model/selection.h"
#include "train/trials.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 3, TUNE_KEY = 0x74756e65 };

/* One of some words, each with a probability; or 0 with a probability, and else
 * a number between two, log-uniform. */
typedef struct choice {
    const char *option;
    const char *word[WORDS];
    double share[WORDS];
    double zero, low, high;
} choice;

static const choice space[] = {
    {.option = "lr", .low = 0.02, .high = 0.3},
    {"dropout", {"0", "0.15", "0.3"}, {0.3, 0.5, 0.2}, 0, 0, 0},
    {"optimizer:weight-decay", {"0", "0.02"}, {0.5, 0.5}, 0, 0, 0},
    {"activation", {"relu", "selu", "mish"}, {1. / 3, 1. / 3, 1. / 3}, 0, 0, 0},
    {"hidden", {"256,256,256", "64,64,64,64,64", "512"}, {0.6, 0.2, 0.2},
     0, 0, 0},
    {"smoothing", {"0", "0.1"}, {0.3, 0.7}, 0, 0, 0},
    {.option = "recipe:periodic", .zero = 0.25, .low = 0.05, .high = 0.5},
};

enum { CHOICES = sizeof space / sizeof *space };

/* The value that two uniform numbers draw, in room or the row's own. */
static const char *draw(const choice *c, const float *u, char room[32])
{
    double x = (double)u[0];
    int i = 0;

    if (c->word[0]) {
        while (i < WORDS - 1 && c->word[i + 1] && x >= c->share[i])
            x -= c->share[i++];
        return c->word[i];
    }
    if (x < c->zero)
        return "0";
    x = log(c->low) + (double)u[1] * (log(c->high) - log(c->low));
    snprintf(room, 32, "%.4g", exp(x));
    return room;
}

/* Is it one that the recipe, the target or another option leaves without
 * effect, so that a training refuses it? */
static bool is_idle(const session *s, const opt *o)
{
    if (!strcmp(o->name, "smoothing") &&
        select_of_probabilities(s->run.set.model.select))
        return true;
    return (o->marks & model_table_idle(&s->run.set.model)) ||
           !opt_is_of_chosen(&s->run.line, o);
}

/* Value i of a trial; NULL: the command line says it, or nothing does. */
static const char *value_of(const session *s, int64_t trial, int i, int *at,
                            char room[32])
{
    ls_key key = ls_key_fold_in(ls_key_new(s->run.how.seed), TUNE_KEY);
    float u[2];

    *at = opt_find(&s->run.program, space[i].option);
    if (*at < 0 || s->run.line.given[*at] ||
        is_idle(s, &s->run.program.option[*at]))
        return NULL;
    ls_random_uniform(ls_key_fold_in(key, (uint32_t)trial), (uint64_t)(2 * i),
                      2, 0, 1, u);
    return draw(&space[i], u, room);
}

static size_t add(char text[TRIAL_TEXT], size_t used, const char *name,
                  const char *value)
{
    const char *part = strchr(name, ':');
    size_t more = (size_t)snprintf(text + used, TRIAL_TEXT - used,
                                   "%s--%.*s %s%s%s", used ? " " : "",
                                   (int)strcspn(name, ":"), name,
                                   part ? part : "", part ? "=" : "", value);

    return used + more < TRIAL_TEXT ? used + more : TRIAL_TEXT - 1;
}

/* Does an option change what a training is?  Files do. */
static bool is_changing(const opt_line *line, int i)
{
    const opt *o = &line->program->option[i];

    return line->given[i] && opt_is_recorded(o) && !(o->marks & NO_TRIAL);
}

static size_t add_given(const run *r, char text[TRIAL_TEXT], size_t used)
{
    for (int i = 0; i < r->program.count; i++) {
        const opt *o = &r->program.option[i];
        char *value = opt_is_part(o) ? NULL
                                     : opt_spelt(&r->line, i, is_changing);

        if (value && *value)
            used = add(text, used, o->name, value);
        free(value);
    }
    return used;
}

void trial_text(const session *s, int64_t trial, char text[TRIAL_TEXT])
{
    char room[32];
    size_t used = 0;
    int at;

    *text = 0;
    snprintf(room, sizeof room, "%lld", (long long)s->set.cv);
    if (s->set.cv)
        used = add(text, used, "cv", room);
    used = add_given(&s->run, text, used);
    for (int i = 0; i < CHOICES && trial; i++) {
        const char *value = value_of(s, trial, i, &at, room);

        if (value)
            used = add(text, used, space[i].option, value);
    }
    for (char *c = text; *c; c++)
        *c = *c == '"' ? '\'' : *c; /* it is to stand in quotes */
}

int trial_target(session *s)
{
    settings set = s->run.set;
    data d = {.quiet = s->set.tune || s->set.save};
    int status = s->run.model->load(&d, &set, &s->run.line);

    s->run.set.model.regression = set.model.regression;
    data_free(&d);
    return status;
}

int trial_store(session *s, int64_t trial)
{
    opt_line *line = &s->run.line;
    const char *value[CHOICES];
    char room[CHOICES][32];
    int at[CHOICES], status = OPT_GO;

    for (int i = 0; i < CHOICES; i++)
        value[i] = trial ? value_of(s, trial, i, &at[i], room[i]) : NULL;
    for (int i = 0; i < CHOICES && status == OPT_GO; i++)
        if (value[i]) {
            line->given[at[i]] = true;
            status = opt_store(&s->run.program.option[at[i]], value[i]);
        }
    return status;
}
