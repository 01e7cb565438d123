/* The backend "onednn": the native one, except for products that oneDNN has
 * made ready.  Only onednn*.c see oneDNN; no_onednn.c stands for them in a
 * library that was configured without it. */
#ifndef LS_BACKEND_ONEDNN_H
#define LS_BACKEND_ONEDNN_H

#include "backend/backend.h"

/* ls__preparer's; onednn_conv.c has the second. */
ls__prepare_product ls__onednn_prepare;
ls__prepare_conv ls__onednn_prepare_conv;

/* Make a copy of native's backend oneDNN's.  LS_ENOTSUP: it is not built in, or
 * not there. */
int ls__onednn_take(ls__backend *backend);

#endif
