/* What must be equal on all ranks before they train together. */
#ifndef LS_RANK_AGREE_H
#define LS_RANK_AGREE_H

#include "lockstep.h"

/* The most facts, and so what every rank sends, whatever its version. */
enum { LS__FACTS = 32 };

/* Something that must be the same everywhere, as a text. */
typedef struct ls__fact {
    char name[48];
    char value[80];
} ls__fact;

/* Compare a list of facts over all ranks, which all call it.  LS_EINVAL, on all
 * ranks alike, names the first difference and both values. */
int ls__agree(const ls_transport *t, int facts, const ls__fact *fact);

#endif
