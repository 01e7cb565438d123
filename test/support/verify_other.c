/* SPDX-License-Identifier: BSD-3-Clause */
/* Records for lockstep-info --verify that are wrong:
 * test/tools/info/verify.sh looks at what it says of them. */
#include "info/verify.h"

const verify_known verify_table[] = {
    {"linear, sgd", {{"another state", 2, {0xb2cda4bf, 0}}}},
    {.name = NULL},
};
