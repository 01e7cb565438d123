/* SPDX-License-Identifier: BSD-3-Clause */
/* Sparse rows, given as lists of their nonzeros: a wide first layer that
 * touches only what occurs, and embedding bags. */
#ifndef LOCKSTEP_SPARSE_H
#define LOCKSTEP_SPARSE_H

#include <lockstep/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A row is a list of fixed length: indices (K) of LS_I32, in any order; those
 * below 0 (-1) are padding.  K is the most that a row has.  An index that
 * stands in a row twice has the sum of its values, added in the order of their
 * places.  A batch holds K integers a row, and values where there are any, like
 * any other input; ls_sparse_rows makes them of the three arrays of scipy's
 * CSR. */

/* ls_dense of sparse rows of `inputs` numbers, given as lists of nonzeros:
 * y[..,j] = sum_k values[..,k] w[indices[..,k],j] + bias[j].
 * indices (..,K) in [0,inputs) or below 0, values (..,K) of LS_F32, or NULL:
 * all are 1 -> (..,n).  Parameters "<name>.kernel" (inputs,n) lecun_normal,
 * "<name>.bias" (n) zeros.
 *
 * The bytes of values and gradients, and of the parameters after any number of
 * steps, are those of ls_dense on the rows written out, where weights and
 * gradients are finite (there 0 times infinity is NaN, here a zero is not
 * there).  Values given in a batch must be finite: LS_ERANGE names row and
 * element.  They may be another node's, and have a gradient.  The layer
 * computes in f32, whatever ls_trainer_options.precision says of others. */
LS_API ls_node *ls_sparse_dense(ls_node *indices, ls_node *values,
                                int64_t inputs, int64_t n, const char *name);

/* ls_sparse_dense with these options, NULL: the defaults. */
LS_API ls_node *ls_sparse_dense_with(ls_node *indices, ls_node *values,
                                     int64_t inputs, int64_t n,
                                     const ls_dense_options *options,
                                     const char *name);

/* The reduction of a bag's embeddings to one. */
typedef enum ls_bag { LS_BAG_SUM, LS_BAG_MEAN } ls_bag;

/* An embedding bag: y[..,:] = sum_k table[indices[..,k],:], or that times 1/m
 * if m indices are not below 0; empty, it gives zeros (PyTorch's EmbeddingBag).
 * indices (..,K) in [0,count) or below 0 -> (..,width).  Parameter
 * "<name>.embedding" (count,width), normal / sqrt(width).  A mean has the bytes
 * of ls_sparse_dense_with no_bias and values 1/m, rounded to float. */
LS_API ls_node *ls_embed_bag(ls_node *indices, ls_bag bag, int64_t count,
                             int64_t width, const char *name);

/* Write rows as lists of `width` places: row r has the elements
 * offsets[r] .. offsets[r + 1] of index and value, as scipy.sparse's csr_matrix
 * holds them (indptr, indices, data).  out_indices (rows,width) is filled up
 * with -1, out_values likewise with 0.  values and out_values may both be NULL.
 * Nothing is written where a call fails.  LS_EINVAL: rows or width is negative
 * or 0, or one of the two is NULL; LS_ESHAPE: a row has more than `width`
 * elements, or offsets fall; LS_ERANGE: an index is not in [0,inputs), or a
 * value is not finite; all three name the row, and the place in it. */
LS_API int ls_sparse_rows(int64_t rows, const int64_t *offsets,
                          const int32_t *indices, const float *values,
                          int64_t inputs, int64_t width, int32_t *out_indices,
                          float *out_values);

#ifdef __cplusplus
}
#endif

#endif
