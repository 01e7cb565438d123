/* SPDX-License-Identifier: BSD-3-Clause */
/* CPU dispatch: chooses the kernel table, the best level here, or the one that
 * the environment variable LS_ISA names (tests and comparisons). */
#include "base/assert.h"
#include "base/error.h"
#include "base/sized.h"
#include "kernel/amx.h"
#include "kernel/fault.h"
#include "kernel/kernel.h"
#include <lockstep/measure.h>

#ifdef LS_AVX512_BF16
#include <cpuid.h>
#endif
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------ What this CPU has ------ */

static bool always(void)
{
    return true;
}

#if defined(__x86_64__)

/* __builtin_cpu_supports also asks the kernel for the wide registers. */
static bool has_v3(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_v4(void)
{
    return has_v3() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

#endif

#ifdef LS_AVX512_BF16 /* the compiler knows it */

static bool has_pairs(void)
{
    return __builtin_cpu_supports("avx512bf16");
}

/* Intel's CPUs take twice as long for a pair as for a fused multiply-add. */
static bool pairs_pay(void)
{
    return !__builtin_cpu_is("intel");
}

/* AMD's family 26 is Zen 5, which v4_bf16_wide.c is for. */
static bool wide_pairs_pay(void)
{
    unsigned a = 0, b, c, d;

    return __builtin_cpu_is("amd") && __get_cpuid(1, &a, &b, &c, &d) &&
           (a >> 8 & 0xf) + (a >> 20 & 0xff) >= 26;
}

#endif

#ifdef LS_AMX

/* GCC and clang also ask whether the kernel saves tiles. */
static bool has_amx(void)
{
    return __builtin_cpu_supports("avx512bf16") &&
           __builtin_cpu_supports("amx-tile") &&
           __builtin_cpu_supports("amx-bf16") && ls__amx_permitted();
}

#endif

/* ------ The levels and the units ------ */

extern const ls__kernel_table ls__kernels_v2, ls__kernels_v3, ls__kernels_v4,
    ls__kernels_neon, ls__kernels_plain, ls__kernels_test;
extern const ls__backend ls__bf16_pairs, ls__bf16_pairs_wide, ls__bf16_amx,
    ls__x3_amx;

/* The instruction levels compiled in, best first. */
static const struct level {
    const ls__kernel_table *kernels;
    bool (*here)(void);
} levels[] = {
#if defined(__x86_64__)
    {&ls__kernels_v4, has_v4},
    {&ls__kernels_v3, has_v3},
    {&ls__kernels_v2, always},
#ifdef LS_TEST_LEVEL
    {&ls__kernels_test, has_v3},
#endif
#else
#if defined(__aarch64__)
    {&ls__kernels_neon, always},
#else
    {&ls__kernels_plain, always},
#endif
#ifdef LS_TEST_LEVEL
    {&ls__kernels_test, always},
#endif
#endif
};

/* Extensions that some CPUs of a level have, best first, and whether that is
 * better than what all of them have. */
static const struct extension {
    const ls__kernel_table *level;
    ls_precision precision;
    const ls__backend *maker;
    bool (*here)(void);
    bool (*pays)(void);
} extensions[] = {
#ifdef LS_AMX
    {&ls__kernels_v4, LS_BF16_LAYERS, &ls__bf16_amx, has_amx, always},
    {&ls__kernels_v4, LS_F32X3_LAYERS, &ls__x3_amx, has_amx, always},
#endif
#ifdef LS_AVX512_BF16
    {&ls__kernels_v4, LS_BF16_LAYERS, &ls__bf16_pairs_wide, has_pairs,
     wide_pairs_pay},
    {&ls__kernels_v4, LS_BF16_LAYERS, &ls__bf16_pairs, has_pairs, pairs_pay},
#endif
    {NULL, LS_F32_LAYERS, NULL, always, always}};

const ls__kernel_table *ls__kernels_level(int i)
{
    return i >= 0 && i < (int)(sizeof levels / sizeof *levels)
               ? levels[i].kernels : NULL;
}

/* Find number *i of the extensions that pay, or do not; *i counts down. */
static const ls__backend *maker_for(const ls__kernel_table *k,
                                    ls_precision precision, bool pays, int *i)
{
    for (const struct extension *u = extensions; u->level; u++)
        if (u->level == k && u->precision == precision && u->here() &&
            u->pays() == pays && (*i)-- == 0)
            return u->maker;
    return NULL;
}

const ls__backend *ls__kernels_maker(const ls__kernel_table *k,
                                     ls_precision precision, int i)
{
    const ls__backend *maker = maker_for(k, precision, true, &i);

    if (!maker && i-- == 0)
        maker = &k->native[precision];
    return maker ? maker : maker_for(k, precision, false, &i);
}

/* ------ Which is used ------ */

const ls__kernel_table *ls__kernels_by_name(const char *name)
{
    for (int i = 0; ls__kernels_level(i); i++)
        if (!strcmp(levels[i].kernels->name, name))
            return levels[i].here() ? levels[i].kernels : NULL;
    return NULL;
}

static const ls__kernel_table *best(void)
{
    int i = 0;

    while (!levels[i].here())
        i++;
    return levels[i].kernels;
}

/* "x86-64-v4, x86-64-v3, x86-64-v2": the levels of this CPU. */
static const char *levels_text(char text[LS_TEXT])
{
    size_t at = 0;

    for (int i = 0; ls__kernels_level(i); i++)
        if (levels[i].here())
            at += (size_t)snprintf(text + at, LS_TEXT - at, "%s%s",
                                   at ? ", " : "", levels[i].kernels->name);
    return text;
}

int ls__kernels_check(void)
{
    const char *name = getenv("LS_ISA");
    char text[LS_TEXT];

    if (!name || !*name || ls__kernels_by_name(name))
        return 0;
    return ls__fail(LS_EINVAL, "LS_ISA=%s: not an instruction level that this "
                    "CPU has; it has %s", name, levels_text(text));
}

bool ls_isa_level_bytes(int i, ls_isa *isa, size_t size)
{
    LS__NEED_OR(isa, false);

    const ls__kernel_table *k = ls__kernels_level(i);
    ls_isa level;

    if (!k)
        return false;
    level = (ls_isa){.name = k->name, .here = levels[i].here(),
                     .used = !strcmp(k->name, ls__kernels()->name)};
    ls__sized_put(isa, size, &level, sizeof level);
    return true;
}

int ls_isa_check(void)
{
    return ls__kernels_check();
}

const ls__kernel_table *ls__kernels(void)
{
    /* The value is the same from every thread.  Release and acquire:
     * the tables are constants, except for a test's (LS_TEST_LEVEL). */
    static _Atomic(const ls__kernel_table *) chosen;
    const ls__kernel_table *k =
        atomic_load_explicit(&chosen, memory_order_acquire);

    if (!k) {
        const char *name = getenv("LS_ISA");

        k = name && *name ? ls__kernels_by_name(name) : NULL;
        k = k ? k : best();
#ifdef LS_TEST_LEVEL
        k = ls__fault_wrap(k);
#endif
        LS__ASSERT(k);
        atomic_store_explicit(&chosen, k, memory_order_release);
    }
    return k;
}
