/* SPDX-License-Identifier: BSD-3-Clause */
/* See all_hooks.h.  Hooks that want gradients whole come before those that ask.
 */
#include "trainer/all_hooks.h"
#include "heal/heal.h"
#include "hooks/step_hooks.h"
#include "ranks/all_gather.h"
#include "ranks/reduce_scatter.h"
#include "hooks/statistics.h"
#include "ranks/ranks.h"

const ls__hook *const ls__all_hooks[] = {
    &ls__ways, &ls__watch, &ls__lazy, &ls__touched_blocks, &ls__statistics,
    &ls__average, &ls__ranks_size, &ls__all_gather_hook,
    &ls__reduce_scatter_hook, &ls__check, NULL,
};
_Static_assert(sizeof ls__all_hooks / sizeof *ls__all_hooks <= LS__HOOKS,
               "a trainer has room for all that ride, and for NULL");
