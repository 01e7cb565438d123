/* SPDX-License-Identifier: BSD-3-Clause */
/* A list that grows in an arena. */
#include "base/fact_list.h"
#include "base/assert.h"
#include "base/json.h"
#include "base/real_text.h"
#include "base/sha.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool grow(ls__facts *f)
{
    int room = 2 * f->room + 32;
    ls_setting *more = ls__arena_new(&f->arena, (size_t)room, sizeof *more);

    LS__ASSERT(f->count == f->room);
    if (!more)
        return false;
    if (f->count)
        memcpy(more, f->fact, (size_t)f->count * sizeof *more);
    f->fact = more;
    f->room = room;
    return true;
}

static char *written(ls__arena *arena, const char *format, va_list args)
{
    va_list again;
    char *text = NULL;
    int n;

    va_copy(again, args);
    n = vsnprintf(NULL, 0, format, args);
    if (n >= 0 && (text = ls__arena_new(arena, (size_t)n + 1, 1)))
        vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    return text;
}

void ls__facts_put(ls__facts *f, const char *name, const char *format, ...)
{
    ls_setting next = {ls__arena_text(&f->arena, name), NULL};
    va_list args;

    va_start(args, format);
    next.value = written(&f->arena, format, args);
    va_end(args);
    if (!next.name || !next.value || (f->count == f->room && !grow(f)))
        f->failed = true;
    else
        f->fact[f->count++] = next;
}

void ls__facts_put_real(ls__facts *f, const char *name, double x)
{
    char text[LS__REAL_TEXT];

    ls__real_text(text, x);
    ls__facts_put(f, name, "%s", text);
}

void ls__facts_hash(int count, const ls_setting *fact, char hex[65])
{
    ls__sha256 sha;

    ls__sha256_init(&sha);
    for (int i = 0; i < count; i++) {
        ls__sha256_update(&sha, fact[i].name, strlen(fact[i].name) + 1);
        ls__sha256_update(&sha, fact[i].value, strlen(fact[i].value) + 1);
    }
    ls__sha256_hex(&sha, hex);
}

void ls__facts_part(char *to, size_t room, const char *text)
{
    ls__sha256 sha;
    char hex[65];

    LS__ASSERT(room > 22); /* what a hash takes, with its end */
    if (strlen(text) < room) {
        snprintf(to, room, "%s", text);
        return;
    }
    ls__sha256_init(&sha);
    ls__sha256_update(&sha, text, strlen(text));
    ls__sha256_hex(&sha, hex);
    snprintf(to, room, "%.*s.. (%.16s)", (int)room - 22, text, hex);
}

json_t *ls__facts_json(ls__facts *f)
{
    json_t *object = f->failed ? NULL
                               : ls__json_with_texts(json_object(), f->count,
                                                     f->fact);

    ls__facts_free(f);
    return object;
}

void ls__facts_free(ls__facts *f)
{
    ls__arena_free(&f->arena);
    *f = (ls__facts){.count = 0};
}
