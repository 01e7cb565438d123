/* SPDX-License-Identifier: BSD-3-Clause */
/* Ctrl-C and SIGTERM.  The first one asks the run to end after the present
 * step, leaving everything as at its normal end; a second one ends the process
 * at once.  A signal that is ignored when the program starts (nohup, a shell's
 * background) stays ignored. */
#ifndef TOOLS_STOP_H
#define TOOLS_STOP_H

/* Catch them from now on. */
void stop_open(void);

/* The signal that came, or 0. */
int stop_signal(void);

/* A run that ended well ends with 128 + the signal if one came, which is what
 * shells show for a program that died of it. */
int stop_status(int status);

#endif
