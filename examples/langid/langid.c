/* SPDX-License-Identifier: BSD-3-Clause */
#include "langid.h"
#include "features.h"
#include "languages.h"
#include "model.h"

int langid_languages(void)
{
    return MODEL_OUTPUTS;
}

const char *langid_name(int i)
{
    return i >= 0 && i < MODEL_OUTPUTS ? languages[i] : NULL;
}

int langid_detect(const char *text, size_t n, float *likely)
{
    float scratch[MODEL_SCRATCH / sizeof(float)], y[MODEL_OUTPUTS];
    int32_t x[FEATURES];
    int best = 0;

    features(text, n, x);
    if (x[0] < 0)
        return -1;
    model_predict(x, y, scratch);
    for (int i = 1; i < MODEL_OUTPUTS; i++)
        best = y[i] > y[best] ? i : best;
    if (likely)
        *likely = y[best];
    return best;
}
