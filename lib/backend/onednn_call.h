/* What onednn.c and onednn_conv.c share: primitives with the arrays they
 * read and write, run by the calling thread alone, and the end of making. */
#ifndef LS_BACKEND_ONEDNN_CALL_H
#define LS_BACKEND_ONEDNN_CALL_H

#include "backend/backend.h"
#include "backend/onednn_load.h"

#include <stdbool.h>
#include <stdint.h>

/* What primitives are made and run with; the stream has no state of its own, so
 * workers share it. */
typedef struct ls__onednn {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
} ls__onednn;

enum { LS__ARRAYS = 5 };

typedef struct ls__call {
    dnnl_primitive_t primitive; /* NULL: not made */
    int count;
    int kind[LS__ARRAYS]; /* DNNL_ARG_SRC, ..; a scratchpad is the last */
    dnnl_memory_desc_t desc[LS__ARRAYS];
} ls__call;

dnnl_status_t ls__onednn_open(ls__onednn *on);
void ls__onednn_close(ls__onednn *on);

/* Set the calling thread's number of OpenMP threads: what it was. */
int ls__call_threads(int threads);

/* Floats of an array, in whole cache lines; of a call's scratchpad. */
int64_t ls__call_floats(const dnnl_memory_desc_t *d);
int64_t ls__call_scratchpad(const ls__call *c);

/* Name the next array of a call; then compile it, pd being taken over. */
void ls__call_array(ls__call *c, int kind, const dnnl_memory_desc_t *desc);
dnnl_status_t ls__call_compile(ls__call *c, dnnl_primitive_desc_t pd);

/* Attributes of all primitives; adds: to what the result holds. */
dnnl_status_t ls__call_attributes(dnnl_primitive_attr_t *attr, bool adds);

/* A call that copies from one type and layout to another. */
dnnl_status_t ls__call_copy(ls__call *c, const ls__onednn *on,
                            const dnnl_memory_desc_t *from,
                            const dnnl_memory_desc_t *to);

/* at: where the arrays are, in the order of the call. */
dnnl_status_t ls__call_run(const ls__onednn *on, const ls__call *c,
                           void *const *at);

/* What is left of the epilogue once oneDNN has added the bias. */
void ls__call_epilogue(const ls__product *g);

/* What could not be computed: NaN. */
void ls__call_spoil(int64_t rows, int64_t n, float *c, int64_t row);

/* The end of ls__onednn_prepare..: *prepared = what was made, if that went
 * well; where it did not it is freed, and our own kernels will do.
 * LS_ENOMEM. */
int ls__call_prepared(dnnl_status_t s, ls__prepared *all,
                      ls__prepared **prepared);

static inline int64_t ls__larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif
