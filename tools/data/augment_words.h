/* SPDX-License-Identifier: BSD-3-Clause */
/* --augment flip,crop:4,rotate:10,scale:0.8-1.2,..: the options of
 * ls_source_augment as words. */
#ifndef TOOLS_AUGMENT_WORDS_H
#define TOOLS_AUGMENT_WORDS_H

#include <lockstep/images.h>

/* OPT_GO, or OPT_WRONG after a message.  What the text does not name stays. */
int augment_read(const char *text, ls_augment_options *o);

#endif
