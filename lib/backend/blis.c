/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix products by BLIS, which have the bytes of the native ones: each checks
 * the other.  This is the only file that knows BLIS, and it uses only its
 * public typed API.
 *
 * One thread, asked for in our own rntm_t, so that no environment variable
 * reaches in.  The small-matrix path is off: in 0.9 it sums in another order
 * for some shapes (and reads out of bounds).  K is cut by us: BLIS's own cut
 * depends on the kernel family.  Then every element is the chain that
 * kernel/product.h promises, for the families skx, haswell and zen3 alike.
 * Families without fused multiply-add, which BLIS also takes on CPUs that it
 * does not know, break the promise: ls__blis_check tries a product and refuses
 * them. */
#define _GNU_SOURCE /* setenv */
#include "backend/backend.h"
#include "base/error.h"
#include "base/fma.h"
#include "base/memory.h"
#include "kernel/kernel.h"
#include <lockstep/measure.h>

#include <blis.h>
#include <stdio.h>
#include <stdlib.h>

static void one_chunk(const ls__product *g, int64_t p, int64_t k, float *c,
                      bool add)
{
    rntm_t rntm = BLIS_RNTM_INITIALIZER;
    float one = 1, beta = add ? 1 : 0;

    bli_rntm_set_num_threads(1, &rntm);
    bli_rntm_disable_l3_sup(&rntm);
    bli_sgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, g->m, g->n, k, &one,
                 (float *)g->a + p * g->a_col, g->a_row, g->a_col,
                 (float *)g->b + p * g->b_row, g->b_row, g->b_col, &beta, c,
                 g->c_row, 1, NULL, &rntm);
}

static void blis_gemm(const ls__product *g, float *scratch)
{
    (void)scratch;
    for (int64_t p = 0; p < g->k || p == 0; p += LS__CHUNK)
        one_chunk(g, p, g->k - p < LS__CHUNK ? g->k - p : LS__CHUNK, g->c,
                  p > 0 || g->accumulate);
    ls__kernels()->epilogue(g);
}

static int64_t blis_scratch(int64_t k, int64_t n)
{
    (void)k;
    (void)n;
    return 0;
}

/* ------ what the environment asks of BLIS ------ */

/* The families that BLIS was built with; any other ends the process. */
static const arch_t families[] = {
#ifdef BLIS_CONFIG_SKX
    BLIS_ARCH_SKX,
#endif
#ifdef BLIS_CONFIG_KNL
    BLIS_ARCH_KNL,
#endif
#ifdef BLIS_CONFIG_HASWELL
    BLIS_ARCH_HASWELL,
#endif
#ifdef BLIS_CONFIG_SANDYBRIDGE
    BLIS_ARCH_SANDYBRIDGE,
#endif
#ifdef BLIS_CONFIG_PENRYN
    BLIS_ARCH_PENRYN,
#endif
#ifdef BLIS_CONFIG_ZEN3
    BLIS_ARCH_ZEN3,
#endif
#ifdef BLIS_CONFIG_ZEN2
    BLIS_ARCH_ZEN2,
#endif
#ifdef BLIS_CONFIG_ZEN
    BLIS_ARCH_ZEN,
#endif
#ifdef BLIS_CONFIG_EXCAVATOR
    BLIS_ARCH_EXCAVATOR,
#endif
#ifdef BLIS_CONFIG_STEAMROLLER
    BLIS_ARCH_STEAMROLLER,
#endif
#ifdef BLIS_CONFIG_PILEDRIVER
    BLIS_ARCH_PILEDRIVER,
#endif
#ifdef BLIS_CONFIG_BULLDOZER
    BLIS_ARCH_BULLDOZER,
#endif
#ifdef BLIS_CONFIG_FIRESTORM
    BLIS_ARCH_FIRESTORM,
#endif
#ifdef BLIS_CONFIG_THUNDERX2
    BLIS_ARCH_THUNDERX2,
#endif
#ifdef BLIS_CONFIG_CORTEXA57
    BLIS_ARCH_CORTEXA57,
#endif
#ifdef BLIS_CONFIG_CORTEXA53
    BLIS_ARCH_CORTEXA53,
#endif
#ifdef BLIS_CONFIG_GENERIC
    BLIS_ARCH_GENERIC,
#endif
};

/* The family that is asked for; -1: none. */
static long asked_family(void)
{
    const char *value = getenv("BLIS_ARCH_TYPE");

    return value && *value ? strtol(value, NULL, 10) : -1;
}

static bool is_there(long family)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if ((long)families[i] == family)
            return true;
    return family == -1;
}

