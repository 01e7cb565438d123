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

typedef struct ls__facts {
    ls__fact fact[LS__FACTS];
    int count;
} ls__facts;

/* Add a fact; beyond LS__FACTS it is left out. */
__attribute__((format(printf, 3, 4))) void
ls__facts_put(ls__facts *f, const char *name, const char *format, ...);

/* The same of a number.  Its text is exact, and the same in every locale. */
void ls__facts_put_real(ls__facts *f, const char *name, double x);

/* Compare a list of facts over all ranks, which all call it.  LS_EINVAL, on all
 * ranks alike, names the first difference and both values. */
int ls__agree(const ls_transport *t, const ls__facts *facts);

#endif
