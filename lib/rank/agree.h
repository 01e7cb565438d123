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

#endif
