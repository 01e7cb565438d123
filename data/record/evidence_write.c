/* SPDX-License-Identifier: BSD-3-Clause */
/* Evidence as a text: lists of numbers, behind each where its numbers stand in
 * the record ("a@": runs of array, first, stride, count), then the arrays ("@":
 * floats and root of each) and their proof.  Trees are those of pieces
 * (hash/merkle.h).  The proof goes down each tree from its root: of a subtree
 * that no list reads it has the hash, and of a piece that one does its
 * numbers. */
#include "record/evidence.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NUMBERS = LS__EVIDENCE_MOST / 9 }; /* a blank and 8 digits each */

/* ------ lists ------ */

static void put(ls__evidence *e, uint32_t x)
{
    fprintf(e->file, " %08" PRIx32, x);
}

void ls__evidence_begin(ls__evidence *e, const char *name)
{
    snprintf(e->list, sizeof e->list, "%s", name);
    e->begun = e->all;
    fputs(name, e->file);
}

/* Bound what a record that somebody made up may ask for. */
static void note(ls__evidence *e, int64_t kept, int64_t at)
{
    if (e->all == MOST_NUMBERS) {
        e->status = ls__fail(LS_ENOTSUP, "evidence of more than %d numbers, "
                             "which is more than %d bytes", MOST_NUMBERS,
                             LS__EVIDENCE_MOST);
        return;
    }
    if (e->all == e->most) {
        int64_t most = e->most ? 2 * e->most : 256;
        ls__opened *more = realloc(e->opened, (size_t)most * sizeof *more);

        if (!more) {
            e->status = ls__no_memory("evidence", (size_t)most * sizeof *more);
            return;
        }
        e->opened = more;
        e->most = most;
    }
    e->opened[e->all++] = (ls__opened){kept, at};
}

static bool stands_in(const ls__kept *k, const uint32_t *x)
{
    return (uintptr_t)x >= (uintptr_t)k->x &&
           (uintptr_t)x < (uintptr_t)(k->x + k->n);
}

void ls__evidence_say(ls__evidence *e, uint32_t x)
{
    if (e->status < 0)
        return;
    put(e, x);
    note(e, -1, 0);
}

void ls__evidence_take(ls__evidence *e, const uint32_t *x)
{
    int64_t i = e->last;

    if (e->status < 0)
        return;
    if (i >= e->count || !stands_in(&e->kept[i], x))
        for (i = 0; i < e->count && !stands_in(&e->kept[i], x); i++)
            ;
    if (i == e->count) {
        e->status = ls__fail(LS_EFORMAT, "a record whose arrays are shorter "
                             "than its nodes say");
        return;
    }
    if (!e->kept[i].number)
        e->kept[i].number = ++e->sources;
    e->last = i;
    put(e, *x);
    note(e, i, x - e->kept[i].x);
}

/* Count how many from `first` on stand as many apart in one array. */
static int64_t run_of(const ls__evidence *e, int64_t first, int64_t *stride)
{
    const ls__opened *o = e->opened + first;
    int64_t n = 1, left = e->all - first;

    *stride = left > 1 && o[1].kept == o->kept ? o[1].at - o->at : 0;
    while (n < left && o[n].kept == o->kept &&
           o[n].at == o[n - 1].at + *stride)
        n++;
    return n;
}

/* Say where the list's numbers stand: in array ffffffff those that stand in
 * none. */
void ls__evidence_end(ls__evidence *e)
{
    int64_t n, stride;

    fprintf(e->file, "\n%s@", e->list);
    for (int64_t i = e->begun; i < e->all; i += n) {
        const ls__opened *o = &e->opened[i];

        n = run_of(e, i, &stride);
        put(e, o->kept < 0 ? UINT32_MAX
                           : (uint32_t)e->kept[o->kept].number - 1);
        put(e, (uint32_t)o->at);
        put(e, (uint32_t)stride);
        put(e, (uint32_t)n);
    }
    fputc('\n', e->file);
}

void ls__evidence_list(ls__evidence *e, const char *name, int64_t n,
                       const uint32_t *x, int64_t stride)
{
    ls__evidence_begin(e, name);
    for (int64_t i = 0; i < n && e->status == 0; i++)
        ls__evidence_take(e, x + i * stride);
    ls__evidence_end(e);
}

void ls__evidence_number(ls__evidence *e, const char *name, const uint32_t *x)
{
    ls__evidence_list(e, name, 1, x, 1);
}

void ls__evidence_word(ls__evidence *e, const char *name, uint32_t x)
{
    ls__evidence_begin(e, name);
    ls__evidence_say(e, x);
    ls__evidence_end(e);
}

