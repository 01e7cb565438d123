/* SPDX-License-Identifier: BSD-3-Clause */
/* F16, BF16 and F64 to floats by their bits.  An entry's data need not be
 * aligned. */
#include "file/convert.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/half.h"

#include <string.h>

typedef void convert_fn(const char *from, int64_t n, float *out);

static void from_f32(const char *from, int64_t n, float *out)
{
    if (n)
        memcpy(out, from, (size_t)n * sizeof *out);
}

static void from_bf16(const char *from, int64_t n, float *out)
{
    for (int64_t i = 0; i < n; i++) {
        uint16_t h;
        uint32_t bits;

        memcpy(&h, from + 2 * i, sizeof h);
        bits = (uint32_t)h << 16;
        memcpy(&out[i], &bits, sizeof bits);
    }
}

static void from_f16(const char *from, int64_t n, float *out)
{
    for (int64_t i = 0; i < n; i++) {
        uint16_t h;

        memcpy(&h, from + 2 * i, sizeof h);
        out[i] = ls__half(h);
    }
}

static void from_f64(const char *from, int64_t n, float *out)
{
    for (int64_t i = 0; i < n; i++) {
        double d;

        memcpy(&d, from + 8 * i, sizeof d);
        out[i] = (float)d;
    }
}

/* clang-format off */
static const struct {
    const char *name;
    int64_t bytes;
    convert_fn *convert; /* NULL: listed, not read */
} types[] = {
    { "F32", 4, from_f32 }, { "F16", 2, from_f16 }, { "BF16", 2, from_bf16 },
    { "F64", 8, from_f64 },
    { "I64", 8, NULL }, { "I32", 4, NULL }, { "I16", 2, NULL },
    { "I8", 1, NULL }, { "U64", 8, NULL }, { "U32", 4, NULL },
    { "U16", 2, NULL }, { "U8", 1, NULL }, { "BOOL", 1, NULL },
    { "F8_E5M2", 1, NULL }, { "F8_E4M3", 1, NULL },
    { "F8_E8M0", 1, NULL }, { "F8_E4M3FNUZ", 1, NULL },
    { "F8_E5M2FNUZ", 1, NULL }, { "C64", 8, NULL },
};
/* clang-format on */

static int find(const char *name)
{
    for (int i = 0; i < (int)(sizeof types / sizeof *types); i++)
        if (!strcmp(types[i].name, name))
            return i;
    return -1;
}

const char *ls__element_type(const char *name, int64_t *bytes)
{
    int i = find(name);

    if (i < 0)
        return NULL;
    *bytes = types[i].bytes;
    return types[i].name;
}

static int64_t too_large(const ls_entry *e)
{
    for (int64_t i = 0; i < e->elements; i++) {
        double d;

        memcpy(&d, (const char *)e->data + 8 * i, sizeof d);
        if (!__builtin_isinf(d) && __builtin_isinf((float)d))
            return i;
    }
    return -1;
}

int ls__convert_check(const ls_entry *e, const char *path)
{
    convert_fn *convert = types[find(e->dtype)].convert;
    int64_t bad;

    if (!convert)
        return ls__fail(LS_ENOTSUP, "%s: tensor \"%s\" is of type %s, not F32, "
                        "F16, BF16 or F64", path, e->name, e->dtype);
    if (convert == from_f64 && (bad = too_large(e)) >= 0)
        return ls__fail(LS_ERANGE, "%s: tensor \"%s\": element %lld is beyond "
                        "the range of a float", path, e->name, (long long)bad);
    return 0;
}

void ls__convert(const ls_entry *e, float *out)
{
    LS__ASSERT(find(e->dtype) >= 0 && types[find(e->dtype)].convert);
    types[find(e->dtype)].convert(e->data, e->elements, out);
}
