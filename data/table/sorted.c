/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts that are found by their order. */
#include "base/error.h"
#include "base/memory.h"
#include "base/pattern.h"
#include "table/csv.h"

#include <stdlib.h>
#include <string.h>

typedef struct entry {
    const char *text;
    int at;
} entry;

static int by_text(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->text, ((const entry *)b)->text);
}

int *ls__sort_texts(int n, const char *const *text, int *same)
{
    entry *e = ls__new((size_t)n, sizeof *e, "names");
    int *sorted = e ? ls__new((size_t)n, sizeof *sorted, "names") : NULL;

    for (int i = 0; sorted && i < n; i++)
        e[i] = (entry){text[i], i};
    if (sorted)
        qsort(e, (size_t)n, sizeof *e, by_text);
    *same = -1;
    for (int i = 0; sorted && i < n; i++) {
        sorted[i] = e[i].at;
        if (i && *same < 0 && !strcmp(e[i - 1].text, e[i].text))
            *same = e[i].at;
    }
    free(e);
    return sorted;
}

int ls__find_text(int n, const char *const *text, const int *sorted,
                  const char *wanted)
{
    int low = 0, high = n;

    while (low < high) {
        int middle = low + (high - low) / 2;
        int order = strcmp(text[sorted[middle]], wanted);

        if (order == 0)
            return sorted[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

int ls__no_text(const char *whose, const char *have, int n,
                const char *const *text, const char *wanted)
{
    size_t least = (strlen(wanted) + 1) / 2;
    int near = -1;

    for (int i = 0; i < n; i++) {
        size_t same = ls__name_nearness(wanted, text[i]);

        if (same >= least) {
            near = i;
            least = same + 1;
        }
    }
    if (n < 1)
        return ls__fail(LS_ENOTFOUND, "%s%s no column \"%s\"", whose, have,
                        wanted);
    return ls__fail(LS_ENOTFOUND, "%s%s no column \"%s\"; the %s is \"%s\"",
                    whose, have, wanted, near < 0 ? "last one" : "nearest",
                    text[near < 0 ? n - 1 : near]);
}
