/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters from PyTorch.
 *
 * It is of the library liblockstep_data: lockstep.h does not include it, and
 * programs link with -llockstep_data (pkg-config lockstep_data). */
#ifndef LOCKSTEP_TORCH_H
#define LOCKSTEP_TORCH_H

#include <lockstep/predictor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Load parameters, as ls_trainer_load does, from a file that PyTorch's
 * state_dict was saved to with its safetensors package.  "<layer>.kernel",
 * ".scale" and ".embedding" are "<layer>.weight" there, and module "blocks.0"
 * may be "blocks_0" here.  Linear's (n,I), Conv2d's (n,C,h,w), Conv1d's (n,C,k)
 * and ConvTranspose2d's (C,n,h,w) are rearranged, and so are a Linear and a
 * norm of vectors behind a flatten, which sees (C,H,W) there and (H,W,C) here,
 * an input of three axes too.  layers renames those that are called otherwise,
 * and what is in them: "layers.0=0,head=fc" (ours=theirs); or NULL.  Without a
 * pattern every tensor of the file must be a parameter, as with strict=True.
 * "conv=0&1" folds the statistics, scale and shift of batch norm "1" of eval()
 * into the layer, which must have a bias, in double, rounded once;
 * "conv=0&1:0.001" with another epsilon than 1e-5.  An ls_batch_norm reads its
 * own.  An ls_lstm or ls_gru called "rnn" is layer 0 of nn.LSTM or nn.GRU
 * "rnn", and "rnn_l1" layer 1; two biases are added.  Attention is found by its
 * names there, too: in_proj_weight and in_proj_bias, c_attn or the layer's own
 * name for queries, keys and values in one tensor, q_proj, k_proj and v_proj
 * (or q_proj_weight ..), and out_proj, c_proj or o_proj.
 * LS_ENOTSUP: a trainer around a gradient function of your own; a bias that
 * only an ls_gru_with two_biases has; a parameter behind a flatten with a
 * concat, a reshape or more between, whose order there the graph does not tell;
 * square weights of a layer c_proj, which may be a Linear or transformers'
 * Conv1D, where no c_attn tells.  What a file cannot tell either: epsilon, and
 * that PyTorch makes the variance of a norm in two passes (ls_norm_options). */
LS_API int ls_trainer_load_torch(ls_trainer *trainer, const char *path,
                                 const char *names, const char *layers);

/* Give a predictor all its parameters so, for a network that is served and not
 * trained here: ls_predictor_open_graph wants no loss.  Otherwise as
 * ls_trainer_load_torch without a pattern and ls_predictor_set. */
LS_API int ls_predictor_load_torch(ls_predictor *predictor, const char *path,
                                   const char *layers);

#ifdef __cplusplus
}
#endif

#endif
