/* SPDX-License-Identifier: BSD-3-Clause */
/* Drawing one of n by unnormalised log-probabilities: jax.random.categorical,
 * the argmax of logits plus Gumbel noise -log(-log u). */
#include "base/assert.h"
#include "base/error.h"
#include "base/fpmode.h"
#include <lockstep/random.h>
#include "random/lane.h"

enum { CHUNK = 256 }; /* numbers drawn at once on the stack */

/* noise[j] = element first + j of jax.random.gumbel(key, ...). */
static void gumbel(ls_key key, int64_t first, int64_t n, float *noise)
{
    LS__ASSERT(n <= CHUNK);
    ls_random_uniform(key, (uint64_t)first, n, 0x1p-126f, 1.0f, noise);
    for (int64_t j = 0; j < n; j++)
        noise[j] = -ls__logf(-ls__logf(noise[j]));
}

static int64_t largest(int64_t n, const float *x)
{
    int64_t best = 0;

    for (int64_t i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    return best;
}

int64_t ls_random_categorical(ls_key key, int64_t n, const float *logits,
                              float temperature)
{
    LS__NEED(logits);

    ls__fpmode old = ls__fpmode_set();
    float x[CHUNK], top = -__builtin_inff();
    int64_t best = 0;

    if (!(temperature > 0))
        best = largest(n, logits);
    for (int64_t i = 0; i < n && temperature > 0; i += CHUNK) {
        int64_t part = n - i < CHUNK ? n - i : CHUNK, at;

        gumbel(key, i, part, x);
        for (int64_t j = 0; j < part; j++)
            x[j] += logits[i + j] / temperature;
        at = largest(part, x);
        if (x[at] > top) {
            top = x[at];
            best = i + at;
        }
    }
    ls__fpmode_restore(old);
    return best;
}
