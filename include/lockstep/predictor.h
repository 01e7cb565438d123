/* SPDX-License-Identifier: BSD-3-Clause */
/* Inference from any thread, while training goes on.
 *
 * A predictor is a model that computes outputs and nothing else: it needs no
 * loss, no targets, no optimizer and no pool.  Each thread that calls it has a
 * context, the memory of its calls.
 *
 *     ls_predictor *predictor;
 *     ls_context *context;
 *
 *     ls_predictor_load(&predictor, "model.safetensors");
 *     ls_context_open(&context, predictor, NULL);
 *     ls_context_set(context, "x", LS_F32, x, 1);
 *     ls_context_predict(context, "logits", 10, y);
 *
 * Any number of rows is good.  A row's bytes are those of ls_predict, whatever
 * other rows there are and whichever thread asks.  Neither ls_context_set nor
 * ls_context_predict allocates, locks or calls the system, unless the context
 * has a pool or the graph an operator of your own that does. */
#ifndef LOCKSTEP_PREDICTOR_H
#define LOCKSTEP_PREDICTOR_H

#include <lockstep/archive.h>
#include <lockstep/pool.h>
#include <lockstep/trainer.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ls_predictor ls_predictor;
typedef struct ls_context ls_context;

/* Open a predictor on what a trainer trains, with its weights as they are now.
 * The trainer need not live as long.  Call this and ls_predictor_refresh when
 * no step runs: from the thread that steps, or LS_EBUSY may come back.
 * LS_EINVAL: the graph has no output; LS_ENOTSUP: the model is a gradient
 * function of your own; LS_ENOMEM. */
LS_API int ls_predictor_open(ls_predictor **predictor,
                             const ls_trainer *trainer);

/* Open a predictor on a model file, which is read whole.  Fails as
 * ls_graph_load (lockstep/model.h) and ls_trainer_load do. */
LS_API int ls_predictor_load(ls_predictor **predictor, const char *path);

/* Open a predictor on a model file with the adapters of another file
 * (lockstep/lora.h), not merged, so to the bytes of the trainer that saved
 * them.  Fails as ls_predictor_load, ls_lora_add_saved and ls_lora_load do. */
LS_API int ls_predictor_load_lora(ls_predictor **predictor, const char *path,
                                  const char *adapters);

/* Open a predictor on a graph, which needs outputs and no loss and is copied:
 * for a network that was trained elsewhere.  weights: a safetensors file of its
 * parameters, by their names; NULL: all are 0 until ls_predictor_set
 * gives them.  Fails as ls_trainer_load does;
 * LS_EINVAL: the graph has no output, or an error. */
LS_API int ls_predictor_open_graph(ls_predictor **predictor,
                                   const ls_graph *graph, const char *weights);

/* Give all parameters new values, each one once by its name, LS_F32 in its
 * shape, as ls_predictor_refresh does.  LS_ENOTFOUND: one is missing, or there
 * is none of that name; LS_ESHAPE; LS_EBUSY: a refresh is running;
 * LS_ENOMEM. */
LS_API int ls_predictor_set(ls_predictor *predictor, int n_arrays,
                            const ls_array *arrays);

/* Take a snapshot of a trainer's weights, all at once: a running call goes on
 * with those it began with, and calls that begin later see the new ones.  No
 * call ever waits or sees a mixture.  The trainer is that of ls_predictor_open,
 * or one whose parameters have the same names and shapes, else LS_ESHAPE.
 * LS_EBUSY: a step or another refresh is running.  LS_ENOMEM: each snapshot
 * that calls still read needs memory of its own; there is one more than that,
 * and memory is used again. */
LS_API int ls_predictor_refresh(ls_predictor *predictor,
                                const ls_trainer *trainer);

/* Close the predictor; NULL is accepted.  Its memory stays until the last
 * context is closed. */
LS_API void ls_predictor_close(ls_predictor *predictor);

/* Stores name, type and the shape of a row of input or output i = 0, 1, .. and
 * returns true; false past the last.  Inputs are those that an output depends
 * on.  The name lives until the predictor is closed. */
LS_API bool ls_predictor_input(const ls_predictor *predictor, int i,
                               ls_array_spec *input);
LS_API bool ls_predictor_output(const ls_predictor *predictor, int i,
                                ls_array_spec *output);

