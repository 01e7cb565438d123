/* The backends, those who compute matrix products and convolutions: native (the
 * kernels of the level in use), BLIS and oneDNN, found by their names.  What
 * they compute, and the struct of their functions, stands in
 * kernel/product.h. */
#ifndef LS_BACKEND_BACKEND_H
#define LS_BACKEND_BACKEND_H

#include "kernel/kernel.h"

/* As the backend's gemm, or what was made for it. */
void ls__multiply(const ls__backend *b, const ls__product *g, float *scratch);

/* The backend of a name ("native", "blis", "onednn"; NULL: native) in a
 * precision.  LS_EINVAL for an unknown name, LS_ENOTSUP for one not built in,
 * without such products, or whose kernels for this CPU break the contract of
 * bits. */
int ls__backend_find(ls__backend *backend, const char *name,
                     ls_precision precision);

extern const ls__backend ls__backend_blis;

/* Whether BLIS's kernels meet the contract: 0, or LS_ENOTSUP with what BLIS
 * chose and what to do.  Starts BLIS. */
int ls__blis_check(void);

#endif
