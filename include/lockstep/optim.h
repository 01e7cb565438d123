/* SPDX-License-Identifier: BSD-3-Clause */
/* Updates of parameters: optimizers, and schedules of learning rates. */
#ifndef LOCKSTEP_OPTIM_H
#define LOCKSTEP_OPTIM_H

#include <lockstep/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ====== Optimizers (optax's definitions, its fused roundings) ====== */

/* An option of an optimizer or a schedule, as ls_optimizer_option and
 * ls_schedule_option tell it: its values are least <= x < below. */
typedef struct ls_option {
    const char *name;    /* "b1", the name of the struct's member */
    const char *about;   /* a line of help */
    const char *range;   /* its values in words: "a number from 0 to below 1" */
    double start;        /* the default; NaN: there is none */
    double least, below;
    bool whole;          /* an int64_t in the struct, not a double */
} ls_option;

/* The kinds of optimizers. */
typedef enum ls_optimizer_kind {
    LS_SGD, LS_MOMENTUM, LS_NESTEROV, LS_ADAM, LS_ADAMW, LS_RMSPROP, LS_ADAGRAD,
    LS_LION, LS_AMSGRAD, LS_NADAM
} ls_optimizer_kind;

/* An optimizer.  ls_sgd and so on, below, make one; its members may be changed
 * afterwards. */
typedef struct ls_optimizer {
    ls_optimizer_kind kind;
    double lr;           /* learning rate */
    double momentum;     /* momentum, nesterov: decay of the trace */
    double b1, b2;       /* adam, adamw, lion, amsgrad, nadam */
    double eps;          /* the same but lion, and rmsprop, adagrad */
    double weight_decay; /* adamw, lion: on every parameter, times lr */
    double decay;        /* rmsprop: of the mean of squares */
    double l2;           /* all but adamw and lion; see below */
    double initial_accumulator; /* adagrad: where the sum of squares begins */
    bool lazy;           /* adam: rows without a gradient stand still */
} ls_optimizer;

/* Regularisation comes in two kinds.  weight_decay pulls at the parameters
 * themselves, in addition to the rule.  l2 is the gradient of l2/2 sum p^2:
 * with it g + l2 p takes the place of g in the formulas below, after clipping
 * (optax.chain(optax.add_decayed_weights(l2), ..)); that is what PyTorch's sgd
 * and adam call weight_decay.  It is 0 unless it is set.
 *
 * Moments have the names in quotes in state hashes and checkpoints. */

/* p -= lr g */
LS_API ls_optimizer ls_sgd(double lr);
/* t = g + momentum t; p -= lr t.  t: "trace". */
LS_API ls_optimizer ls_momentum(double lr, double momentum);
/* t = g + momentum t; p -= lr (g + momentum t).  t: "trace". */
LS_API ls_optimizer ls_nesterov(double lr, double momentum);
/* m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2;
 * p -= lr (m / (1-b1^n)) / (sqrt(v / (1-b2^n)) + eps), at update n = 1, 2, ..
 * b1 0.9, b2 0.999, eps 1e-8.  m: "mu", v: "nu". */
LS_API ls_optimizer ls_adam(double lr);
/* Lazy Adam (sparse updates): ls_adam with `lazy`, for tables of which a batch
 * reads few rows (ls_embed, ls_embed_bag, ls_sparse_dense).  A row whose
 * gradient is zero in all elements is left alone in this update, its m and v
 * too, and l2 does not pull at it.  ls_adam would let m and v decay and go on
 * moving the row by what is left of m.  n counts all updates.  PyTorch's
 * SparseAdam differs in two things: eps stands elsewhere, and a row that occurs
 * is updated though its gradient comes out as zero.  Other parameters are
 * ls_adam's.  A row that crosses a multiple of 4096 in the flat parameter array
 * (see clip_norm) counts as two.
 * It is faster, and another rule: losses differ. */

/* ls_adam with weight_decay p added to the fraction; weight_decay 1e-4. */
LS_API ls_optimizer ls_adamw(double lr);
/* v = decay v + (1-decay) g^2; p -= lr g / sqrt(v + eps).  decay 0.9, eps 1e-8:
 * optax.rmsprop as it is without further arguments (eps in the root, v from 0,
 * not centered, no momentum).  v: "nu". */
LS_API ls_optimizer ls_rmsprop(double lr);
/* v = v + g^2, from initial_accumulator on; p -= lr g / sqrt(v + eps), and no
 * update where v is 0.  initial_accumulator 0.1, eps 1e-7.  v:
 * "sum_of_squares". */