void ls__evidence_say_real(ls__evidence *e, double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    ls__evidence_say(e, (uint32_t)(bits >> 32));
    ls__evidence_say(e, (uint32_t)bits);
}

void ls__evidence_real(ls__evidence *e, const char *name, double x)
{
    ls__evidence_begin(e, name);
    ls__evidence_say_real(e, x);
    ls__evidence_end(e);
}

void ls__evidence_rule(ls__evidence *e, const char *rule, uint32_t a,
                       uint32_t b)
{
    fprintf(e->file, "lockstep evidence 1\nop %s\nclaim %08" PRIx32
            " %08" PRIx32 "\n", rule, a, b);
}

/* ------ proofs ------ */

static const ls__kept *source(const ls__evidence *e, int64_t number)
{
    int64_t i = 0;

    while (e->kept[i].number != number)
        i++;
    return &e->kept[i];
}

static void put_digest(ls__evidence *e, const ls__digest *d)
{
    for (int i = 0; i < 32; i += 4)
        put(e, (uint32_t)d->byte[i] << 24 | (uint32_t)d->byte[i + 1] << 16 |
                   (uint32_t)d->byte[i + 2] << 8 | d->byte[i + 3]);
}

/* An array whose pieces are gone through; of those that lists read `read` is
 * set. */
typedef struct proof {
    ls__evidence *e;
    const ls__kept *of;
    bool *read;
} proof;

static int64_t pieces_of(const ls__kept *k)
{
    return (k->n + LS__PIECE - 1) / LS__PIECE;
}

/* The most pieces of a left subtree: the power of two below n. */
static int64_t left_of(int64_t n)
{
    int64_t left = 1;

    while (2 * left < n)
        left *= 2;
    return left;
}

static int64_t floats_of(const ls__kept *k, int64_t piece)
{
    int64_t left = k->n - piece * LS__PIECE;

    return left < LS__PIECE ? left : LS__PIECE;
}

static ls__digest hash_of(const ls__kept *k, int64_t first, int64_t n)
{
    const float *x = (const float *)(const void *)k->x + first * LS__PIECE;
    int64_t left = left_of(n);
    ls__digest both[2];

    if (n == 1)
        return ls__merkle_pieces(x, floats_of(k, first));
    both[0] = hash_of(k, first, left);
    both[1] = hash_of(k, first + left, n - left);
    return ls__merkle_pair(both);
}

static void put_subtree(proof *p, int64_t first, int64_t n)
{
    int64_t left = left_of(n), i = first;
    const ls__kept *k = p->of;
    ls__digest hash;

    while (i < first + n && !p->read[i])
        i++;
    if (i == first + n) {
        hash = hash_of(k, first, n);
        put_digest(p->e, &hash);
    } else if (n == 1) {
        for (i = 0; i < floats_of(k, first); i++)
            put(p->e, k->x[first * LS__PIECE + i]);
    } else {
        put_subtree(p, first, left);
        put_subtree(p, first + left, n - left);
    }
}

static int put_proof(ls__evidence *e, int64_t number)
{
    proof p = {e, source(e, number), NULL};

    if (p.of->is_number)
        return 0;
    p.read = ls__new((size_t)pieces_of(p.of), sizeof *p.read, "a proof");
    if (!p.read)
        return LS_ENOMEM;
    for (int64_t i = 0; i < e->all; i++)
        if (e->opened[i].kept == p.of - e->kept)
            p.read[e->opened[i].at / LS__PIECE] = true;
    put_subtree(&p, 0, pieces_of(p.of));
    free(p.read);
    return 0;
}

/* Write floats and root; of a number none, its words, and how many they are. */
static void put_source(ls__evidence *e, const ls__kept *k)
{
    ls__digest root;

    put(e, k->is_number ? 0 : (uint32_t)k->n);
    if (!k->is_number) {
        root = hash_of(k, 0, pieces_of(k));
        put_digest(e, &root);
        return;
    }
    for (int64_t i = 0; i < 8; i++)
        put(e, i < k->n ? k->x[i] : i == 7 ? (uint32_t)k->n : 0);
}

int ls__evidence_open(ls__evidence *e)
{
    int64_t trees = 0;
    int status = e->status;

    if (e->sources == 0 || status < 0)
        return status;
    fputs("@", e->file);
    for (int64_t i = 1; i <= e->sources; i++)
        put_source(e, source(e, i));
    fputc('\n', e->file);
    for (int64_t i = 1; i <= e->sources; i++)
        trees += !source(e, i)->is_number;
    if (trees == 0)
        return 0;
    fputs("@proof", e->file);
    for (int64_t i = 1; i <= e->sources && status == 0; i++)
        status = put_proof(e, i);
    fputc('\n', e->file);
    return status;
}
