/* SPDX-License-Identifier: BSD-3-Clause */
/* Initial values of parameters, where they are not the layer's own. */
#ifndef LOCKSTEP_INITIAL_H
#define LOCKSTEP_INITIAL_H

#include <lockstep/graph.h>
#include <lockstep/random.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ====== Initialisers (JAX's definitions and bits) ====== */

/* The distribution of random initial values. */
typedef enum ls_distribution {
    LS_UNIFORM,          /* from -1 to 1, or with LS_INIT_RANDOM from 0 to 1 */
    LS_NORMAL,
    LS_TRUNCATED_NORMAL  /* between two deviations below and above */
} ls_distribution;

/* The divisor of a variance: the inputs (fan-in) or outputs (fan-out) of a
 * unit, or their mean.  Of a shape (.., I, O) these are I and O times all
 * extents before. */
typedef enum ls_fan { LS_FAN_IN, LS_FAN_OUT, LS_FAN_AVERAGE } ls_fan;

/* The kinds of initial values, jax.nn.initializers' names behind them:
 *
 *     LAYER       as the layer has it: kernels lecun_normal, embeddings normal
 *                 of variance 1 / width, biases 0, scales of norms 1
 *     CONSTANT    scale (constant)
 *     RANDOM      draws times scale (uniform, normal, truncated_normal)
 *     VARIANCE    draws of variance scale / fan (variance_scaling)
 *     ORTHOGONAL  scale Q, where Q^T Q or Q Q^T is 1 (orthogonal)
 *     OWN         what fn writes
 *
 * The bits are JAX's for the keys that Flax gives the layers, except those of
 * Q: it comes from JAX's normals by Householder's reflections in double,
 * rounded once, with R's diagonal positive, where JAX's comes from LAPACK in
 * float and depends on its version and the CPU.  The two differ by some 1e-7;
 * ours is the same everywhere, and orthogonal to the roundings of its floats.
 */
typedef enum ls_init_kind {
    LS_INIT_LAYER, LS_INIT_CONSTANT, LS_INIT_RANDOM, LS_INIT_VARIANCE,
    LS_INIT_ORTHOGONAL, LS_INIT_OWN
} ls_init_kind;

/* Write a parameter's first values, row major.  The key is that of the
 * trainer's seed for this parameter, so what is drawn from it depends on
 * nothing else.  A negative return fails ls_trainer_open with LS_EUSER; so do
 * values that are not finite, with LS_ENONFINITE. */
typedef int ls_init_fn(void *user, const char *name, int rank,
                       const int64_t *shape, ls_key key, float *out);

/* A parameter's initialiser: its kind, and what that needs. */
typedef struct ls_init {
    ls_init_kind kind;
    ls_distribution distribution; /* RANDOM, VARIANCE */
    ls_fan fan;                   /* VARIANCE */
    double scale;                 /* finite; of VARIANCE not negative */
    ls_init_fn *fn;               /* OWN: called when a trainer is opened */
    void *user;
} ls_init;

/* Return an initialiser of a kind. */
LS_API ls_init ls_init_constant(double value);
LS_API ls_init ls_init_random(ls_distribution distribution, double scale);
LS_API ls_init ls_init_variance(ls_distribution distribution, ls_fan fan,
                                double scale);
LS_API ls_init ls_init_orthogonal(double scale);

/* Set *init to the initialiser of a name: "zeros", "ones", "uniform", "normal"
 * and "truncated" (scale 0.01), "lecun-normal" (variance 1 / inputs),
 * "glorot-normal" (2 / (inputs + outputs)), "he-normal" (2 / inputs), each of
 * the three also "-uniform" and "-truncated", and "orthogonal".  What JAX calls
 * lecun_normal, glorot_normal and he_normal are the truncated ones.
 * LS_ENOTFOUND. */
LS_API int ls_init_named(ls_init *init, const char *name);

/* Return name i = 0, 1, .. of these; NULL past the last. */
LS_API const char *ls_init_name(int i);

/* Let the parameters that are declared so far and whose names a pattern matches
 * (as of fnmatch(3), * matching dots too: "*kernel") start by an initialiser,
 * which is copied; the last call counts.  Keys stay as they are.  A model file
 * does not tell it: it has the values.
 * Errors stick to the graph.  LS_ENOTFOUND: no parameter is called that;
 * LS_ESHAPE: VARIANCE or ORTHOGONAL for one of fewer than two axes; LS_EINVAL:
 * no such initialiser. */
LS_API int ls_init_params(ls_graph *graph, const char *names,
                          const ls_init *init);

#ifdef __cplusplus
}
#endif

#endif
