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

/* A number below n from the first 16 digits of a hash; -1: no memory.  (2^64 is
 * so much larger than n that the remainder favours none by more than 1 in
 * 10^9.) */
static int64_t number_below(const char *beacon, const char *digest, int counter,
                            int64_t n)
{
    char hex[65], *all = NULL;

    if (asprintf(&all, "%s %s %d", beacon, digest, counter) < 0)
        return -1;
    ls_digest(all, strlen(all), hex);
    free(all);
    hex[16] = 0;
    return (int64_t)(strtoull(hex, NULL, 16) % (uint64_t)n);
}

static int64_t length(const segment *x)
{
    return x->last - x->first;
}

int64_t segments_batches(const segments *s, int k)
{
    int64_t sum = 0;

    for (int i = 0; i < k; i++)
        sum += length(&s->of[i]);
    return sum;
}

static int by_place(const void *a, const void *b)
{
    const segment *x = a, *y = b;

    return (x->first > y->first) - (x->first < y->first);
}

int segments_draw(segments *s, int k, const char *beacon, const char *digest)
{
    int64_t left = segments_batches(s, s->count);

    for (int i = 0; i < k; i++) {
        int64_t at = number_below(beacon, digest, i, left);
        segment drawn;
        int j = i;

        if (at < 0)
            return opt_fail(OPT_FAILED, "no memory for segments");
        while (at >= length(&s->of[j]))
            at -= length(&s->of[j++]);
        drawn = s->of[j];
        memmove(s->of + i + 1, s->of + i, (size_t)(j - i) * sizeof drawn);
        s->of[i] = drawn;
        left -= length(&drawn);
    }
    qsort(s->of, (size_t)k, sizeof *s->of, by_place);
    return OPT_GO;
}

int segments_with_end(segments *s, int k, int64_t from)
{
    segment end = {0};
    int n = 0;

    for (int i = 0; i < s->count; i++) {
        if (s->of[i].last > end.last)
            end.last = s->of[i].last;
        if (s->of[i].first < from && s->of[i].first > end.first)
            end.first = s->of[i].first;
    }
    for (int i = 0; i < k; i++)
        if (s->of[i].last <= end.first)
            s->of[n++] = s->of[i];
    s->of[n++] = end;
    return n;
}

double segments_unseen(int64_t batches, int64_t trained, int wrong)
{
    double unseen = 1;

    for (int i = 0; i < wrong && i < batches; i++) {
        double left = (double)(batches - trained - i);

        unseen *= left > 0 ? left / (double)(batches - i) : 0;
    }
    return unseen;
}
