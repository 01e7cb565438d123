/* SPDX-License-Identifier: BSD-3-Clause */
/* --explain: what a transcript says, in sentences. */
#ifndef TOOLS_EXPLAINED_H
#define TOOLS_EXPLAINED_H

#include "verify/published.h"

/* Print them; nothing is compared. */
void explained_print(const published *p);

#endif