LS_API ls_optimizer ls_adagrad(double lr);
/* u = sign((1-b1) g + b1 m); m = (1-b2) g + b2 m; p -= lr (u + weight_decay p),
 * the sign of 0 being 0.  b1 0.9, b2 0.99, weight_decay 1e-3.  m: "mu". */
LS_API ls_optimizer ls_lion(double lr);
/* AMSGrad (Reddi et al. 2018), optax.amsgrad: ls_adam with the root of the
 * greatest v / (1-b2^n) so far, its third moment "nu_max".  PyTorch's takes the
 * greatest v, and corrects that. */
LS_API ls_optimizer ls_amsgrad(double lr);
/* Adam with Nesterov's momentum (Dozat 2016), optax.nadam: ls_adam with
 * b1 m / (1-b1^(n+1)) + (1-b1) g / (1-b1^n) in the place of m / (1-b1^n).
 * PyTorch's NAdam lets b1 rise from update to update (momentum_decay), Keras's
 * too.  m: "mu", v: "nu". */
LS_API ls_optimizer ls_nadam(double lr);

/* The optimizer of a kind with its defaults: what the functions above give, and
 * 0.9 for the momentum of two of them. */
LS_API ls_optimizer ls_optimizer_defaults(ls_optimizer_kind kind, double lr);

/* The name of a kind, "adamw"; NULL for a number that is none.  The kinds are
 * numbered from 0. */
LS_API const char *ls_optimizer_name(ls_optimizer_kind kind);

/* Stores option i = 0, 1, .. of a kind and returns true; false past the last.
 */
LS_API bool ls_optimizer_option_bytes(ls_optimizer_kind kind, int i,
                                      ls_option *option, size_t size);
static inline bool ls_optimizer_option(ls_optimizer_kind kind, int i,
                                       ls_option *option)
{
    return ls_optimizer_option_bytes(kind, i, option, sizeof *option);
}

/* Set an option of an optimizer by its name.  LS_ENOTFOUND: its kind has no
 * such option; LS_EINVAL: the value is out of its range. */
LS_API int ls_optimizer_set(ls_optimizer *optimizer, const char *option,
                            double value);

/* ====== Groups: parameters that are trained otherwise than the rest ====== */

/* Parameters whose name a pattern matches.  One that is in several groups has
 * the product of their factors, and is frozen if one of them is, so that the
 * order of groups does not matter. */
typedef struct ls_group {
    const char *names; /* as of fnmatch(3), * matching dots too: "head.*"; and
                          "!head.*" for all others */
    bool vectors;      /* of these only those of fewer than two axes: biases,
                          and scales of norms */
    bool frozen;       /* never updated, and no part of the gradient's norm.
                          Where nothing else needs it no gradient is computed:
                          a model whose first layers are frozen goes backward
                          through the others alone */
    double rate;       /* its learning rate is the trainer's times this */
    double decay;      /* and its weight_decay and l2 likewise */
} ls_group;

/* Returns a group that changes nothing yet: rate 1, decay 1. */
LS_API ls_group ls_group_of(const char *names);
/* Returns a group that is frozen. */
LS_API ls_group ls_group_frozen(const char *names);
/* Returns the group of all biases and scales of norms, without weight decay and
 * l2. */
LS_API ls_group ls_group_no_decay(void);

/* ====== Schedules: learning rates over time (optax's definitions) ====== */

/* The formulas stand at ls_schedule. */
typedef enum ls_schedule_kind {
    LS_CONSTANT, LS_LINEAR, LS_COSINE, LS_EXPONENTIAL, LS_PIECEWISE,
    LS_POLYNOMIAL, LS_RESTARTS, LS_ONE_CYCLE, LS_LINEAR_ONE_CYCLE,
    LS_WARM_RESTARTS, LS_COSLOG, LS_FLAT_COSINE
} ls_schedule_kind;

/* A step of a piecewise schedule. */
typedef struct ls_boundary {
    int64_t update; /* the first update that the factor holds for, from 0 */
    double factor;  /* of the learning rate from there on */
} ls_boundary;

