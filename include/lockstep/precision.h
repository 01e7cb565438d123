/* The numbers that layers compute with. */
#ifndef LOCKSTEP_PRECISION_H
#define LOCKSTEP_PRECISION_H

/* The precision of a trainer's layers.  LS_BF16_LAYERS: matrix products and
 * convolutions, forward and backward, round what they multiply (x, weights, dy)
 * to bf16 as ls_round_bf16 does and add in f32; dense layers and convolutions
 * round x w + bias too, before an activation, and the bias of a convolution has
 * the sum of the rounded dy.  All else is f32: parameters, gradients and their
 * sums, moments, norms, softmax, losses, own operators.
 * Bits depend neither on workers nor on the CPU, whose instructions show in the
 * speed: see ls_backend_text. */
typedef enum ls_precision { LS_F32_LAYERS, LS_BF16_LAYERS } ls_precision;

#endif
