/* SPDX-License-Identifier: BSD-3-Clause */
/* See json.h. */
#include "json.h"
#include "verdict.h"

#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 32 };

typedef struct reader {
    const char *at, *end;
    char *room; /* for texts: they are no longer than what they are read from */
    json *next; /* of the room for values */
    int depth;
} reader;

static json *new_value(reader *r, int type)
{
    r->next->type = type;
    return r->next++;
}

/* ------ texts ------ */

static int hex4(reader *r)
{
    int x = 0;

    if (r->end - r->at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = *r->at++;
        const char *digits = "0123456789abcdef", *d;

        d = strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
        if (!c || !d)
            return -1;
        x = 16 * x + (int)(d - digits);
    }
    return x;
}

static int put_utf8(reader *r, long x)
{
    static const int first[] = {0, 0xc0, 0xe0, 0xf0};
    int more = (x >= 0x80) + (x >= 0x800) + (x >= 0x10000);

    if (x <= 0 || (x >= 0xd800 && x < 0xe000))
        return 0;
    *r->room++ = (char)(first[more] | x >> 6 * more);
    while (more-- > 0)
        *r->room++ = (char)(0x80 | (x >> 6 * more & 63));
    return 1;
}

static int escape(reader *r)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *c;
    long x, low;

    if (r->at == r->end)
        return 0;
    if (*r->at != 'u') {
        c = *r->at ? strchr(from, *r->at++) : NULL;
        if (c)
            *r->room++ = to[c - from];
        return c != NULL;
    }
    r->at++;
    x = hex4(r);
    if (x >= 0xd800 && x < 0xdc00) {
        if (r->end - r->at < 6 || r->at[0] != '\\' || r->at[1] != 'u')
            return 0;
        r->at += 2;
        low = hex4(r);
        if (low < 0xdc00 || low > 0xdfff)
            return 0;
        x = 0x10000 + ((x - 0xd800) << 10) + (low - 0xdc00);
    }
    return put_utf8(r, x);
}

/* Behind the quote that opens it. */
static const char *read_text(reader *r)
{
    const char *text = r->room;

    while (r->at < r->end && *r->at != '"') {
        if ((unsigned char)*r->at < 32)
            return NULL;
        if (*r->at != '\\')
            *r->room++ = *r->at++;
        else if (r->at++, !escape(r))
            return NULL;
    }
    if (r->at == r->end)
        return NULL;
    r->at++;
    *r->room++ = 0;
    return text;
}

/* ------ values ------ */

static json *read_value(reader *r);

/* A list's or an object's members, up to its end. */
static json *read_members(reader *r, int type)
{
    json *all = new_value(r, type), **last = &all->first;
    char close = type == JSON_LIST ? ']' : '}';
    const char *key = "", *was = NULL;

    if (++r->depth > DEEPEST)
        return NULL;
    if (r->at < r->end && *r->at == close)
        return r->at++, r->depth--, all;
    for (;; was = key) {
        if (type == JSON_OBJECT &&
            (r->at == r->end || *r->at++ != '"' || !(key = read_text(r)) ||
             (was && strcmp(was, key) >= 0) || r->at == r->end ||
             *r->at++ != ':'))
            return NULL;
        *last = read_value(r);
        if (!*last)
            return NULL;
        (*last)->key = type == JSON_OBJECT ? key : NULL;
        last = &(*last)->next;
        if (r->at == r->end || (*r->at != ',' && *r->at != close))
            return NULL;
        if (*r->at++ == close)
            break;
    }
    r->depth--;
    return all;
}

static json *read_number(reader *r)
{
    size_t n = 0;
    json *j;

    while (r->at + n < r->end && r->at[n] && strchr("+-.0123456789eE",
                                                    r->at[n]))
        n++;
    if (n == 0 || n > 40)
        return NULL;
    j = new_value(r, JSON_NUMBER);
    memcpy(r->room, r->at, n);
    r->room[n] = 0;
    j->text = r->room;
    r->room += n + 1;
    r->at += n;
    return j;
}

static json *read_any(reader *r)
{
    static const char *const names[] = {"null", "false", "true"};
    json *j;

    for (int i = 0; i < 3; i++)
        if ((size_t)(r->end - r->at) >= strlen(names[i]) &&
            !memcmp(r->at, names[i], strlen(names[i]))) {
            r->at += strlen(names[i]);
            return new_value(r, i);
        }
    if (*r->at == '"') {
        r->at++;
        j = new_value(r, JSON_TEXT);
        j->text = read_text(r);
        return j->text ? j : NULL;
    }
    if (*r->at == '[' || *r->at == '{')
        return read_members(r, *r->at++ == '[' ? JSON_LIST : JSON_OBJECT);
    return read_number(r);
}

static json *read_value(reader *r)
{
    const char *from;
    json *j;

    from = r->at;
    if (r->at == r->end || !(j = read_any(r)))
        return NULL;
    j->from = from;
    j->to = r->at;
    return j;
}

/* A value is the first, or behind one of ",:[". */
static size_t most_values(const char *text, size_t n)
{
    size_t most = 1;

    for (size_t i = 0; i < n; i++)
        most += text[i] && strchr(",:[", text[i]);
    return most;
}

const json *json_read(const char *text, size_t n)
{
    reader r = {text, text + n, NULL, NULL, 0};
    const json *all;

    r.next = room_of(most_values(text, n) * sizeof *r.next);
    /* A number without blanks takes a zero more than it is read from. */
    r.room = room_of(2 * n + 2);
    all = read_value(&r);
    return r.at == r.end ? all : NULL;
}

/* ------ asking ------ */

const json *json_get(const json *of, const char *key)
{
    const json *j = of && of->type == JSON_OBJECT ? of->first : NULL;

    while (j && strcmp(j->key, key))
        j = j->next;
    return j;
}

const char *json_text(const json *of, const char *key)
{
    const json *j = json_get(of, key);

    return j && j->type == JSON_TEXT ? j->text : NULL;
}

int64_t json_as_whole(const json *j, int64_t usual)
{
    char *end;
    long long n;

    if (!j || j->type != JSON_NUMBER || strlen(j->text) > 18)
        return usual;
    n = strtoll(j->text, &end, 10);
    return *end ? usual : n;
}

int64_t json_whole(const json *of, const char *key, int64_t usual)
{
    return json_as_whole(json_get(of, key), usual);
}

int json_same(const json *a, const json *b)
{
    if (!a || !b || a->type != b->type)
        return a == b;
    if (a->text || b->text)
        return !strcmp(a->text, b->text);
    for (a = a->first, b = b->first; a && b; a = a->next, b = b->next)
        if ((a->key && strcmp(a->key, b->key)) || !json_same(a, b))
            return 0;
    return a == b;
}
