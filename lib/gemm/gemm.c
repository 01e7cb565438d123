/* Who computes matrix products: the table of backends by name. */
#include "gemm/gemm.h"
#include "base/error.h"
#include "kernel/kernel.h"
#include "lockstep.h"

#include <string.h>

void ls__multiply(const ls__backend *b, const ls__gemm *g, float *scratch)
{
    if (g->made)
        g->made->gemm(g->made, g, scratch);
    else
        b->gemm(g, scratch);
}

int ls__backend_find(const ls__backend **backend, const char *name)
{
    /* native: the kernels of the instruction level in use */
    const ls__backend *backends[] = {&ls__kernels()->f32, &ls__backend_blis};

    if (!name)
        name = backends[0]->name;
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

int ls__backend_round(const ls__backend **backend)
{
    if (*backend != &ls__kernels()->f32)
        return ls__fail(LS_ENOTSUP, "backend \"%s\" has no bf16 products; "
                        "native has", (*backend)->name);
    *backend = ls__kernels_bf16();
    return 0;
}

const char *ls_bf16_text(void)
{
    return ls__kernels_bf16() == &ls__kernels()->bf16
               ? "rounding, then f32 products"
               : "AVX512-BF16 products";
}
