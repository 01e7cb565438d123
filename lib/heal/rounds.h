/* SPDX-License-Identifier: BSD-3-Clause */
/* The pass of a drawn step: what every step does, and after each part of it the
 * rounds in which others compute that again. */
#ifndef LS_HEAL_ROUNDS_H
#define LS_HEAL_ROUNDS_H

#include "heal/heal.h"

ls__pass ls__heal_pass(bool ranks);

#endif
