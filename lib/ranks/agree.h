/* SPDX-License-Identifier: BSD-3-Clause */
/* What must be equal on all ranks before they train together. */
#ifndef LS_RANK_AGREE_H
#define LS_RANK_AGREE_H

#include "base/fact_list.h"
#include <lockstep/transport.h>

/* Compare a list of facts over all ranks, which all call it.  LS_EINVAL, on all
 * ranks alike, names the first difference and both values; LS_ENOMEM, alike
 * too, where there was no memory on one of them. */
int ls__agree(const ls_transport *t, const ls__facts *facts);

/* What a rank calls instead that has no facts, for it failed: the others fail
 * with its status and its message, which stay its own. */
void ls__agree_to_fail(const ls_transport *t, int status);

#endif
