/* SPDX-License-Identifier: BSD-3-Clause */
/* Precisions of layers: f32, and mixed precision with bf16 products. */
#ifndef LOCKSTEP_PRECISION_H
#define LOCKSTEP_PRECISION_H

/* The precision of a trainer's layers.
 *
 * LS_BF16_LAYERS: matrix products and
 * convolutions, forward and backward, round what they multiply (x, weights, dy)
 * to bf16 as ls_round_bf16 does and add in f32; dense layers and convolutions
 * round x w + bias too, before an activation, and the bias of a convolution has
 * the sum of the rounded dy.  All else is f32: parameters, gradients and their
 * sums, moments, norms, softmax, losses, own operators.
 *
 * LS_F32X3_LAYERS: the same products take each f32 number as the sum of two
 * bf16 numbers, the second being what rounding leaves of the first, and add the
 * three largest of their products in f32; nothing else is rounded.  This has
 * about 17 bits.  With AMX it is faster than f32, elsewhere much slower.
 * Values of 3.39e38 and above become infinite, and infinities become NaN.
 * Parts smaller than 2^-126 are dropped, so numbers below 2^-110 and products
 * below 2^-108 have fewer bits.
 *
 * Bits depend neither on workers nor on the CPU, whose instructions show in the
 * speed: see ls_backend_text. */
typedef enum ls_precision {
    LS_F32_LAYERS,
    LS_BF16_LAYERS,
    LS_F32X3_LAYERS
} ls_precision;

#endif
