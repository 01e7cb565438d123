/* Calls of oneDNN's primitives on the calling thread alone. */
#include "backend/onednn_call.h"
#include "base/error.h"
#include "kernel/kernel.h"

/* ------ one thread ------ */

#if DNNL_CPU_RUNTIME == DNNL_RUNTIME_OMP

/* Both are of the calling thread alone. */
int ls__call_threads(int threads)
{
    int before = ls__dnnl.omp_get_max_threads();

    if (before != threads)
        ls__dnnl.omp_set_num_threads(threads);
    return before;
}

#else

int ls__call_threads(int threads)
{
    return threads;
}

#endif

dnnl_status_t ls__onednn_open(ls__onednn *on)
{
    dnnl_status_t s = ls__dnnl.engine_create(&on->engine, dnnl_cpu, 0);

    return s ? s : ls__dnnl.stream_create(&on->stream, on->engine,
                                          dnnl_stream_default_flags);
}

void ls__onednn_close(ls__onednn *on)
{
    ls__dnnl.stream_destroy(on->stream);
    ls__dnnl.engine_destroy(on->engine);
}

/* ------ making calls ------ */

int64_t ls__call_floats(const dnnl_memory_desc_t *d)
{
    return ((int64_t)ls__dnnl.memory_desc_get_size(d) + 63) / 64 * 16;
}

void ls__call_array(ls__call *c, int kind, const dnnl_memory_desc_t *desc)
{
    c->kind[c->count] = kind;
    c->desc[c->count++] = *desc;
}

/* The primitive and its scratchpad; pd is taken over. */
dnnl_status_t ls__call_compile(ls__call *c, dnnl_primitive_desc_t pd)
{
    const dnnl_memory_desc_t *scratchpad =
        ls__dnnl.primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    dnnl_status_t status = ls__dnnl.primitive_create(&c->primitive, pd);

    if (status == dnnl_success && ls__call_floats(scratchpad) > 0)
        ls__call_array(c, DNNL_ARG_SCRATCHPAD, scratchpad);
    ls__dnnl.primitive_desc_destroy(pd);
    return status;
}

int64_t ls__call_scratchpad(const ls__call *c)
{
    return c->count && c->kind[c->count - 1] == DNNL_ARG_SCRATCHPAD
               ? ls__call_floats(&c->desc[c->count - 1]) : 0;
}

/* Strict: no environment variable makes f32 something else. */
dnnl_status_t ls__call_attributes(dnnl_primitive_attr_t *attr, bool adds)
{
    dnnl_post_ops_t ops = NULL;
    dnnl_status_t s = ls__dnnl.primitive_attr_create(attr);

    if (s == dnnl_success)
        s = ls__dnnl.primitive_attr_set_scratchpad_mode(
            *attr, dnnl_scratchpad_mode_user);
    if (s == dnnl_success)
        s = ls__dnnl.primitive_attr_set_fpmath_mode(*attr,
                                                    dnnl_fpmath_mode_strict);
    if (s != dnnl_success || !adds)
        return s;
    if ((s = ls__dnnl.post_ops_create(&ops)) == dnnl_success &&
        (s = ls__dnnl.post_ops_append_sum(ops, 1)) == dnnl_success)
        s = ls__dnnl.primitive_attr_set_post_ops(*attr, ops);
    ls__dnnl.post_ops_destroy(ops);
    return s;
}

dnnl_status_t ls__call_copy(ls__call *c, const ls__onednn *on,
                            const dnnl_memory_desc_t *from,
                            const dnnl_memory_desc_t *to)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd;
    dnnl_status_t s = ls__call_attributes(&attr, false);

    if (s == dnnl_success)
        s = ls__dnnl.reorder_primitive_desc_create(&pd, from, on->engine, to,
                                                   on->engine, attr);
    ls__dnnl.primitive_attr_destroy(attr);
    if (s != dnnl_success)
        return s;
    ls__call_array(c, DNNL_ARG_FROM, from);
    ls__call_array(c, DNNL_ARG_TO, to);
    return ls__call_compile(c, pd);
}

/* ------ running them ------ */

dnnl_status_t ls__call_run(const ls__onednn *on, const ls__call *c,
                           void *const *at)
{
    dnnl_exec_arg_t args[LS__ARRAYS] = {{0, NULL}};
    dnnl_status_t s = dnnl_success;
    int threads = ls__call_threads(1);

    for (int i = 0; i < c->count && s == dnnl_success; i++) {
        args[i].arg = c->kind[i];
        s = ls__dnnl.memory_create(&args[i].memory, &c->desc[i], on->engine,
                                   at[i]);
    }
    if (s == dnnl_success)
        s = ls__dnnl.primitive_execute(c->primitive, on->stream, c->count,
                                       args);
    for (int i = 0; i < c->count; i++)
        ls__dnnl.memory_destroy(args[i].memory);
    ls__call_threads(threads);
    return s;
}

void ls__call_epilogue(const ls__product *g)
{
    ls__product rest = *g;

    rest.bias = NULL;
    if (g->round || g->activation || g->times || g->add)
        ls__kernels()->epilogue(&rest);
}

void ls__call_spoil(int64_t rows, int64_t n, float *c, int64_t row)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j++)
            c[i * row + j] = __builtin_nanf("");
}

int ls__call_prepared(dnnl_status_t s, ls__prepared *all,
                      ls__prepared **prepared)
{
    if (s == dnnl_success) {
        *prepared = all;
        return 0;
    }
    all->free(all);
    return s == dnnl_out_of_memory
               ? ls__fail(LS_ENOMEM, "out of memory in oneDNN") : 0;
}
