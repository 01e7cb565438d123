/* The backend "onednn": the native one, but for products that oneDNN has made
 * ready.  Only onednn*.c see oneDNN; LS_ONEDNN says whether it is built in. */
#ifndef LS_BACKEND_ONEDNN_H
#define LS_BACKEND_ONEDNN_H

#include "backend/backend.h"
#include "lockstep.h"

/* ls__backend.prepare */
int ls__onednn_prepare(const ls__product *g, int64_t rows, bool bf16,
                       ls__prepared **prepared);

/* ls__backend.prepare_conv */
int ls__onednn_prepare_conv(const ls__conv *v, bool rotated, bool bf16,
                            ls__prepared **prepared);

/* Is it faster than our own kernels for bf16 on this CPU? */
bool ls__onednn_pays(void);

/* "oneDNN 2.6.3 with AVX512-BF16" */
void ls__onednn_text(char text[LS_TEXT]);

#endif
