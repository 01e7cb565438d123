/* SPDX-License-Identifier: BSD-3-Clause */
/* See segments.h. */
#define _GNU_SOURCE
#include "verify/segments.h"
#include "opt/opt.h"

#include <lockstep/transcript.h>

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------ checkpoints of a folder ------ */

static const char PREFIX[] = "step-";

static int is_checkpoint(const struct dirent *e)
{
    const char *number = e->d_name + sizeof PREFIX - 1;

    return strncmp(e->d_name, PREFIX, sizeof PREFIX - 1) == 0 && *number &&
           strspn(number, "0123456789") == strlen(number);
}

int segments_find(segments *s, const char *folder, int64_t batches)
{
    struct dirent **entry;
    int n = scandir(folder, &entry, is_checkpoint, alphasort);
    int64_t at = 0;

    *s = (segments){0};
    if (n < 0)
        return opt_fail(OPT_FAILED, "%s: %s", folder, strerror(errno));
    s->of = calloc((size_t)n + 1, sizeof *s->of);
    for (int i = 0; i < n; i++) {
        int64_t next = atoll(entry[i]->d_name + sizeof PREFIX - 1);

        if (s->of && next > at && next < batches) {
            s->of[s->count++] = (segment){at, next};
            at = next;
        }
        free(entry[i]);
    }
    free(entry);
    if (!s->of)
        return opt_fail(OPT_FAILED, "no memory for segments");
    if (at < batches)
        s->of[s->count++] = (segment){at, batches};
    return OPT_GO;
}

void segments_free(segments *s)
{
    free(s->of);
    *s = (segments){0};
}

/* ------ drawing ------ */

/* A number below n from the first 16 digits of a hash.  (2^64 is so much larger
 * than n that the remainder favours none by more than 1 in 10^15.) */
static int number_below(const char *beacon, const char *digest, int counter,
                        int n)
{
    char text[64], hex[65], *all = NULL, high[17];
    uint64_t x;

    snprintf(text, sizeof text, "%d", counter);
    if (asprintf(&all, "%s %s %s", beacon, digest, text) < 0)
        return -1;
    ls_digest(all, strlen(all), hex);
    free(all);
    snprintf(high, sizeof high, "%.16s", hex);
    x = strtoull(high, NULL, 16);
    return (int)(x % (uint64_t)n);
}

static int by_place(const void *a, const void *b)
{
    const segment *x = a, *y = b;

    return (x->first > y->first) - (x->first < y->first);
}

int segments_draw(segments *s, int k, const char *beacon, const char *digest)
{
    for (int i = 0; i < k; i++) {
        int j = number_below(beacon, digest, i, s->count - i);
        segment drawn;

        if (j < 0)
            return opt_fail(OPT_FAILED, "no memory for segments");
        drawn = s->of[i + j];
        s->of[i + j] = s->of[i];
        s->of[i] = drawn;
    }
    qsort(s->of, (size_t)k, sizeof *s->of, by_place);
    return OPT_GO;
}

double segments_unseen(const segments *s, int k, int wrong)
{
    double unseen = 1;

    for (int i = 0; i < k; i++) {
        double left = s->count - wrong - i;

        unseen *= left > 0 ? left / (s->count - i) : 0;
    }
    return unseen;
}
