/* SPDX-License-Identifier: BSD-3-Clause */
/* The backends, which compute matrix products (GEMM) and convolutions: native
 * (the kernels of the level in use) and BLIS, found by their names.  Their
 * contract and the struct of their functions stand in kernel/product.h. */
#ifndef LS_BACKEND_BACKEND_H
#define LS_BACKEND_BACKEND_H

#include "kernel/kernel.h"

/* Multiply as the backend's gemm does, with K cut into pieces of LS__DEEP, so
 * that a piece of B stays in the caches.  The bytes
 * are those of one call; scratch need be no more than for K = LS__DEEP. */
enum { LS__DEEP = 2 * LS__CHUNK };
void ls__multiply_deep(const ls__backend *b, const ls__product *g,
                       float *scratch);

/* The backend of a name (ls_backend_name; NULL: native) in a precision.
 * LS_EINVAL for an unknown name, LS_ENOTSUP for one not built in, without such
 * products, or with kernels on this CPU that break the contract of bits. */
int ls__backend_find(ls__backend *backend, const char *name,
                     ls_precision precision);

extern const ls__backend ls__backend_blis;

/* Check that BLIS's kernels meet the contract: 0, or LS_ENOTSUP with BLIS's
 * choice and what to do.  Starts BLIS. */
int ls__blis_check(void);

#endif
