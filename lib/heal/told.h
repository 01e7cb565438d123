/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings of a check: who was wrong, in words, and where its work goes. */
#ifndef LS_HEAL_TOLD_H
#define LS_HEAL_TOLD_H

#include "heal/heal.h"

/* Count after a drawn step, on the caller, and move who was wrong. */
void ls__told_step(ls__heal *h, const ls__step *s);

/* Nobody knows who is right: the status of the step. */
int ls__told_tie(const ls__heal *h, const ls__step *s, int kind, int part);

#endif
