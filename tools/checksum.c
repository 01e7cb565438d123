/* A checksum of the data, so that a run is not resumed on another set. */
#include "data.h"
#include "opt.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 4096 };

/* Tells other data from this, eight bytes at a time; no protection against
 * somebody who tries. */
static uint64_t mix(uint64_t sum, const void *from, size_t bytes)
{
    const char *p = from;
    uint64_t word = 0;

    for (; bytes > 0; bytes -= bytes < 8 ? bytes : 8, p += 8) {
        memcpy(&word, p, bytes < 8 ? bytes : 8);
        sum = (sum ^ word) * 0x9e3779b97f4a7c15;
        sum ^= sum >> 32;
    }
    return sum;
}

static uint64_t mix_tensor(uint64_t sum, const ls_tensor *t)
{
    size_t n = t->dtype == LS_U8 ? 1 : t->dtype >= LS_F64 ? 8 : 4;

    for (int i = 0; i < t->rank; i++)
        n *= (size_t)t->shape[i];
    return mix(sum, t->data, n);
}

/* ------ Images: rows are read one by one, from all over the files ------ */

static size_t pixel_bytes(const ls_source *s)
{
    const int64_t *shape = s->array[0].shape;

    return 4 * (size_t)(shape[0] * shape[1] * shape[2]);
}

static int mix_images(uint64_t *sum, const ls_source *s)
{
    int64_t rows = s->rows < MOST_ROWS ? s->rows : MOST_ROWS;
    size_t bytes = pixel_bytes(s);
    float *pixels = malloc(bytes);
    int status = 0;

    if (!pixels)
        return opt_fail(OPT_FAILED, "an image: out of memory");
    *sum = mix(*sum, &s->rows, sizeof s->rows);
    for (int64_t i = 0; i < rows && status >= 0; i++) {
        int64_t at = i * (s->rows - 1) / (rows > 1 ? rows - 1 : 1);
        int32_t label = 0;

        status = s->fill(s->user, 1, &at, (void *[]){pixels, &label});
        *sum = mix(mix(*sum, pixels, bytes), &label, sizeof label);
    }
    free(pixels);
    return opt_check(status);
}

int data_sum(data *d)
{
    uint64_t sum = 0;
    int status = OPT_GO;

    for (int i = 0; i < d->inputs; i++)
        sum = mix_tensor(sum, &d->input[i].all);
    if (d->text.bytes)
        sum = mix(sum, d->text.bytes, (size_t)d->text.train);
    else if (!d->inputs && d->source.fill)
        status = mix_images(&sum, &d->source);
    if (d->mask.data)
        sum = mix_tensor(sum, &d->mask);
    d->sum = sum;
    return status;
}