/* ------ which kernels BLIS has ------ */

/* The family of BLIS's kernels that keeps the contract here, by its number in
 * the header that we were compiled with: BLIS aborts for one that it was built
 * without.  -1 when there is none. */
static int fitting_family(void)
{
#ifdef BLIS_CONFIG_SKX
    if (ls__kernels_by_name("x86-64-v4"))
        return BLIS_ARCH_SKX;
#endif
#ifdef BLIS_CONFIG_HASWELL
    if (ls__kernels_by_name("x86-64-v3"))
        return BLIS_ARCH_HASWELL;
#endif
    return -1;
}

void ls_blis_tune(void)
{
    char number[16];

    if (fitting_family() < 0)
        return;
    snprintf(number, sizeof number, "%d", fitting_family());
    (void)setenv("BLIS_ARCH_TYPE", number, 0);
}

/* A product that goes over the edges of every family's tiles and is longer than
 * one chunk. */
enum { EDGE = 40, LONG = LS__CHUNK + 44 };

struct trial {
    float a[EDGE][LONG], b[LONG][EDGE], c[EDGE][EDGE];
};

/* Numbers with products that no float holds, so that each rounding shows. */
static void fill(int64_t n, uint32_t seed, float *x)
{
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        x[i] = (float)(int32_t)seed * 0x1p-31f;
    }
}

static bool element_is_right(const struct trial *t, int i, int j)
{
    float sum = 0;

    for (int p = 0; p < LONG; p += LS__CHUNK) {
        float chain = 0;

        for (int q = p; q < p + LS__CHUNK && q < LONG; q++)
            chain = ls__fmaf(t->a[i][q], t->b[q][j], chain);
        sum += chain;
    }
    return t->c[i][j] == sum;
}

/* Do the kernels that BLIS chose compute what kernel/product.h promises? */
static bool meets_contract(struct trial *t)
{
    ls__product g = {.m = EDGE, .n = EDGE, .k = LONG, .a = t->a[0],
                     .a_row = LONG, .a_col = 1, .b = t->b[0], .b_row = EDGE,
                     .b_col = 1, .c = t->c[0], .c_row = EDGE, .scale = 1};
    bool right = true;

    fill(EDGE * LONG, 1, t->a[0]);
    fill(LONG * EDGE, 2, t->b[0]);
    blis_gemm(&g, NULL);
    for (int i = 0; i < EDGE; i++)
        right = right && element_is_right(t, i, i);
    return right;
}

static int refuse(void)
{
    const char *chosen = bli_arch_string(bli_arch_query_id());
    const char *version = bli_info_get_version_str();

    if (fitting_family() < 0)
        return ls__fail(LS_ENOTSUP, "backend \"blis\": the kernels of BLIS %s "
                        "for this CPU, %s, do not round as native's do",
                        version, chosen);
    return ls__fail(LS_ENOTSUP, "backend \"blis\": BLIS %s chose its kernels "
                    "%s, which do not round as native's do; set "
                    "BLIS_ARCH_TYPE=%d (%s) or call ls_blis_tune() before BLIS "
                    "starts", version, chosen, fitting_family(),
                    bli_arch_string((arch_t)fitting_family()));
}

int ls__blis_check(void)
{
    struct trial *t;
    bool right;

    if (!is_there(asked_family()))
        return ls__fail(LS_EINVAL, "backend \"blis\": BLIS_ARCH_TYPE=%ld is no "
                        "family of kernels of this BLIS, which would end the "
                        "process", asked_family());
    if (!(t = ls__new(1, sizeof *t, "BLIS's trial")))
        return LS_ENOMEM;
    right = meets_contract(t);
    free(t);
    return right ? 0 : refuse();
}

void ls_blis_text(char text[LS_TEXT])
{
    LS__NEED_OR(text, );

    const char *version = bli_info_get_version_str();
    long asked = asked_family();

    if (!is_there(asked)) {
        snprintf(text, LS_TEXT, "BLIS %s; BLIS_ARCH_TYPE=%ld is no family of "
                 "kernels, BLIS will abort", version, asked);
        return;
    }
    bli_init(); /* asked earlier, 0.9 knows no family and aborts */
    snprintf(text, LS_TEXT, "BLIS %s, kernels %s (%s)", version,
             bli_arch_string(bli_arch_query_id()),
             asked < 0 ? "its own choice for this CPU"
                       : "BLIS_ARCH_TYPE is set");
}

static const ls__products products = {
    .gemm = blis_gemm, .scratch = blis_scratch};

const ls__backend ls__backend_blis = {
    .name = "blis", .text = "f32 products",
    .products = &products};