/* The learning rate of an update, where c updates were done before it and peak
 * is the optimizer's lr.  For c below warmup it is c/warmup peak; then, with
 * C = c - warmup, S = decay_steps - warmup, x = min(C, S) / S:
 *
 *     constant      peak
 *     linear        peak + (end_lr - peak) x
 *     cosine        end_lr + (peak - end_lr) (1 + cos(pi x)) / 2
 *     exponential   peak decay_rate^(C / decay_steps), not past end_lr (0: no
 *                   end), a lower bound for a rate below 1, else an upper one
 *     piecewise     peak times the factor of each boundary with update <= c
 *     polynomial    end_lr + (peak - end_lr) (1 - x)^power
 *     cosine-restarts  the cosine again and again (SGDR): cycle k = 0, 1, ..
 *                   is S cycle_factor^k updates long and begins at
 *                   peak restart_factor^k, though not below end_lr
 *     one-cycle     no warm-up of its own; with E = decay_steps and
 *                   U = floor(pct_start E), by half a cosine each: from
 *                   peak / div_factor at 0 to peak at U, and on to
 *                   peak / (div_factor final_div_factor) at E
 *     linear-one-cycle  the same by lines, and in between, at
 *                   floor(pct_final E), through peak / div_factor once more
 *     warm-restarts  cosine-restarts of which each cycle begins with warmup
 *                   updates from 0 to its peak: cycle k takes
 *                   warmup + S cycle_factor^k
 *     coslog        peak (1 - cos(2 pi log2(1 + (2^cycles - 1) x))) / 2:
 *                   `cycles` waves from 0 to 0, each twice as long as the one
 *                   before (RealMLP's coslog4; Holzmueller et al. 2024)
 *     flat-cosine   peak up to U = floor(pct_start S), then the cosine from
 *                   there on (RealMLP's flat_cos)
 *
 * So decay_steps counts the warm-up for all but exponential, and is the update
 * at which end_lr is reached: as in optax's warmup_cosine_decay_schedule and
 * warmup_exponential_decay_schedule from 0.  The others are optax's
 * polynomial_schedule, sgdr_schedule (whose cycles after the first have no
 * warm-up here) and cosine_onecycle_schedule.
 * All zero is constant without a warm-up. */
typedef struct ls_schedule {
    ls_schedule_kind kind;
    int64_t warmup;      /* updates from 0 up to the peak */
    int64_t decay_steps; /* updates; above warmup, except for exponential */
    double decay_rate;   /* exponential; above 0 */
    double end_lr;       /* linear, cosine, exponential, polynomial, restarts */
    int n_boundaries;    /* piecewise */
    const ls_boundary *boundaries; /* rising, none within the warm-up */
    double power;            /* polynomial; above 0 */
    int64_t cycle_factor;    /* restarts; from 1 */
    double restart_factor;   /* restarts; above 0, to 1 */
    double pct_start;        /* one-cycle, flat-cosine; from 0 to below 1 */
    double div_factor;       /* one-cycle; from 1 */
    double final_div_factor; /* one-cycle; from 1 */
    double pct_final;        /* linear-one-cycle; above pct_start, below 1 */
    int64_t cycles;          /* coslog; from 1 to 30 */
} ls_schedule;

/* Returns the schedule of a kind with the defaults of its options: cycle_factor
 * and restart_factor 1, pct_start 0.3 (flat-cosine: 0.5), pct_final 0.85,
 * div_factor 25, final_div_factor 1e4, cycles 4;
 * decay_steps, decay_rate and power have none and are 0. */
LS_API ls_schedule ls_schedule_defaults(ls_schedule_kind kind);

/* *lr = the learning rate after c = done updates, in the bits training uses.
 * LS_EINVAL names the value of the schedule that makes no sense;
 * LS_ENONFINITE: sensible values that together give no finite rate. */
LS_API int ls_schedule_lr(const ls_schedule *schedule, double peak,
                          int64_t done, float *lr);

/* The name of a kind, its options, and setting one by its name, as for
 * optimizers.  Boundaries are no such option. */
LS_API const char *ls_schedule_name(ls_schedule_kind kind);
LS_API bool ls_schedule_option_bytes(ls_schedule_kind kind, int i,
                                     ls_option *option, size_t size);
static inline bool ls_schedule_option(ls_schedule_kind kind, int i,
                                      ls_option *option)
{
    return ls_schedule_option_bytes(kind, i, option, sizeof *option);
}
LS_API int ls_schedule_set(ls_schedule *schedule, const char *option,
                           double value);

/* lr x rows / 32: the linear scaling rule (Goyal et al. 2017) for a learning
 * rate found with batches of 32 rows. */
LS_API double ls_scale_lr(double lr, int64_t rows);

#ifdef __cplusplus
}
#endif

#endif
