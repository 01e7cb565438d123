/* Every rank sends its facts to all, and all compare all: so they end alike. */
#include "rank/agree.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/real_text.h"
#include "rank/link.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ls__facts_put(ls__facts *f, const char *name, const char *format, ...)
{
    ls__fact *next = &f->fact[f->count];
    va_list args;

    if (f->count == LS__FACTS)
        return;
    va_start(args, format);
    snprintf(next->name, sizeof next->name, "%s", name);
    vsnprintf(next->value, sizeof next->value, format, args);
    va_end(args);
    f->count++;
}

void ls__facts_put_real(ls__facts *f, const char *name, double x)
{
    char text[32];

    snprintf(text, sizeof text, "%.17g", x);
    ls__real_point(text);
    ls__facts_put(f, name, "%s", text);
}

static int compare(const ls_transport *t, const ls__facts *of)
{
    for (int i = 0; i < LS__FACTS; i++)
        for (int r = 1; r < t->ranks; r++) {
            const ls__fact *a = &of[0].fact[i], *b = &of[r].fact[i];

            if (strncmp(a->name, b->name, sizeof a->name) ||
                strncmp(a->value, b->value, sizeof a->value))
                return ls__fail(LS_EINVAL, "ranks differ: %.47s is %.79s on "
                                "rank %d, and %.79s on rank 0", b->name,
                                b->value, r, a->value);
        }
    return 0;
}

int ls__agree(const ls_transport *t, const ls__facts *facts)
{
    ls__facts *of = ls__new((size_t)t->ranks, sizeof *of, "facts of ranks");
    int status;

    if (!of)
        return LS_ENOMEM;
    of[t->rank] = *facts;
    status = ls__link_gather_each(t, of, sizeof *of);
    if (status == 0)
        status = compare(t, of);
    free(of);
    return status;
}
