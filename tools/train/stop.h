/* SPDX-License-Identifier: BSD-3-Clause */
/* Ctrl-C, SIGTERM, SIGHUP, and SIGUSR1 and SIGUSR2, which schedulers send some
 * time before they kill.  The first one asks the run to end after the present
 * step, or within an evaluation, leaving everything as at its normal end; a
 * second one ends the process at once.  A signal that is ignored when the
 * program starts (nohup, a shell's background) stays ignored. */
#ifndef TOOLS_STOP_H
#define TOOLS_STOP_H

#include "run/run.h"

/* Catch them from now on. */
void stop_open(void);

/* The signal that came, or 0. */
int stop_signal(void);

/* The same on whichever rank it came; all call it. */
int stop_asked(const run *r, int *number);

/* A run that ended well ends with 128 + the signal if one came, which is what
 * shells show for a program that died of it. */
int stop_status(int status);

#endif
