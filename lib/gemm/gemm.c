/* Who computes matrix products: the table of backends by name. */
#include "gemm/gemm.h"
#include "base/error.h"
#include "kernel/kernel.h"

#include <string.h>

/* native: the kernels of the instruction level in use. */

static void native_gemm(const ls__gemm *g, float *scratch)
{
    ls__kernels()->gemm(g, scratch);
}

static int64_t native_scratch(int64_t k, int64_t n)
{
    return ls__kernels()->gemm_scratch(k, n);
}

static int64_t native_size(int64_t k, int64_t n)
{
    return ls__kernels()->gemm_packed_size(k, n);
}

static void native_pack(int64_t k, int64_t n, const float *b, int64_t b_row,
                        int64_t b_col, float *packed)
{
    ls__kernels()->gemm_pack(k, n, b, b_row, b_col, packed);
}

static const ls__backend native = {
    .name = "native", .gemm = native_gemm, .scratch = native_scratch,
    .packed_size = native_size, .pack = native_pack};

static const ls__backend *const backends[] = {&native, &ls__backend_blis};

int ls__backend_find(const ls__backend **backend, const char *name)
{
    if (!name)
        name = native.name;
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        if (!strcmp(backends[i]->name, name)) {
            *backend = backends[i];
            return 0;
        }
    if (!strcmp(name, "onednn"))
        return ls__fail(LS_ENOTSUP,
                        "backend \"onednn\" is not built into this library");
    return ls__fail(LS_EINVAL,
                    "backend \"%s\" is unknown; there are native and blis",
                    name);
}
