/* Chooses the kernel table: the best level this CPU has, or the one that the
 * environment variable LS_ISA names (tests and comparisons). */
#include "base/error.h"
#include "kernel/kernel.h"
#include "lockstep.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)

extern const ls__kernel_table ls__kernels_v2, ls__kernels_v3, ls__kernels_v4;

const ls__kernel_table *const ls__kernel_levels[] = {
    &ls__kernels_v4, &ls__kernels_v3, &ls__kernels_v2, NULL};

/* __builtin_cpu_supports also asks the kernel for the wide registers. */
static bool has_level(const ls__kernel_table *k)
{
    bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");

    if (k == &ls__kernels_v4)
        return v3 && __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512cd") &&
               __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl");
    return k == &ls__kernels_v2 || v3;
}

#else

extern const ls__kernel_table ls__kernels_plain;

const ls__kernel_table *const ls__kernel_levels[] = {&ls__kernels_plain, NULL};

static bool has_level(const ls__kernel_table *k)
{
    (void)k;
    return true;
}

#endif

#ifdef LS_AVX512_BF16 /* the compiler knows it */

extern const ls__backend ls__bf16_pairs;

const ls__backend *ls__kernels_pairs(void)
{
    return has_level(&ls__kernels_v4) && __builtin_cpu_supports("avx512bf16")
               ? &ls__bf16_pairs : NULL;
}

#else

const ls__backend *ls__kernels_pairs(void)
{
    return NULL;
}

#endif

const ls__kernel_table *ls__kernels_by_name(const char *name)
{
    for (int i = 0; ls__kernel_levels[i]; i++)
        if (!strcmp(ls__kernel_levels[i]->name, name))
            return has_level(ls__kernel_levels[i]) ? ls__kernel_levels[i]
                                                   : NULL;
    return NULL;
}

static const ls__kernel_table *best(void)
{
    int i = 0;

    while (!has_level(ls__kernel_levels[i]))
        i++;
    return ls__kernel_levels[i];
}

/* "x86-64-v4, x86-64-v3, x86-64-v2": the levels of this CPU. */
static const char *levels_text(char text[LS_TEXT])
{
    size_t at = 0;

    for (int i = 0; ls__kernel_levels[i]; i++)
        if (has_level(ls__kernel_levels[i]))
            at += (size_t)snprintf(text + at, LS_TEXT - at, "%s%s",
                                   at ? ", " : "",
                                   ls__kernel_levels[i]->name);
    return text;
}

int ls__kernels_check(void)
{
    const char *name = getenv("LS_ISA");
    char text[LS_TEXT];

    if (!name || !*name || ls__kernels_by_name(name))
        return 0;
    return ls__fail(LS_EINVAL,
                    "LS_ISA=%s: not an instruction level that this CPU has; "
                    "it has %s", name, levels_text(text));
}

bool ls_isa_level(int i, ls_isa *isa)
{
    int n = 0;

    while (ls__kernel_levels[n])
        n++;
    if (i < 0 || i >= n)
        return false;
    *isa = (ls_isa){.name = ls__kernel_levels[i]->name,
                    .here = has_level(ls__kernel_levels[i]),
                    .portable = ls__kernel_levels[i]->fma,
                    .used = ls__kernel_levels[i] == ls__kernels()};
    return true;
}

int ls_isa_check(void)
{
    return ls__kernels_check();
}

const ls__kernel_table *ls__kernels(void)
{
    /* Relaxed: whichever thread stores it, the value is the same, and the
     * tables are constants. */
    static _Atomic(const ls__kernel_table *) chosen;
    const ls__kernel_table *k =
        atomic_load_explicit(&chosen, memory_order_relaxed);

    if (!k) {
        const char *name = getenv("LS_ISA");

        k = name && *name ? ls__kernels_by_name(name) : NULL;
        k = k ? k : best();
        atomic_store_explicit(&chosen, k, memory_order_relaxed);
    }
    return k;
}

const ls__backend *ls__kernels_bf16(void)
{
    const ls__kernel_table *k = ls__kernels();
    const ls__backend *pairs = ls__kernels_pairs();

    return pairs && k == ls__kernel_levels[0] ? pairs : &k->bf16;
}
