/* SPDX-License-Identifier: BSD-3-Clause */
/* Models for programs that read ONNX.
 *
 * It is of the library liblockstep_data: lockstep.h does not include it, and
 * programs link with -llockstep_data (pkg-config lockstep_data). */
#ifndef LOCKSTEP_ONNX_H
#define LOCKSTEP_ONNX_H

#include <lockstep/predictor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Write the model for ONNX (opset 20), with its weights as they are now: inputs
 * and outputs under their names, rows first.  The file appears whole or not at
 * all.  LS_ENOTSUP: an operator that ONNX has no word for (your own), or a file
 * of 2 GB and more; LS_EINVAL: an input and an output of one name; LS_EIO;
 * LS_ENOMEM.  A layer or group norm is ONNX's.  ONNX Runtime makes its variance
 * in two passes: where a row's mean is large, it is nearer to the definition
 * than a norm of one pass here (norms.h).  Other libraries may take a row of no
 * steps another way: ONNX Runtime ends an LSTM or GRU on it with zeros, this
 * one with its initial state. */
LS_API int ls_predictor_save_onnx(ls_predictor *predictor, const char *path);

#ifdef __cplusplus
}
#endif

#endif
