/* SPDX-License-Identifier: BSD-3-Clause */
/* --publish: a folder of what others need to check a run. */
#ifndef TOOLS_PUBLISH_H
#define TOOLS_PUBLISH_H

#include "train/session.h"

/* Make the folder, and name its files in the places of --transcript and --save.
 * OPT_WRONG, OPT_FAILED after a message. */
int publish_open(session *s);

/* Write what the files are and how they are checked, once they are there.
 * OPT_FAILED after a message. */
int publish_write(const train_settings *set);

#endif
