/* SPDX-License-Identifier: BSD-3-Clause */
/* The facts that must be equal on all ranks before they train together. */
#ifndef LS_RANKS_AGREE_H
#define LS_RANKS_AGREE_H

#include "base/fact_list.h"
#include <lockstep/transport.h>

/* Compare a list of facts over all ranks, which all call it.  LS_EINVAL, on all
 * ranks alike, names the first difference and both values; LS_ENOMEM, alike
 * too, where there was no memory on one of them. */
int ls__agree(const ls_transport *t, const ls__facts *facts);

/* Called instead by a rank that failed and has no facts: the others fail with
 * its status and its message, which stay its own. */
void ls__agree_to_fail(const ls_transport *t, int status);

#endif
