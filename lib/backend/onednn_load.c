/* See onednn_load.h. */
#include "backend/onednn_load.h"
#include "base/error.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

ls__onednn_functions ls__dnnl;

#define AT(member) offsetof(ls__onednn_functions, member)

static const struct {
    const char *name;
    size_t at;
} function[] = {
    {"dnnl_convolution_forward_desc_init", AT(convolution_forward_desc_init)},
    {"dnnl_engine_create", AT(engine_create)},
    {"dnnl_engine_destroy", AT(engine_destroy)},
    {"dnnl_get_effective_cpu_isa", AT(get_effective_cpu_isa)},
    {"dnnl_matmul_desc_init", AT(matmul_desc_init)},
    {"dnnl_memory_create", AT(memory_create)},
    {"dnnl_memory_desc_get_size", AT(memory_desc_get_size)},
    {"dnnl_memory_desc_init_by_strides", AT(memory_desc_init_by_strides)},
    {"dnnl_memory_desc_init_by_tag", AT(memory_desc_init_by_tag)},
    {"dnnl_memory_destroy", AT(memory_destroy)},
    {"dnnl_post_ops_append_sum", AT(post_ops_append_sum)},
    {"dnnl_post_ops_create", AT(post_ops_create)},
    {"dnnl_post_ops_destroy", AT(post_ops_destroy)},
    {"dnnl_primitive_attr_create", AT(primitive_attr_create)},
    {"dnnl_primitive_attr_destroy", AT(primitive_attr_destroy)},
    {"dnnl_primitive_attr_set_fpmath_mode", AT(primitive_attr_set_fpmath_mode)},
    {"dnnl_primitive_attr_set_post_ops", AT(primitive_attr_set_post_ops)},
    {"dnnl_primitive_attr_set_scratchpad_mode",
     AT(primitive_attr_set_scratchpad_mode)},
    {"dnnl_primitive_create", AT(primitive_create)},
    {"dnnl_primitive_desc_create", AT(primitive_desc_create)},
    {"dnnl_primitive_desc_destroy", AT(primitive_desc_destroy)},
    {"dnnl_primitive_desc_query_md", AT(primitive_desc_query_md)},
    {"dnnl_primitive_destroy", AT(primitive_destroy)},
    {"dnnl_primitive_execute", AT(primitive_execute)},
    {"dnnl_reorder_primitive_desc_create", AT(reorder_primitive_desc_create)},
    {"dnnl_stream_create", AT(stream_create)},
    {"dnnl_stream_destroy", AT(stream_destroy)},
    {"dnnl_version", AT(version)},
#if DNNL_CPU_RUNTIME == DNNL_RUNTIME_OMP
    {"omp_get_max_threads", AT(omp_get_max_threads)},
    {"omp_set_num_threads", AT(omp_set_num_threads)},
#endif
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char why[LS_TEXT]; /* it cannot be used; empty: it can */

/* Some are those of the libraries that it brings. */
static void load(void)
{
    void *library = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL), *address;
    size_t i = 0;

    for (; library && i < sizeof function / sizeof *function; i++) {
        if (!(address = dlsym(library, function[i].name)))
            break;
        memcpy((char *)&ls__dnnl + function[i].at, &address, sizeof address);
    }
    if (i < sizeof function / sizeof *function)
        snprintf(why, sizeof why, "%s", dlerror());
}

int ls__onednn_load(void)
{
    pthread_once(&once, load);
    return *why ? ls__fail(LS_ENOTSUP, "backend \"onednn\": %s", why) : 0;
}
