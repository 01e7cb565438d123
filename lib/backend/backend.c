/* SPDX-License-Identifier: BSD-3-Clause */
/* Backends, which compute matrix products (GEMM): their table by name. */
#include "backend/backend.h"
#include "base/error.h"
#include "base/precision.h"
#include "kernel/amx.h"
#include "kernel/kernel.h"
#include <lockstep/measure.h>

#include <stdio.h>
#include <string.h>

void ls__multiply_deep(const ls__backend *b, const ls__product *g,
                       float *scratch)
{
    ls__product piece;

    _Static_assert((int)LS__DEEP % (int)LS__CHUNK == 0, "whole chunks");
    if (g->k <= LS__DEEP) {
        b->products->gemm(g, scratch);
        return;
    }
    piece = *g;
    for (int64_t p = 0; p < g->k; p += LS__DEEP) {
        piece.k = g->k - p < LS__DEEP ? g->k - p : LS__DEEP;
        piece.a = g->a + p * g->a_col / (g->a_bf16 ? 2 : 1);
        piece.b = g->b + p * g->b_row;
        b->products->gemm(&piece, scratch);
        piece.accumulate = true;
    }
}

/* ------ one a name ------ */

static int find_native(ls__backend *backend, ls_precision precision)
{
    *backend = *ls__kernels_maker(ls__kernels(), precision, 0);
    return 0;
}

static int find_blis(ls__backend *backend, ls_precision precision)
{
    int status;

    if (precision != LS_F32_LAYERS)
        return ls__fail(LS_ENOTSUP, "backend \"blis\" has no %s products; "
                        "native has", ls__precision_name(precision));
    status = ls__blis_check();
    if (status == 0)
        *backend = ls__backend_blis;
    return status;
}

static const struct {
    const char *name;
    int (*find)(ls__backend *backend, ls_precision precision);
} backends[] = {
    {"native", find_native}, {"blis", find_blis}};

enum { BACKENDS = sizeof backends / sizeof *backends };

const char *ls_backend_name(int i)
{
    return i >= 0 && i < BACKENDS ? backends[i].name : NULL;
}

/* The names, "native, blis". */
static const char *names(char text[LS_TEXT])
{
    size_t at = 0;

    for (int i = 0; i < BACKENDS; i++)
        at += (size_t)snprintf(text + at, LS_TEXT - at, "%s%s", i ? ", " : "",
                               backends[i].name);
    return text;
}

int ls__backend_find(ls__backend *backend, const char *name,
                     ls_precision precision)
{
    char text[LS_TEXT];

    for (int i = 0; i < BACKENDS; i++)
        if (!name || !strcmp(backends[i].name, name))
            return backends[i].find(backend, precision);
    return ls__fail(LS_EINVAL, "backend \"%s\" is unknown; there are %s", name,
                    names(text));
}

/* ------ what they say of themselves ------ */

int ls_backend_text(char text[LS_TEXT], const char *backend,
                    ls_precision precision)
{
    LS__NEED(text);

    ls__backend b;
    int status = ls__backend_find(&b, backend, precision);

    if (status == 0)
        snprintf(text, LS_TEXT, "%s", b.text);
    if (status == 0 && precision != LS_F32_LAYERS && ls__amx_answer() > 0)
        snprintf(text, LS_TEXT, "%s (AMX: the kernel refuses it: %s)", b.text,
                 strerror(ls__amx_answer()));
    return status;
}
