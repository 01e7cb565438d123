/* Matrix products by BLIS: the fallback, and the second witness of the bits.
 * The only file that knows BLIS, and only its public typed API.
 *
 * One thread, asked for in our own rntm_t, so that no environment variable
 * reaches in.  The small-matrix path is off: in 0.9 it sums in another order
 * for some shapes (and reads out of bounds).  K is cut by us: BLIS's own cut
 * depends on the kernel family.  Then every element is the chain that gemm.h
 * promises, for the families skx, haswell and zen3 alike. */
#define _GNU_SOURCE /* setenv */
#include "gemm/gemm.h"
#include "kernel/kernel.h"
#include "lockstep.h"

#include <blis.h>
#include <stdio.h>
#include <stdlib.h>

static void one_chunk(const ls__gemm *g, int64_t p, int64_t k, float *c,
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

static void blis_gemm(const ls__gemm *g, float *scratch)
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

/* BLIS goes by the CPU's marketing name and takes AVX2 kernels on most virtual
 * machines and new Xeons; a value it does not know makes it abort, so the
 * number is the one of the header we were compiled with. */
void ls_blis_tune(void)
{
#if defined(__x86_64__)
    char family[16];

    if (!ls__kernels_by_name("x86-64-v4"))
        return;
    snprintf(family, sizeof family, "%d", (int)BLIS_ARCH_SKX);
    (void)setenv("BLIS_ARCH_TYPE", family, 0);
#endif
}

/* What the environment asks of BLIS, -1 for nothing. */
static long asked_family(void)
{
    const char *value = getenv("BLIS_ARCH_TYPE");

    return value && *value ? strtol(value, NULL, 10) : -1;
}

void ls_blis_text(char text[LS_TEXT])
{
    const char *version = bli_info_get_version_str();
    long asked = asked_family();

    if (asked < -1 || asked >= BLIS_NUM_ARCHS) {
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

const ls__backend ls__backend_blis = {
    .name = "blis", .gemm = blis_gemm, .scratch = blis_scratch};
