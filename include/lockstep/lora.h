/* SPDX-License-Identifier: BSD-3-Clause */
/* Low-rank adapters (LoRA; Hu and others, 2021): a dense layer y = x W + bias
 * becomes
 *
 *     y = x W + bias + (alpha / rank) x A B,   A (I,rank), B (rank,n)
 *
 * and only A and B are trained: a small file then makes another model of a
 * large one.  A starts uniform below 1 / sqrt(I) in size, as peft's, and B as
 * zeros, so that the first step begins where the model was.  They are the
 * parameters "<layer>.lora_A.kernel" and "<layer>.lora_B.kernel".
 *
 *     ls_graph_load(&graph, "base.safetensors");
 *     ls_lora_add(graph, "*.query.kernel", 8, 16);
 *     options.groups = &(ls_group){ls_lora_rest()}, options.n_groups = 1;
 *     ls_trainer_open(&trainer, pool, graph, &options);
 *     ls_trainer_load(trainer, "base.safetensors", LS_LORA_REST);
 *     .. steps ..
 *     ls_save_options save = ls_save_defaults();
 *     save.kind = LS_SAVE_ADAPTERS;
 *     ls_trainer_save_with(trainer, "adapters.safetensors", &save); */
#ifndef LOCKSTEP_LORA_H
#define LOCKSTEP_LORA_H

#include <lockstep/graph.h>
#include <lockstep/trainer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Patterns that match the parameters of adapters, and all others. */
#define LS_LORA_OWN "*lora_[AB].kernel"
#define LS_LORA_REST "!" LS_LORA_OWN

/* Add adapters to the dense layers whose weights a pattern matches ("*" for
 * all; as for ls_group) in a graph that is complete: whatever reads such a
 * layer then, outputs and losses too, reads the sum, and nodes that are built
 * later do not.  Weights that several layers share (ls_tie) are left alone.  It
 * may be called again with other names.  1 <= rank <= the smaller one of the
 * layer's widths; alpha is above 0.  Errors stick to the graph.
 * LS_ENOTFOUND: the pattern matches no weights of a dense layer; LS_EINVAL: the
 * rank or alpha is out of range, or a layer has an adapter; LS_ENOMEM. */
LS_API int ls_lora_add(ls_graph *graph, const char *names, int64_t rank,
                       double alpha);

/* Add the adapters that a file of LS_SAVE_ADAPTERS holds, under its ranks and
 * alphas; ls_lora_load gives them their values.  LS_ENOTFOUND names a layer
 * that the graph has not, LS_EINVAL one whose widths are others; LS_EFORMAT: it
 * is no such file; LS_EIO; LS_ENOMEM. */
LS_API int ls_lora_add_saved(ls_graph *graph, const char *path);

/* Returns the group of all parameters but those of adapters, frozen. */
LS_API ls_group ls_lora_rest(void);

/* Load adapters from such a file; all else stays.  LS_EINVAL: the trainer's
 * other parameters are not those that they were trained with, an adapter has
 * another rank or alpha, or the trainer has others; nothing is changed then.
 * LS_EFORMAT: it is no such file; LS_EIO; LS_ENOMEM. */
LS_API int ls_lora_load(ls_trainer *trainer, const char *path);

#ifdef __cplusplus
}
#endif

#endif
