/* SPDX-License-Identifier: BSD-3-Clause */
/* Safetensors files, as they are and with their seal made right: what is
 * accepted can be read to the last byte. */
#define _GNU_SOURCE
#include "file/convert.h"
#include "file/safetensors.h"
#include "sealed_files.h"

static void look(const ls__safetensors *f)
{
    volatile float sum = 0;
    int64_t bytes = 0;

    for (int i = 0; i < f->count; i++) {
        const ls_entry *e = &f->entry[i];
        float *out;

        bytes += e->bytes;
        if (ls__convert_check(e, "fuzz") < 0)
            continue;
        if (!(out = malloc((size_t)e->elements * sizeof *out + 1)))
            abort();
        ls__convert(e, out);
        for (int64_t k = 0; k < e->elements; k++)
            sum += out[k];
        free(out);
    }
    for (int i = 0; i < f->pairs; i++)
        bytes += f->pair[i].name[0] + f->pair[i].value[0];
    sum += (float)bytes;
    (void)sum;
}

static void parse(const char *path)
{
    ls__safetensors f;

    if (ls__safetensors_read(&f, path) == 0) {
        look(&f);
        ls__safetensors_free(&f);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sealed_files(data, size, parse);
    return 0;
}

#ifndef FUZZING
static const char header[] =
    "{\"__metadata__\":{\"lockstep\":\"0\",\"lockstep.crc32\":\"00000000\"},"
    "\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
    "\"b.c\":{\"dtype\":\"BF16\",\"shape\":[],\"data_offsets\":[24,26]},"
    "\"d\":{\"dtype\":\"F64\",\"shape\":[0,7],\"data_offsets\":[26,26]},"
    "\"e\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[26,34]}}";

int main(void)
{
    uint8_t file[8 + sizeof header - 1 + 34] = {0};
    uint64_t n = sizeof header - 1;

    memcpy(file, &n, 8);
    memcpy(file + 8, header, n);
    feed(file, sizeof file, 50000);
    return 0;
}
#endif
