/* SPDX-License-Identifier: BSD-3-Clause */
/* Asks C source of a model ROWS rows (a multiple of ASKED), together and every
 * eighth alone, and prints the hash of its outputs.  csource_targets.sh defines
 * HEADER as "net.h", NAME as net, UPPER as NET.  T0 (float, unless it is
 * defined), T1 and T2 are the types of its inputs, one or three; indices are
 * numbers from FROM to below BELOW. */
#include HEADER
#include "csource_rows.h"

#include <stdio.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define OF(name) JOIN(UPPER, name)
#ifndef T0
#define T0 float
#endif
#ifndef BELOW
#define BELOW 1
#define FROM 0
#endif
#ifdef T1
#define SIZE_0 OF(_INPUTS_0)
#else
#define SIZE_0 OF(_INPUTS)
#endif

#define FILL(x, type) \
    for (j = 0; j < (int)(sizeof x / sizeof *x); j++) \
        x[j] = (type)0.5f != 0 ? (type)draw_float(&a) \
                               : (type)draw_index(&a, FROM, BELOW)

static T0 x0[ASKED * SIZE_0];
#ifdef T1
static T1 x1[ASKED * OF(_INPUTS_1)];
static T2 x2[ASKED * OF(_INPUTS_2)];
#define ROW(k) x0 + (k) * SIZE_0, x1 + (k) * OF(_INPUTS_1), \
               x2 + (k) * OF(_INPUTS_2)
#else
#define ROW(k) x0 + (k) * SIZE_0
#endif
static float s[OF(_SCRATCH_ROWS) / 4 + 1], t[OF(_SCRATCH) / 4 + 1];
static float y[ASKED * OF(_OUTPUTS)], one[OF(_OUTPUTS)];

int main(void)
{
    asking a = first_asking;
    uint32_t differ = 0;
    long i;
    int j, k;

    for (i = 0; i < ROWS; i += ASKED) {
        FILL(x0, T0);
#ifdef T1
        FILL(x1, T1);
        FILL(x2, T2);
#endif
        JOIN(NAME, _predict_rows)(ASKED, ROW(0), y, s);
        for (j = 0; j < ASKED * (int)OF(_OUTPUTS); j++)
            take_output(&a, y[j]);
        for (k = 0; k < ASKED; k += 8) {
            JOIN(NAME, _predict)(ROW(k), one, t);
            for (j = 0; j < (int)OF(_OUTPUTS); j++)
                differ |= bits_of(one[j]) ^ bits_of(y[k * OF(_OUTPUTS) + j]);
        }
    }
    printf("%08lx%08lx%s\n", (unsigned long)(a.hash >> 32),
           (unsigned long)(a.hash & 0xffffffffu), differ ? " rows differ" : "");
    return 0;
}
