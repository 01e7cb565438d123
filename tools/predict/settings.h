/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of lockstep-predict. */
#ifndef TOOLS_PREDICT_SETTINGS_H
#define TOOLS_PREDICT_SETTINGS_H

#include "opt/opt.h"

typedef struct settings {
    const char *output, *of, *onnx, *c, *lora, *prompt;
    int64_t generate, top_k, seed; /* 0: no text; all bytes */
    bool score, explain, skip_broken, int8;
    const char *plot, *keep;
    double temperature, threshold; /* 0: none */
} settings;

enum { OF_ROWS = 1 }; /* a mark: of no use without an INPUT */

extern const opt_rows settings_rows;
extern const opt_model *const settings_models[];

#endif
