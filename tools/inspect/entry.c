/* SPDX-License-Identifier: BSD-3-Clause */
/* See entry.h. */
#include "inspect/entry.h"
#include "opt/characters.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ls_entry entry_of(const ls_archive *a, int i)
{
    ls_entry e = {0};

    (void)ls_archive_entry(a, i, &e); /* i is one of its own */
    return e;
}

const char *entry_note(const ls_archive *a, const char *name)
{
    const char *key, *value;

    for (int i = 0; ls_archive_note(a, i, &key, &value); i++)
        if (!strcmp(key, name))
            return value;
    return NULL;
}

static bool is_float(const ls_entry *e)
{
    return strchr(e->dtype, 'F') && strncmp(e->dtype, "F8", 2) != 0;
}

size_t entry_width(const ls_entry *e)
{
    return e->elements ? (size_t)(e->bytes / e->elements) : 0;
}

/* The integer of an element, its sign seen to. */
static int64_t integer(const ls_entry *e, int64_t i)
{
    size_t n = entry_width(e);
    const char *from = (const char *)e->data + (size_t)i * n;
    bool is_signed = *e->dtype == 'I';
    uint16_t two;
    uint32_t four;
    int64_t eight = 0;

    switch (n) {
    case 1: return is_signed ? (int8_t)*from : (uint8_t)*from;
    case 2:
        memcpy(&two, from, sizeof two);
        return is_signed ? (int16_t)two : two;
    case 4:
        memcpy(&four, from, sizeof four);
        return is_signed ? (int64_t)(int32_t)four : four;
    default: memcpy(&eight, from, n); return eight;
    }
}

void entry_element(const ls_entry *e, const float *floats, int64_t i,
                   char text[ELEMENT_TEXT])
{
    if (!strcmp(e->dtype, "F64")) {
        double d;

        memcpy(&d, (const char *)e->data + 8 * i, sizeof d);
        snprintf(text, ELEMENT_TEXT, "%.17g", d);
    } else if (floats) {
        snprintf(text, ELEMENT_TEXT, "%.9g", (double)floats[i]);
    } else if (!strcmp(e->dtype, "U64")) {
        snprintf(text, ELEMENT_TEXT, "%" PRIu64, (uint64_t)integer(e, i));
    } else {
        snprintf(text, ELEMENT_TEXT, "%" PRId64, integer(e, i));
    }
}

float *entry_floats(const ls_archive *a, int i)
{
    ls_entry e = entry_of(a, i);
    float *out = is_float(&e) ? malloc((size_t)e.elements * sizeof *out + 1)
                              : NULL;

    if (out && ls_archive_read(a, i, e.elements, out) < 0) {
        free(out);
        out = NULL;
    }
    return out;
}

void entry_shape(const ls_entry *e, char text[ENTRY_TEXT])
{
    int at = snprintf(text, ENTRY_TEXT, "(");

    for (int i = 0; i < e->rank; i++)
        at += snprintf(text + at, (size_t)(ENTRY_TEXT - at), "%s%" PRId64,
                       i ? "," : "", e->shape[i]);
    snprintf(text + at, (size_t)(ENTRY_TEXT - at), ")");
}

void entry_print(const char *text, int width)
{
    for (width -= characters_print(stdout, text); width > 0; width--)
        putchar(' ');
}
