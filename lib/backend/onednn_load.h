/* The functions of oneDNN.  It is loaded when the backend is first asked for:
 * no other program has its 39 MB and its OpenMP. */
#ifndef LS_BACKEND_ONEDNN_LOAD_H
#define LS_BACKEND_ONEDNN_LOAD_H

#include <dnnl.h>

#if DNNL_VERSION_MAJOR != 2
#error "oneDNN 2 is needed; configure with --without-onednn"
#endif

typedef struct ls__onednn_functions {
    __typeof__(dnnl_convolution_forward_desc_init)
        *convolution_forward_desc_init;
    __typeof__(dnnl_engine_create) *engine_create;
    __typeof__(dnnl_engine_destroy) *engine_destroy;
    __typeof__(dnnl_get_effective_cpu_isa) *get_effective_cpu_isa;
    __typeof__(dnnl_matmul_desc_init) *matmul_desc_init;
    __typeof__(dnnl_memory_create) *memory_create;
    __typeof__(dnnl_memory_desc_get_size) *memory_desc_get_size;
    __typeof__(dnnl_memory_desc_init_by_strides) *memory_desc_init_by_strides;
    __typeof__(dnnl_memory_desc_init_by_tag) *memory_desc_init_by_tag;
    __typeof__(dnnl_memory_destroy) *memory_destroy;
    __typeof__(dnnl_post_ops_append_sum) *post_ops_append_sum;
    __typeof__(dnnl_post_ops_create) *post_ops_create;
    __typeof__(dnnl_post_ops_destroy) *post_ops_destroy;
    __typeof__(dnnl_primitive_attr_create) *primitive_attr_create;
    __typeof__(dnnl_primitive_attr_destroy) *primitive_attr_destroy;
    __typeof__(dnnl_primitive_attr_set_fpmath_mode)
        *primitive_attr_set_fpmath_mode;
    __typeof__(dnnl_primitive_attr_set_post_ops) *primitive_attr_set_post_ops;
    __typeof__(dnnl_primitive_attr_set_scratchpad_mode)
        *primitive_attr_set_scratchpad_mode;
    __typeof__(dnnl_primitive_create) *primitive_create;
    __typeof__(dnnl_primitive_desc_create) *primitive_desc_create;
    __typeof__(dnnl_primitive_desc_destroy) *primitive_desc_destroy;
    __typeof__(dnnl_primitive_desc_query_md) *primitive_desc_query_md;
    __typeof__(dnnl_primitive_destroy) *primitive_destroy;
    __typeof__(dnnl_primitive_execute) *primitive_execute;
    __typeof__(dnnl_reorder_primitive_desc_create)
        *reorder_primitive_desc_create;
    __typeof__(dnnl_stream_create) *stream_create;
    __typeof__(dnnl_stream_destroy) *stream_destroy;
    __typeof__(dnnl_version) *version;
#if DNNL_CPU_RUNTIME == DNNL_RUNTIME_OMP
    int (*omp_get_max_threads)(void);
    void (*omp_set_num_threads)(int threads);
#endif
} ls__onednn_functions;

/* Written by the first ls__onednn_load of the process, and never again. */
extern ls__onednn_functions ls__dnnl;

/* LS_ENOTSUP, with the loader's words, where there is no oneDNN 2. */
int ls__onednn_load(void);

#endif
