/* What the tests of agreement with other programs' numbers share. */
#ifndef TEST_AGREEMENT_H
#define TEST_AGREEMENT_H

#include "calls.h"
#include "models.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static inline void near(double got, double want, double tolerance,
                        const char *what, int at)
{
    ck_assert_msg(got - want <= tolerance && want - got <= tolerance,
                  "%s %d: %.9g, not %.9g (%.2g off)", what, at, got, want,
                  got - want);
}

#endif
