/* SPDX-License-Identifier: BSD-3-Clause */
/* One lane of v16_exp and v16_log (kernel/k_vmath.h). */
#ifndef LS_RANDOM_LANE_H
#define LS_RANDOM_LANE_H

float ls__expf(float x);
float ls__logf(float x);

#endif