/* Open the predictor's graph and parameters as an archive, as if they had been
 * written to a model file: arrays of aligned floats, and the note
 * "lockstep.graph", where every attribute stands and operators of your own say
 * that they are.  It keeps the weights of this moment.  LS_ENOMEM. */
LS_API int ls_archive_of_predictor(ls_archive **archive,
                                   ls_predictor *predictor);

/* The memory of one thread's calls.  With a pool (else NULL), which is borrowed
 * until the context is closed, the rows of a call are spread over its workers:
 * for many rows, several hundred and more. */
LS_API int ls_context_open(ls_context **context, ls_predictor *predictor,
                           ls_pool *pool);

/* Close the context; NULL is accepted. */
LS_API void ls_context_close(ls_context *context);

/* Set the rows of an input: data (rows, shape of the input), borrowed until the
 * next call for that input.  LS_ENOTFOUND: there is no such input; LS_EINVAL:
 * another type, no rows; LS_ERANGE: an index is out of range. */
LS_API int ls_context_set(ls_context *context, const char *input,
                          ls_dtype dtype, const void *data, int64_t rows);

/* The same of data that has n elements: LS_ESHAPE, with both numbers, where the
 * rows need more. */
LS_API int ls_context_set_view(ls_context *context, const char *input,
                               ls_dtype dtype, int64_t n, const void *data,
                               int64_t rows);

/* out (rows, shape of the output) = the output for the rows that were set, or
 * for one of a graph without inputs; n is the number of elements in out.
 * LS_ENOTFOUND: there is no such output; LS_ESHAPE: n is another number, or
 * inputs differ in their numbers of rows; LS_EINVAL: an input was not set;
 * LS_EUSER: an operator of your own failed; LS_EBUSY: the context's pool is in
 * use. */
LS_API int ls_context_predict(ls_context *context, const char *output,
                              int64_t n, float *out);

/* ------ Generation: one sequence, position by position ------ */

/* A generator (autoregressive decoding with a key/value cache) computes an
 * output over sequences for the last position, and keeps what earlier ones
 * leave, so that a new token costs one position and not all.  The bytes are
 * those of ls_context_predict for the whole sequence.
 *
 *     ls_generator_open(&generator, predictor, "logits");
 *     ls_generator_append(generator, n, prompt, vocab, logits);
 *     for (..) {
 *         int32_t token = .. chosen by logits ..;
 *         ls_generator_append(generator, 1, &token, vocab, logits);
 *     } */
typedef struct ls_generator ls_generator;

/* Open a generator, for one thread at a time.  It goes on with the weights that
 * are current at its first position until ls_generator_cut to 0.  LS_ENOTSUP:
 * the output depends on more than one input of tokens (T), or on an operator
 * that looks at later positions (attention without a causal mask) or is not
 * known to look at each by itself; the message names it.  LS_ENOTFOUND: there
 * is no such output; LS_ENOMEM. */
LS_API int ls_generator_open(ls_generator **generator, ls_predictor *predictor,
                             const char *output);

/* Let the workers of a pool share each position from now on, where that pays: a
 * layer's columns, and heads.  The bytes stay the same; a call then takes the
 * pool, and wakes workers that sleep.  The pool has to stay open as long.
 *
 * Where the workers sit on several NUMA nodes, each node has a copy of the
 * weights, for one generator of a predictor at a time: the first that shares
 * such a pool before its first position, if there is memory.
 *
 * LS_EINVAL: the generator has one already; LS_ENOMEM. */
LS_API int ls_generator_share(ls_generator *generator, ls_pool *pool);

/* Close the generator; NULL is accepted. */
LS_API void ls_generator_close(ls_generator *generator);

/* Append n >= 1 tokens; out = the output at the last of them, `size` elements.
 * Allocates nothing and, without a pool, makes no system call.  LS_ERANGE: they
 * do not fit the window, or a token is out of range; LS_ESHAPE: size is another
 * one; LS_EBUSY: the generator's pool is in use. */
LS_API int ls_generator_append(ls_generator *generator, int64_t n,
                               const int32_t *tokens, int64_t size, float *out);

/* Forget all positions from number `length` on.  LS_ERANGE: there are fewer. */
LS_API int ls_generator_cut(ls_generator *generator, int64_t length);

/* The number of positions now, and the most there can be: the T of the
 * model. */
LS_API int64_t ls_generator_length(const ls_generator *generator);
LS_API int64_t ls_generator_window(const ls_generator *generator);

#ifdef __cplusplus
}
#endif

#endif
