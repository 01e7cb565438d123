/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing what a row says; its grammar stands in onnx_pieces.h. */
#include "base/assert.h"
#include "base/real_text.h"
#include "export/onnx_pieces.h"

#include <stdlib.h>
#include <string.h>

enum { WORD = 32, MOST = LS_MAX_RANK + 4 }; /* letters; inputs, or integers */

typedef struct reader {
    ls__onnx *o;
    const ls__net_node *n;
    const char *at;
    const char *const *v;
    const int64_t *i;
} reader;

/* ------ words and numbers ------ */

/* Goes on behind a mark, if that comes next. */
static bool take(reader *r, const char *mark)
{
    size_t n = strlen(mark);

    r->at += strspn(r->at, " ");
    if (strncmp(r->at, mark, n))
        return false;
    r->at += n;
    return true;
}

static void expect(reader *r, const char *mark)
{
    bool there = take(r, mark);

    LS__ASSERT(there);
    (void)there;
}

static void word(reader *r, char text[WORD])
{
    size_t n = strcspn(r->at += strspn(r->at, " "), " ()[],;=+.'");

    LS__ASSERT(n && n < WORD);
    memcpy(text, r->at, n);
    text[n] = 0;
    r->at += n;
}

/* Returns k of "x2" or "p0"; -1: it is no such word. */
static int place(const char *text, char letter)
{
    char *end;
    long k = *text == letter && text[1] >= '0' && text[1] <= '9'
                 ? strtol(text + 1, &end, 10) : -1;

    return k >= 0 && !*end ? (int)k : -1;
}

static double number(const ls__net_node *n, const char *text)
{
    double x;

    if (!strcmp(text, "epsilon"))
        return (double)ls__net_epsilon(n);
    return ls__real_value(text, &x) ? x : ls__net_number(n, text);
}

/* "axis+1" */
static int64_t sum(reader *r)
{
    char text[WORD], *end;
    int64_t of = 0;

    do {
        long long x;

        word(r, text);
        x = strtoll(text, &end, 10);
        of += !strcmp(text, "rank")  ? r->n->rank
              : place(text, 'i') >= 0 ? r->i[place(text, 'i')]
              : *end                  ? ls__net_integer(r->n, text)
                                      : x;
    } while (take(r, "+"));
    return of;
}

/* ------ lists ------ */

static int extents(const ls__net_node *n, int64_t *of)
{
    memcpy(of, n->shape, (size_t)n->rank * sizeof *of);
    return n->rank;
}

static int repeated(int count, int64_t first, int64_t by, int64_t *of)
{
    for (int i = 0; i < count; i++)
        of[i] = first + i * by;
    return count;
}

/* Stores what an item of a list stands for; returns how many integers. */
static int item(reader *r, int64_t *of)
{
    const ls__net_node *n = r->n;
    const char *from = r->at;
    const json_t *listed = NULL;
    char text[WORD];
    int64_t first;
    int count;

    word(r, text);
    if (!strcmp(text, "shape"))
        return extents(n, of);
    if (place(text, 'x') >= 0)
        return extents(n->in[place(text, 'x')], of);
    if (!strcmp(text, "ones"))
        return repeated(n->rank - n->in[0]->rank, 1, 0, of);
    if (n)
        listed = json_object_get(n->attributes, text);
    if (json_is_array(listed)) {
        count = (int)json_array_size(listed);
        first = take(r, "+") ? sum(r) : 0;
        for (int i = 0; i < count; i++)
            of[i] = ls__net_size(n, text, i) + first;
        return count;
    }
    r->at = from;
    first = sum(r);
    return repeated(take(r, "..") ? (int)sum(r) : 1, first, 1, of);
}

static int list(reader *r, int64_t of[MOST])
{
    int count = 0;

    do
        count += item(r, of + count);
    while (take(r, ","));
    LS__ASSERT(count <= MOST);
    expect(r, "]");
    return count;
}

/* ------ calls ------ */

static void attribute(reader *r, ls__proto *to)
{
    char name[WORD], text[WORD];
    const char *from, *said = text;
    int64_t of[MOST];
    float x;

    word(r, name);
    expect(r, "=");
    if (take(r, "[")) {
        int count = list(r, of);

        ls__onnx_attribute(to, name, LS__ONNX_INTEGERS, count, of);
        return;
    }
    if (take(r, "'")) {
        word(r, text);
        expect(r, "'");
        ls__onnx_attribute(to, name, LS__ONNX_TEXT, 1, &said);
        return;
    }
    from = r->at;
    word(r, text);
    if (r->n && (json_is_real(json_object_get(r->n->attributes, text)) ||
                 !strcmp(text, "epsilon"))) {
        x = (float)number(r->n, text);
        ls__onnx_attribute(to, name, LS__ONNX_REAL, 1, &x);
        return;
    }
    r->at = from;
    of[0] = sum(r);
    ls__onnx_attribute(to, name, LS__ONNX_INTEGER, 1, of);
}

static const char *value(reader *r);

static const char *call(reader *r, const char *type)
{
    const char *in[MOST];
    ls__proto attributes = {0};
    int count = 0;

    if (take(r, "*"))
        for (; count < r->n->inputs; count++)
            in[count] = ls__onnx_input(r->o, r->n, count);
    else
        do
            in[count++] = value(r);
        while (take(r, ","));
    if (take(r, ";"))
        do
            attribute(r, &attributes);
        while (take(r, ","));
    LS__ASSERT(count <= MOST);
    expect(r, ")");
    return ls__onnx_call(r->o, type, count, in, &attributes);
}

/* A value that tells the number of rows: the model's input. */
static const char *rows_of(const ls__onnx *o)
{
    const ls__net *g = o->graph;
    int i = 0;

    while (g->node[i].op || !o->name[i])
        i++;
    return *o->name[i] ? o->name[i] : g->node[i].name;
}

static const char *value(reader *r)
{
    char text[WORD];
    int64_t of[MOST];

    if (take(r, "[")) {
        int count = list(r, of);

        return ls__onnx_integers(r->o, count, of);
    }
    word(r, text);
    if (take(r, "("))
        return call(r, text);
    if (place(text, 'x') >= 0)
        return ls__onnx_input(r->o, r->n, place(text, 'x'));
    if (place(text, 'p') >= 0)
        return ls__onnx_param(r->o, r->n, place(text, 'p'), NULL);
    if (place(text, 'v') >= 0)
        return r->v[place(text, 'v')];
    if (!strcmp(text, "rows"))
        return rows_of(r->o);
    return ls__onnx_equal_floats(r->o, (ls__onnx_shape){0},
                                 (float)number(r->n, text));
}

const char *ls__onnx_text(ls__onnx *o, const ls__net_node *n, const char *text)
{
    return ls__onnx_text_of(o, n, text, NULL, NULL);
}

const char *ls__onnx_text_of(ls__onnx *o, const ls__net_node *n,
                             const char *text, const char *const *v,
                             const int64_t *i)
{
    return value(&(reader){o, n, text, v, i});
}

const char *ls__onnx_of(ls__onnx *o, const char *text, const char *v)
{
    return ls__onnx_text_of(o, NULL, text, &v, NULL);
}
