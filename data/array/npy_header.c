/* SPDX-License-Identifier: BSD-3-Clause */
/* The header of a .npy file: the text of a Python dictionary with the keys
 * descr, fortran_order and shape, in any order, each once. */
#include "array/npy.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_MAX = 64 };

typedef struct cursor {
    ls__npy *npy;
    const char *text; /* ends with a zero byte */
    const char *at;
    int64_t first; /* place of text in the file */
} cursor;

static int refuse(const cursor *c, const char *what)
{
    return ls__npy_malformed(c->npy, what, c->first + (c->at - c->text));
}

static void skip_space(cursor *c)
{
    while (*c->at == ' ' || *c->at == '\n')
        c->at++;
}

static bool accept(cursor *c, char sign)
{
    skip_space(c);
    if (*c->at != sign)
        return false;
    c->at++;
    return true;
}

/* 'text' or "text", without escapes. */
static int read_string(cursor *c, char out[WORD_MAX])
{
    char quote = accept(c, '\'') ? '\'' : accept(c, '"') ? '"' : 0;
    size_t n;

    if (!quote)
        return refuse(c, "a quoted word is missing");
    n = strcspn(c->at, quote == '"' ? "\"" : "'");
    if (c->at[n] != quote || n >= WORD_MAX)
        return refuse(c, "a word has no end");
    memcpy(out, c->at, n);
    out[n] = 0;
    c->at += n + 1;
    return 0;
}

static int read_descr(cursor *c)
{
    char word[WORD_MAX];
    int status;

    skip_space(c);
    if (*c->at == '[')
        return refuse(c, "structured elements are not supported");
    status = read_string(c, word);
    if (status < 0)
        return status;
    if (!word[0] || !strchr("<>|", word[0]))
        return refuse(c, "descr has no byte order");
    c->npy->big_endian = word[0] == '>';
    c->npy->type = ls__npy_find_type(word + 1);
    return c->npy->type ? 0
                        : refuse(c, "descr is none of f2, f4, f8, i1, i2, i4, "
                                    "i8, u1, u2, u4, u8, b1 (x.astype(\"f4\") "
                                    "makes the second)");
}

static int read_fortran(cursor *c)
{
    skip_space(c);
    if (strncmp(c->at, "True", 4) != 0 && strncmp(c->at, "False", 5) != 0)
        return refuse(c, "fortran_order is neither True nor False");
    c->npy->fortran = *c->at == 'T';
    c->at += *c->at == 'T' ? 4 : 5;
    return 0;
}

static int read_extent(cursor *c, int64_t *out)
{
    char *end;
    long long n;

    if (*c->at < '0' || *c->at > '9')
        return refuse(c, "an extent of the shape is no number");
    errno = 0;
    n = strtoll(c->at, &end, 10);
    if (errno)
        return refuse(c, "an extent of the shape is too large");
    c->at = end + (*end == 'L'); /* Python 2 wrote 8L */
    *out = n;
    return 0;
}

static int read_shape(cursor *c)
{
    ls__npy *f = c->npy;
    int status;

    if (!accept(c, '('))
        return refuse(c, "the shape has no (");
    f->rank = 0;
    while (!accept(c, ')')) {
        if (f->rank == LS_MAX_RANK)
            return refuse(c, "the shape has more than 8 extents");
        status = read_extent(c, &f->shape[f->rank++]);
        if (status < 0)
            return status;
        skip_space(c);
        if (!accept(c, ',') && *c->at != ')')
            return refuse(c, "the shape has no )");
    }
    return 0;
}

static const struct {
    const char *name;
    int (*read)(cursor *c);
} keys[] = {
    {"descr", read_descr},
    {"fortran_order", read_fortran},
    {"shape", read_shape},
};
enum { KEYS = sizeof keys / sizeof *keys };

static int read_pair(cursor *c, bool seen[KEYS])
{
    char key[WORD_MAX];
    int k = 0, status = read_string(c, key);

    if (status < 0)
        return status;
    while (k < KEYS && strcmp(key, keys[k].name) != 0)
        k++;
    if (k == KEYS || seen[k])
        return refuse(c, "a key is unknown or given twice");
    if (!accept(c, ':'))
        return refuse(c, "a key has no :");
    seen[k] = true;
    return keys[k].read(c);
}

static int read_dictionary(cursor *c)
{
    bool seen[KEYS] = {false};
    int status;

    if (!accept(c, '{'))
        return refuse(c, "the header has no {");
    while (!accept(c, '}')) {
        status = read_pair(c, seen);
        if (status < 0)
            return status;
        if (!accept(c, ',') && *c->at != '}')
            return refuse(c, "the header has no }");
    }
    for (int k = 0; k < KEYS; k++)
        if (!seen[k])
            return refuse(c, "the header ends before all of descr, "
                             "fortran_order and shape");
    skip_space(c);
    return *c->at ? refuse(c, "something follows the header's }") : 0;
}

int ls__npy_parse(ls__npy *f, const char *text, int64_t length)
{
    cursor c = {f, text, text, f->at - length};

    if (memchr(text, 0, (size_t)length))
        return ls__npy_malformed(f, "the header holds a zero byte", c.first);
    return read_dictionary(&c);
}
