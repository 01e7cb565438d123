/* SPDX-License-Identifier: BSD-3-Clause */
/* See all_riders.h.  Who wants gradients whole comes before those who ask. */
#include "trainer/all_riders.h"
#include "heal/checked_step.h"
#include "riders/average.h"
#include "together/giving.h"
#include "riders/lazy.h"
#include "together/leaving.h"
#include "riders/statistics.h"
#include "riders/touched_blocks.h"
#include "together/ranks.h"
#include "riders/watch.h"
#include "riders/ways.h"

const ls__rider *const ls__all_riders[] = {
    &ls__ways, &ls__watch, &ls__lazy, &ls__touched_blocks, &ls__statistics,
    &ls__average, &ls__ranks_size, &ls__giving_rider, &ls__leaving_rider,
    &ls__check, NULL,
};
