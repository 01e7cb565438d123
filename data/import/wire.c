/* SPDX-License-Identifier: BSD-3-Clause */
/* See wire.h. */
#include "import/wire.h"
#include "base/error.h"

#include <string.h>

enum { VARINT = 0, EIGHT_BYTES = 1, LENGTH = 2, FOUR_BYTES = 5 };

static bool varint(ls__wire *w, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; w->at < w->end && shift < 64; shift += 7) {
        uint8_t byte = *w->at++;

        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

/* Little-endian, whatever this machine is. */
static bool fixed(ls__wire *w, int n, uint64_t *value)
{
    if (ls__wire_size(*w) < (size_t)n)
        return false;
    *value = 0;
    for (int i = 0; i < n; i++)
        *value |= (uint64_t)*w->at++ << (8 * i);
    return true;
}

bool ls__wire_number(ls__wire *list, int width, uint64_t *value)
{
    return width ? fixed(list, width, value) : varint(list, value);
}

static bool part(ls__wire *w, ls__wire *bytes)
{
    uint64_t n;

    if (!varint(w, &n) || n > ls__wire_size(*w))
        return false;
    *bytes = (ls__wire){w->at, w->at + n};
    w->at += n;
    return true;
}

static bool payload(ls__wire *w, int kind, ls__field *field)
{
    switch (kind) {
    case VARINT: return varint(w, &field->value);
    case EIGHT_BYTES: return fixed(w, 8, &field->value);
    case FOUR_BYTES: return fixed(w, 4, &field->value);
    case LENGTH: return part(w, &field->bytes);
    default: return false;
    }
}

int ls__wire_next(ls__wire *w, ls__field *field)
{
    uint64_t key;

    *field = (ls__field){0};
    if (w->at == w->end)
        return 0;
    if (!varint(w, &key) || key >> 3 < 1 || key >> 3 > 536870911 ||
        !payload(w, (int)(key & 7), field))
        return ls__fail(LS_EFORMAT, "not Protocol Buffers, or cut off");
    field->number = (int)(key >> 3);
    return 1;
}

bool ls__wire_find(ls__wire message, int number, ls__field *field)
{
    ls__field each;
    bool there = false;

    while (ls__wire_next(&message, &each) > 0)
        if (each.number == number) {
            *field = each;
            there = true;
        }
    return there;
}

bool ls__wire_is(ls__wire bytes, const char *text)
{
    size_t n = strlen(text);

    return ls__wire_size(bytes) == n && (!n || !memcmp(bytes.at, text, n));
}

float ls__wire_float(uint64_t bits)
{
    uint32_t word = (uint32_t)bits;
    float x;

    memcpy(&x, &word, sizeof x);
    return x;
}
