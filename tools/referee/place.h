/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts that say where an element stands, as lockstep-inspect says it. */
#ifndef REFEREE_PLACE_H
#define REFEREE_PLACE_H

#include "find.h"

/* An array; its element, with its coordinates. */
const char *place_text(const array *k);
const char *element_text(const array *k, int64_t at);

#endif
