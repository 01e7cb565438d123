/* SPDX-License-Identifier: BSD-3-Clause */
/* Checked sizes, aligned blocks and the arena (bump allocator).  Every
 * allocation passes through here, so a test can make each one fail in turn. */
#define _GNU_SOURCE /* madvise */
#include "base/memory.h"
#include "base/assert.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LINE = 64, HUGE_PAGE = 2 << 20, CHUNK = 16 << 10 };

_Static_assert(LS__IS_POWER(LINE) && HUGE_PAGE % LINE == 0, "alignments");
_Static_assert(CHUNK % sizeof(max_align_t) == 0, "an arena hands out units");

bool ls__mul(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

/* Extents of zero are left out of the product, so that overflow of the others
 * does not depend on their order. */
int64_t ls__count(int rank, const int64_t *shape)
{
    int64_t n = 1;
    bool empty = false;

    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0 ||
            (shape[i] && __builtin_mul_overflow(n, shape[i], &n)))
            return -1;
        empty = empty || shape[i] == 0;
    }
    return empty ? 0 : n;
}

/* Allocate a block; in front of it stands the address that malloc gave.  calloc
 * does not touch pages that are new; memset after aligned_alloc would. */
static void *new_block(size_t bytes, const char *what, bool zero, int advice)
{
    size_t align = bytes >= 2 * HUGE_PAGE ? HUGE_PAGE : LINE;
    size_t all = (bytes + LINE) / LINE * LINE + align + sizeof(void *);
    char *memory = NULL, *block;

    if (bytes <= SIZE_MAX - LINE - align - sizeof(void *))
        memory = zero ? calloc(1, all) : malloc(all);
    if (!memory) {
        ls__no_memory(what, bytes);
        return NULL;
    }
    block = memory + sizeof(void *);
    block += -(uintptr_t)block % align;
    LS__ASSERT((uintptr_t)block % align == 0 &&
               block + (bytes + LINE - 1) / LINE * LINE <= memory + all);
    ((void **)(void *)block)[-1] = memory;
    if (align == HUGE_PAGE) /* advice only: a refusal changes nothing */
        (void)madvise(block, bytes / align * align, advice);
    return block;
}

void *ls__block(size_t bytes, const char *what)
{
    return new_block(bytes, what, false, MADV_HUGEPAGE);
}

void *ls__block_zero(size_t bytes, const char *what)
{
    return new_block(bytes, what, true, MADV_HUGEPAGE);
}

void *ls__block_sparse(size_t bytes, const char *what)
{
    return new_block(bytes, what, true, MADV_NOHUGEPAGE);
}

void *ls__block_memory(void *block)
{
    return ((void **)block)[-1];
}

void ls__block_free(void *block)
{
    if (block)
        free(ls__block_memory(block));
}

void *ls__new(size_t count, size_t size, const char *what)
{
    void *p = calloc(count ? count : 1, size ? size : 1);

    if (!p)
        ls__no_memory(what, size && count > SIZE_MAX / size ? SIZE_MAX
                                                            : count * size);
    return p;
}

char *ls__text_copy(const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = ls__new(n, 1, "text");

    return copy ? memcpy(copy, text, n) : NULL;
}

typedef struct ls__arena_chunk {
    struct ls__arena_chunk *next;
    size_t used, size;
    max_align_t bytes[];
} chunk;

void *ls__arena_new(ls__arena *arena, size_t count, size_t size)
{
    const size_t unit = sizeof(max_align_t);
    chunk *c = arena->first;
    size_t bytes;

    if (!ls__mul(count, size, &bytes) || bytes > SIZE_MAX - CHUNK) {
        ls__no_memory("arena", SIZE_MAX);
        return NULL;
    }
    bytes = (bytes + unit - 1) / unit * unit;
    if (!c || c->size - c->used < bytes) {
        size_t room = bytes > CHUNK ? bytes : CHUNK;

        c = ls__new(1, sizeof *c + room, "arena");
        if (!c)
            return NULL;
        c->size = room;
        c->next = arena->first;
        arena->first = c;
    }
    c->used += bytes;
    LS__ASSERT(c->used <= c->size && c->used % unit == 0);
    return (char *)c->bytes + c->used - bytes;
}

char *ls__arena_text(ls__arena *arena, const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = ls__arena_new(arena, n, 1);

    return copy ? memcpy(copy, text, n) : NULL;
}

void ls__arena_free(ls__arena *arena)
{
    for (chunk *c = arena->first, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    arena->first = NULL;
}
