/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock that only goes forward, for durations. */
#ifndef LS_BASE_CLOCK_H
#define LS_BASE_CLOCK_H

#include <stdint.h>

int64_t ls__nanoseconds(void);
double ls__seconds(void);

#endif
