/* SPDX-License-Identifier: BSD-3-Clause */
/* Layers that normalise: a position, a group of channels, a channel. */
#ifndef LOCKSTEP_NORMS_H
#define LOCKSTEP_NORMS_H

#include <lockstep/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* y = (x - mean) / sqrt(var + 1e-6) * scale + bias over the last axis, with
 * var = max(0, E[x^2] - mean^2) as Flax has it: one pass over x, which loses
 * digits where the mean is large beside the deviation.  The greatest error of
 * y, 4,096 rows of 64 normal numbers of deviation 1, beside two passes:
 *
 *     mean          0       10      100     1,000   10,000
 *     one pass      6e-7    6e-5    5e-3    0.6     4,500
 *     two_passes    5e-7    2e-6    1e-5    9e-5    1.4e-3
 *
 * Parameters "<name>.scale" ones, "<name>.bias" zeros. */
LS_API ls_node *ls_layer_norm(ls_node *x, const char *name);

/* More of a layer norm, or of a group norm; ls_norm_defaults() writes what
 * those have. */
typedef struct ls_norm_options {
    size_t size;    /* ls_norm_defaults() writes it */
    double epsilon; /* added to the variance, 1e-6; 0 and above.  PyTorch has
                       1e-5: a network that was trained there needs it */
    bool two_passes; /* var = E[(x - mean)^2], as PyTorch and ONNX Runtime make
                        it: for a network from there */
} ls_norm_options;

/* Write the default options into the program's struct of `size` bytes. */
LS_API void ls_norm_defaults_bytes(ls_norm_options *options, size_t size);
static inline ls_norm_options ls_norm_defaults(void)
{
    ls_norm_options o;

    ls_norm_defaults_bytes(&o, sizeof o);
    return o;
}

/* ls_layer_norm with these options, NULL: the defaults.  LS_EINVAL: epsilon is
 * negative or not finite. */
LS_API ls_node *ls_layer_norm_with(ls_node *x, const ls_norm_options *options,
                                   const char *name);

/* y = x / sqrt(mean(x^2) + epsilon) * scale over the last axis (Zhang and
 * Sennrich 2019).  epsilon >= 0; Flax has 1e-6.  Parameter "<name>.scale" ones:
 * nnx.RMSNorm. */
LS_API ls_node *ls_rms_norm(ls_node *x, double epsilon, const char *name);

/* y = (x - mean) / sqrt(var + epsilon) * scale + bias for each channel, the
 * last axis (Ioffe and Szegedy 2015), by statistics that are stored: for a
 * network that was trained with batch norm elsewhere.  They are not computed
 * from batches and no optimizer moves them; scale and bias are trained unless a
 * group freezes them.  epsilon >= 0; PyTorch and Flax have 1e-5.  Parameters of
 * x's last extent each: "<name>.scale" ones, "<name>.bias" zeros, "<name>.mean"
 * zeros, "<name>.var" ones.  A var that with epsilon is not above 0 makes
 * values that are not finite.  LS_EINVAL: epsilon is negative or not finite. */
LS_API ls_node *ls_batch_norm(ls_node *x, double epsilon, const char *name);

/* Source of a batch norm's mean and variance in a training step. */
typedef enum ls_statistics {
    LS_STATISTICS_STORED,   /* ls_batch_norm */
    LS_STATISTICS_OF_SHARD, /* each device its own rows', as under pmap */
    LS_STATISTICS_OF_BATCH  /* all devices' together, in the tree's order, as
                               in PyTorch's SyncBatchNorm */
} ls_statistics;

/* Options of a batch norm; ls_batch_norm_defaults() writes what stands here. */
typedef struct ls_batch_norm_options {
    size_t size; /* ls_batch_norm_defaults() writes it */
    ls_statistics statistics; /* LS_STATISTICS_OF_BATCH */
    double epsilon;           /* added to the variance, 1e-5; 0 and above */
    double momentum; /* share of the old running average in the new one, 0.9,
                        as Flax counts it; PyTorch has 1 minus that, 0.1 */
} ls_batch_norm_options;

/* Write the default options into the program's struct of `size` bytes. */
LS_API void ls_batch_norm_defaults_bytes(ls_batch_norm_options *options,
                                         size_t size);
static inline ls_batch_norm_options ls_batch_norm_defaults(void)
{
    ls_batch_norm_options o;

    ls_batch_norm_defaults_bytes(&o, sizeof o);
    return o;
}

/* ls_batch_norm with these options, NULL: the defaults.  In a training step
 * mean and var of each channel are those of the micro-batch, over the rows that
 * count and all other axes: with weights w of rows
 *
 *     mean = sum(w x) / sum(w),   var = sum(w (x - mean)^2) / sum(w)
 *
 * and gradients go through both.  A row of weight 0 changes nothing; where all
 * of them weigh 0 the stored statistics are taken.  "<name>.mean" and
 * "<name>.var" become running averages: after a step that updated, and for each
 * of its micro-batches in turn,
 *
 *     stored = momentum stored + (1 - momentum) of the batch
 *
 * var being divided by sum(w) as in Flax, not by one less as in PyTorch.  Each
 * device goes on with its own, and the mean of all devices is stored.
 * Evaluations, predictions, losses of rows and gradients by inputs go by what
 * is stored, and so do files for other programs.  A step keeps the values of
 * all rows of a shard, with LS_STATISTICS_OF_BATCH those of all devices of the
 * process; docs/design/plan.md says more.
 *
 * LS_EINVAL: an option is out of its range.  ls_trainer_open fails with
 * LS_ENOTSUP for LS_STATISTICS_OF_BATCH with operators or losses of the
 * program's own, LS_MEAN_OF_SHARDS or check_divergence, and for either kind of
 * the rows' statistics with ls_trainer_options.check. */
LS_API ls_node *ls_batch_norm_with(ls_node *x,
                                   const ls_batch_norm_options *options,
                                   const char *name);

/* y = (x - mean) / sqrt(var + 1e-6) * scale + bias, mean and variance (in the
 * form of ls_layer_norm) over all pixels and the C / groups channels of a
 * group, of one row, with the same errors.  x (..,C); groups must divide C.
 * Parameters "<name>.scale" (C) ones, "<name>.bias" (C) zeros: nnx.GroupNorm.
 * Use it where results shall depend on the number of devices by rounding alone,
 * and devices shall not wait for each other in every layer. */
LS_API ls_node *ls_group_norm(ls_node *x, int groups, const char *name);

/* ls_group_norm with these options, NULL: the defaults; as ls_layer_norm_with.
 */
LS_API ls_node *ls_group_norm_with(ls_node *x, int groups,
                                   const ls_norm_options *options,
                                   const char *name);

#ifdef __cplusplus
}
#endif

#endif
