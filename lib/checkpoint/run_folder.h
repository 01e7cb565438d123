/* SPDX-License-Identifier: BSD-3-Clause */
/* The folder that one run keeps its checkpoints in: open, and locked, so that
 * no other run keeps its own there. */
#ifndef LS_CHECKPOINT_RUN_FOLDER_H
#define LS_CHECKPOINT_RUN_FOLDER_H

#include "checkpoint/checkpoint.h"

/* Open and lock the folder of a path (borrowed), made where there is none.
 * LS_EBUSY: another run has it. */
int ls__run_folder_open(ls__folder *dir, const char *path);

/* Look, before a save, whether the folder is still there under its path.  Where
 * another one is, that is opened and locked in its place. */
int ls__run_folder_find(ls__folder *dir);

/* Accepts one that is not open. */
void ls__run_folder_close(ls__folder *dir);

#endif
