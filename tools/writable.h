/* Can a result be written there?  Better found before the training than after
 * it. */
#ifndef TOOLS_WRITABLE_H
#define TOOLS_WRITABLE_H

#include <stdbool.h>

/* OPT_GO, or OPT_FAILED after a message; path NULL: nothing is asked.  Looks
 * only: no file is made, opened or changed.  aside: it will be written beside
 * and renamed, as the library does, which no device survives; otherwise it is
 * opened itself, and may be one. */
int writable_check(const char *path, bool aside);

#endif
