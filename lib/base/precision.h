/* SPDX-License-Identifier: BSD-3-Clause */
/* The precisions' names, as files and messages have them. */
#ifndef LS_BASE_PRECISION_H
#define LS_BASE_PRECISION_H

#include "base/assert.h"

#include <lockstep/precision.h>

static inline const char *ls__precision_name(ls_precision precision)
{
    static const char *const names[] = {[LS_F32_LAYERS] = "f32",
                                        [LS_BF16_LAYERS] = "bf16",
                                        [LS_F32X3_LAYERS] = "f32x3"};

    LS__ASSERT((size_t)precision < sizeof names / sizeof *names);
    return names[precision];
}

#endif
