/* Who computes matrix products: the table of backends by name. */
#include "backend/backend.h"
#include "base/error.h"
#include "backend/onednn.h"
#include "kernel/kernel.h"
#include "lockstep.h"

#include <stdio.h>
#include <string.h>

void ls__multiply(const ls__backend *b, const ls__product *g, float *scratch)
{
    if (g->prepared)
        g->prepared->gemm(g->prepared, g, scratch);
    else
        b->gemm(g, scratch);
}

/* ------ one a name ------ */

static int find_native(ls__backend *backend, bool bf16)
{
    *backend = bf16 ? *ls__kernels_bf16() : ls__kernels()->f32;
    return 0;
}

static int find_blis(ls__backend *backend, bool bf16)
{
    int status;

    if (bf16)
        return ls__fail(LS_ENOTSUP, "backend \"blis\" has no bf16 products; "
                        "native and onednn have");
    status = ls__blis_check();
    if (status == 0)
        *backend = ls__backend_blis;
    return status;
}

#ifdef LS_ONEDNN

/* What is not made ready is left to the native one. */
static int find_onednn(ls__backend *backend, bool bf16)
{
    find_native(backend, bf16);
    backend->name = "onednn";
    backend->prepare = ls__onednn_prepare;
    backend->prepare_conv = ls__onednn_prepare_conv;
    return 0;
}

/* Not where LS_ISA asks for less than the CPU has. */
static bool onednn_pays(bool bf16)
{
    return bf16 && ls__kernels_bf16() == ls__kernels_pairs() &&
           ls__onednn_pays();
}

#else

static int find_onednn(ls__backend *backend, bool bf16)
{
    (void)backend;
    (void)bf16;
    return ls__fail(LS_ENOTSUP, "backend \"onednn\" is not built into this "
                    "library: install oneDNN 2 (Debian, Ubuntu: libdnnl-dev) "
                    "and ./configure --with-onednn");
}

static bool onednn_pays(bool bf16)
{
    (void)bf16;
    return false;
}

#endif

static const struct {
    const char *name;
    int (*find)(ls__backend *backend, bool bf16);
} backends[] = {
    {"native", find_native}, {"blis", find_blis}, {"onednn", find_onednn}};

int ls__backend_find(ls__backend *backend, const char *name, bool bf16)
{
    if (!name)
        name = onednn_pays(bf16) ? "onednn" : "native";
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        if (!strcmp(backends[i].name, name))
            return backends[i].find(backend, bf16);
    return ls__fail(LS_EINVAL, "backend \"%s\" is unknown; there are native, "
                    "blis and onednn", name);
}

/* ------ what they say of themselves ------ */

static const char *native_text(const ls__backend *b)
{
    if (!b->bf16)
        return "f32 products";
    return b->gemm == ls__kernels()->bf16.gemm ? "rounding, then f32 products"
                                               : "AVX512-BF16 products";
}

int ls_backend_text(char text[LS_TEXT], const char *backend,
                    ls_precision precision)
{
    ls__backend b;
    int status = ls__backend_find(&b, backend, precision == LS_BF16_LAYERS);

    if (status < 0)
        return status;
#ifdef LS_ONEDNN
    if (b.prepare) {
        ls__onednn_text(text);
        return 0;
    }
#endif
    snprintf(text, LS_TEXT, "%s", native_text(&b));
    return 0;
}
