/* SPDX-License-Identifier: BSD-3-Clause */
/* RealMLP, a network for tables with strong defaults (Holzmueller, Grinsztajn,
 * Steinwart, "Better by Default: Strong Pre-Tuned MLPs and Boosted Trees on
 * Tabular Data", NeurIPS 2024): what lockstep-train table and the estimators of
 * lockstep.sklearn train.
 *
 *     ls_realmlp *m;
 *
 *     ls_realmlp_new(&m, coding, NULL);
 *     ls_realmlp_build(m, graph);
 *     options.optimizer = ls_realmlp_optimizer(m);
 *     options.schedule = ls_realmlp_schedule(LS_REALMLP_RATE, steps);
 *     options.decay_schedule = ls_realmlp_schedule(LS_REALMLP_DECAY, steps);
 *     options.dropout_schedule =
 *         ls_realmlp_schedule(LS_REALMLP_DROPOUT, steps);
 *     options.groups = ls_realmlp_groups(m, &options.n_groups);
 *     ls_trainer_open(&trainer, pool, graph, &options);
 *     ls_realmlp_start(m, trainer, pool, &options, &x);
 *
 * Then train for 256 epochs, in batches of 256 rows, and keep the model of the
 * epoch that was best on rows held back, of several the last.  The rows are
 * those of a coding that was learnt with `robust` (lockstep/columns.h).
 * docs/tables.md has the recipe in words.
 *
 * Of liblockstep_data: link with -llockstep_data (pkg-config lockstep_data). */
#ifndef LOCKSTEP_REALMLP_H
#define LOCKSTEP_REALMLP_H

#include <lockstep/columns.h>
#include <lockstep/trainer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The paper's two recipes; TD-S has less. */
typedef enum ls_realmlp_recipe {
    LS_REALMLP_TD, LS_REALMLP_TD_S
} ls_realmlp_recipe;

/* Options: changes to the recipe. */
typedef struct ls_realmlp_options {
    size_t size; /* ls_realmlp_defaults() writes it */
    ls_realmlp_recipe recipe;
    int hidden;           /* layers; below 0: three of 256 */
    const int64_t *width; /* [hidden] */
    ls_node *(*activate)(ls_node *x); /* NULL: ls_selu of classes, ls_mish of
                             numbers */
    double dropout;       /* below 0: 0.15, TD-S none */
    double periodic;      /* deviation of the frequencies of numbers, 0: there
                             are none; below 0: 0.1, TD-S none */
    double smoothing;     /* share of a label that all classes get; below 0:
                             0.1 */
    int64_t members;      /* networks that are trained side by side, each with
                             first values and dropout of its own, and predict
                             the mean: of probabilities, or of numbers */
    double low, high;     /* the least and the greatest target trained on, as
                             the model sees it: TD's numbers stay between */
    bool rounds;          /* inputs are rounded to bf16 */
    bool calibrated;      /* the logits that are put out are divided by a
                             buffer "temperature", one for each class: set
                             all to what ls_temperature gives once they are
                             trained.  Of numbers it has no effect */
} ls_realmlp_options;

/* Returns options for one network as TD has it. */
LS_API void ls_realmlp_defaults_bytes(ls_realmlp_options *options, size_t size);
static inline ls_realmlp_options ls_realmlp_defaults(void)
{
    ls_realmlp_options o;

    ls_realmlp_defaults_bytes(&o, sizeof o);
    return o;
}

typedef struct ls_realmlp ls_realmlp;

/* Make the description of a network for rows of a coding, which is borrowed
 * until ls_realmlp_free; options NULL means the defaults.  LS_EINVAL: the
 * options make no sense, or the coding is of a series; LS_ENOMEM. */
LS_API int ls_realmlp_new(ls_realmlp **realmlp, const ls_coding *coding,
                          const ls_realmlp_options *options);

/* Free it; NULL is accepted. */
LS_API void ls_realmlp_free(ls_realmlp *realmlp);

/* Build the network in an empty graph: inputs "x" (ls_coding_width) and "y",
 * the classes, LS_I32, or the numbers, LS_F32 (1); a loss; and the output
 * "logits" of classes, "prediction" of numbers.  Layers are "layers.<i>", of
 * several members "m<k>.layers.<i>".  Errors stick to the graph. */
LS_API void ls_realmlp_build(const ls_realmlp *realmlp, ls_graph *graph);

/* Returns adamw as the recipe has it: its lr is 0.04 for classes, 0.2 for
 * numbers, TD-S 0.07. */
LS_API ls_optimizer ls_realmlp_optimizer(const ls_realmlp *realmlp);

/* Settings that change over the steps of a training. */
typedef enum ls_realmlp_course {
    LS_REALMLP_RATE, LS_REALMLP_DECAY, LS_REALMLP_DROPOUT
} ls_realmlp_course;

/* Returns the schedule of the rate, or the share of weight decay or dropout. */
LS_API ls_schedule ls_realmlp_schedule(ls_realmlp_course course, int64_t steps);

/* Returns the groups of its parameters, *count of them, which live until it is
 * freed. */
LS_API const ls_group *ls_realmlp_groups(const ls_realmlp *realmlp, int *count);

/* Give the parameters of a trainer of its graph the first values that depend on
 * rows: x (rows, ls_coding_width), LS_F32, those that are trained on.  options
 * are what the trainer was opened with; pool as for ls_trainer_open.  What
 * ls_trainer_open and ls_predict give. */
LS_API int ls_realmlp_start(const ls_realmlp *realmlp, ls_trainer *trainer,
                            ls_pool *pool, const ls_trainer_options *options,
                            const ls_array *x);

/* Returns the temperature by which to divide logits (rows, classes) so that the
 * log loss of these rows, which no training saw, is the least (Guo et al.
 * 2017), as if there were one row more, of all classes alike: a golden-section
 * search from e^-4 to e^4, the same on every machine.
 * Rows with a label below 0 do not count; 1 where none does, or a logit is no
 * number. */
LS_API double ls_temperature(int64_t rows, int64_t classes, const float *logits,
                             const int32_t *label);

/* Returns the mean over these rows of -log of the probability of the label, of
 * logits that are divided by the temperature.  NaN: no row counts. */
LS_API double ls_log_loss(int64_t rows, int64_t classes, const float *logits,
                          const int32_t *label, double temperature);

#ifdef __cplusplus
}
#endif

#endif
