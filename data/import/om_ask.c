/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes of nodes, and elements of tensors. */
#include "base/half.h"
#include "export/net.h"
#include "import/om.h"

#include <string.h>

/* ------ elements ------ */

static double number(const ls__om_tensor *t, uint64_t word)
{
    double wide;

    switch (t->type) {
    case LS__OM_FLOAT: return (double)ls__wire_float(word);
    case LS__OM_FLOAT16: return (double)ls__half((uint16_t)word);
    case LS__OM_BFLOAT16: return (double)ls__wire_float(word << 16);
    case LS__OM_DOUBLE: memcpy(&wide, &word, sizeof wide); return wide;
    case LS__OM_INT32: return (double)(int32_t)(uint32_t)word;
    default: return (double)(int64_t)word;
    }
}

double ls__om_element(const ls__om_tensor *t, int64_t i)
{
    ls__wire list = t->bytes;
    uint64_t word = 0;

    list.at += i * t->width;
    for (i = t->width ? 0 : i; i >= 0; i--)
        (void)ls__wire_number(&list, t->width, &word);
    return number(t, word);
}

bool ls__om_elements(const ls__om_tensor *t, double *out)
{
    ls__wire list = t->bytes;
    uint64_t word;

    if (!ls__om_width(t->type))
        return false;
    for (int64_t i = 0; i < t->elements; i++) {
        if (!ls__wire_number(&list, t->width, &word))
            return false;
        out[i] = number(t, word);
    }
    return true;
}

/* ------ attributes ------ */

bool ls__om_is(const ls__om_node *n, const char *words)
{
    return ls__net_word(n->op, words);
}

bool ls__om_attribute(const ls__om_node *n, const char *name, ls__wire *at)
{
    ls__wire from = n->all;
    ls__field f, called;

    while (ls__wire_next(&from, &f) > 0)
        if (f.number == 5 && ls__wire_find(f.bytes, 1, &called) &&
            ls__wire_is(called.bytes, name)) {
            *at = f.bytes;
            return true;
        }
    return false;
}

int64_t ls__om_integer(const ls__om_node *n, const char *name, int64_t usual)
{
    ls__wire at;
    ls__field f;

    return ls__om_attribute(n, name, &at) && ls__wire_find(at, 3, &f)
               ? (int64_t)f.value : usual;
}

double ls__om_real(const ls__om_node *n, const char *name, double usual)
{
    ls__wire at;
    ls__field f;

    return ls__om_attribute(n, name, &at) && ls__wire_find(at, 2, &f)
               ? (double)ls__wire_float(f.value) : usual;
}

/* The words of a list in fields of that number, which are packed or not. */
static int words(const ls__om_node *n, const char *name, int number, int width,
                 int most, uint64_t *out)
{
    ls__wire at;
    ls__field f;
    int got = 0;

    if (!ls__om_attribute(n, name, &at))
        return -1;
    while (ls__wire_next(&at, &f) > 0) {
        bool packed = f.bytes.at != NULL;

        for (bool more = f.number == number;
             more && (!packed || ls__wire_number(&f.bytes, width, &f.value));
             more = packed) {
            if (got < most)
                out[got] = f.value;
            got++;
        }
    }
    return got;
}

int ls__om_integers(const ls__om_node *n, const char *name, int most,
                    int64_t *out)
{
    return words(n, name, 8, 0, most, (uint64_t *)out);
}

int ls__om_reals(const ls__om_node *n, const char *name,
                 double out[LS__OM_REALS])
{
    uint64_t word[LS__OM_REALS];
    int got = words(n, name, 7, 4, LS__OM_REALS, word);

    for (int i = 0; i < got && i < LS__OM_REALS; i++)
        out[i] = (double)ls__wire_float(word[i]);
    return got;
}

bool ls__om_says(const ls__om_node *n, const char *name, const char *word)
{
    ls__wire at;
    ls__field f;

    return ls__om_attribute(n, name, &at) && ls__wire_find(at, 4, &f) &&
           ls__wire_is(f.bytes, word);
}

bool ls__om_may_say(const ls__om_node *n, const char *name, const char *word)
{
    ls__wire at;

    return !ls__om_attribute(n, name, &at) || ls__om_says(n, name, word);
}
