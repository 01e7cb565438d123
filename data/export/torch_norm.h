/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch norm of PyTorch in inference, folded into the layer before it:
 *
 *     y = (x W + b - mean) s + shift,  s = scale / sqrt(variance + epsilon)
 *
 * is a layer of weights W s and bias (b - mean) s + shift. */
#ifndef LS_EXPORT_TORCH_NORM_H
#define LS_EXPORT_TORCH_NORM_H

#include <lockstep/archive.h>

typedef struct ls__torch_norm {
    int64_t n; /* features; 0: there is no norm */
    double epsilon;
    float *values; /* (4,n): mean, variance, scale, shift; to be freed */
} ls__torch_norm;

/* Read the one called so in a file, of n features, and mark its tensors as
 * taken.  scale and shift may be missing (affine=False).  LS_ENOTFOUND,
 * LS_ESHAPE and LS_ENOTSUP name the tensor; LS_EINVAL: a variance that with
 * epsilon is not above 0. */
int ls__torch_norm_read(ls__torch_norm *norm, const ls_archive *file,
                        const char *path, const char *name, double epsilon,
                        int64_t n, bool *taken);

/* Fold it into weights (count,n), or into a bias. */
void ls__torch_norm_weights(const ls__torch_norm *norm, int64_t count,
                            float *weights);
void ls__torch_norm_bias(const ls__torch_norm *norm, float *bias);

#endif
