/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel's permission to use AMX, which a process has to ask for. */
#ifndef LS_KERNEL_AMX_H
#define LS_KERNEL_AMX_H

#include <stdbool.h>

/* Asks once a process, the first time, and then knows; for all its threads,
 * those that run already too.  A refusal is no error: the next best products
 * give the same bytes. */
bool ls__amx_permitted(void);

/* The kernel's answer: 0, or an errno; -1 before it was asked. */
int ls__amx_answer(void);

#endif
