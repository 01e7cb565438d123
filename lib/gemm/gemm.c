/* Who computes matrix products: the table of backends by name. */
#include "gemm/gemm.h"
#include "base/error.h"
#include "kernel/kernel.h"

#include <string.h>

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
