/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells other data from this: a sum over what the model is given, so that files
 * may move and change their format.  No protection against somebody who tries.
 */
#include "data/data.h"
#include "opt/opt.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 64 }; /* rows at a time: the sum depends on it */

/* n numbers of `width` bytes, 1 or 4, eight bytes at a time, the first ones
 * lowest on every machine; the last ones stand over those before them. */
static uint64_t mix(uint64_t sum, const void *from, size_t n, size_t width)
{
    const uint8_t *byte = from;
    const uint32_t *word = from;
    uint64_t eight = 0, all = width == 4 ? UINT32_MAX : UINT8_MAX;

    for (size_t i = 0; i < n; i++) {
        size_t shift = 8 * (i * width % 8);

        eight &= ~(all << shift);
        eight |= (uint64_t)(width == 4 ? word[i] : byte[i]) << shift;
        if (shift + 8 * width < 64 && i + 1 < n)
            continue;
        sum = (sum ^ eight) * 0x9e3779b97f4a7c15;
        sum ^= sum >> 32;
    }
    return sum;
}

/* ------ Rows of a source ------ */

static int mix_rows(const ls_source *s, void *const *out, uint64_t *sum)
{
    for (int64_t first = 0; first < s->rows; first += CHUNK) {
        int64_t n = s->rows - first < CHUNK ? s->rows - first : CHUNK;

        if (data_read(s, first, n, out) < 0)
            return opt_check(-1);
        for (int a = 0; a < s->n_arrays; a++)
            *sum = mix(*sum, out[a],
                       (size_t)n * data_row_bytes(&s->arrays[a]) / 4, 4);
    }
    return OPT_GO;
}

static int mix_source(const ls_source *s, uint64_t *sum)
{
    void *out[DATA_INPUTS] = {NULL};
    int status = OPT_GO;

    for (int a = 0; a < s->n_arrays && status == OPT_GO; a++)
        if (!(out[a] = malloc(CHUNK * data_row_bytes(&s->arrays[a]))))
            status = opt_fail(OPT_FAILED, "checksum: out of memory");
    if (status == OPT_GO)
        status = mix_rows(s, out, sum);
    for (int a = 0; a < s->n_arrays; a++)
        free(out[a]);
    return status;
}

/* ------ A text ------ */

static void mix_bytes(void *user, const unsigned char *bytes, size_t n)
{
    uint64_t *sum = user;

    *sum = mix(*sum, bytes, n, 1);
}

/* ------ */

static int held_checksum(data *d)
{
    d->held_sum = 0;
    if (text_is(&d->text))
        return text_each(&d->text.held, mix_bytes, &d->held_sum);
    return d->evaluation.rows ? mix_source(&d->evaluation, &d->held_sum)
                              : OPT_GO;
}

int data_checksum(data *d, bool held)
{
    int status = OPT_GO;

    d->sum = 0;
    if (d->source.fill)
        status = mix_source(&d->source, &d->sum);
    if (d->mask.data)
        d->sum = mix(d->sum, d->mask.data, (size_t)d->mask.shape[0], 4);
    if (status == OPT_GO && text_is(&d->text))
        status = text_each(&d->text.train, mix_bytes, &d->sum);
    return held && status == OPT_GO ? held_checksum(d) : status;
}
