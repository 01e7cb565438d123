/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory: sizes checked for overflow, 64-byte aligned blocks, and the arena,
 * one owner of many small things with one free. */
#ifndef LS_BASE_MEMORY_H
#define LS_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *out = a * b; false when the product does not fit. */
bool ls__mul(size_t a, size_t b, size_t *out);

/* The number of elements of a shape; -1 when an extent is negative, or the
 * product of those that are not zero overflows. */
int64_t ls__count(int rank, const int64_t *shape);

/* bytes rounded up, 64-byte aligned (2 MB and madvised to huge pages from 4 MB
 * on), not cleared.  NULL with a message when it can't be had. */
void *ls__block(size_t bytes, const char *what);
/* The same, cleared; pages of a large one take memory once they are written. */
void *ls__block_zero(size_t bytes, const char *what);
/* The same in small pages, for what is written here and there. */
void *ls__block_sparse(size_t bytes, const char *what);
void ls__block_free(void *block);

/* The address that malloc gave for the memory of a block. */
void *ls__block_memory(void *block);

/* count * size cleared bytes from malloc, with a message on failure. */
void *ls__new(size_t count, size_t size, const char *what);
/* A copy of a text from malloc. */
char *ls__text_copy(const char *text);

typedef struct ls__arena {
    struct ls__arena_chunk *first;
} ls__arena;

/* Cleared memory that lives until ls__arena_free. */
void *ls__arena_new(ls__arena *arena, size_t count, size_t size);
char *ls__arena_text(ls__arena *arena, const char *text);
void ls__arena_free(ls__arena *arena);

#endif
