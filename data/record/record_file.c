/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing a record; see record_file.h. */
#define _GNU_SOURCE
#include "record/record_file.h"
#include "base/memory.h"
#include "disk/file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BITS_TEXT = 17 };

static const char digits[] = "0123456789abcdef";

/* Eight digits, big end first. */
static void word_text(uint32_t x, char *text)
{
    for (int i = 0; i < 8; i++)
        text[i] = digits[x >> (28 - 4 * i) & 15];
}

/* ------ the file ------ */

int ls__record_create(ls__record_file *f, const char *path, bool values)
{
    int status;

    *f = (ls__record_file){.path = ls__text_copy(path), .values = values,
                           .text = ls__new(8 * LS__LEAF + 1, 1, "a record")};
    if (!f->path || !f->text || asprintf(&f->part, "%s.part", path) < 0) {
        f->part = NULL;
        return LS_ENOMEM;
    }
    status = ls__path_check(path);
    if (status == 0)
        status = ls__chain_create(&f->chain, f->part);
    f->chain.form = LS__RECORD;
    return status;
}

int ls__record_line(ls__record_file *f, json_t *line)
{
    char *text = line ? ls__line_write(line) : NULL;
    int status = text ? ls__chain_put(&f->chain, text, NULL)
                      : ls__no_memory("a line of a record", 0);

    free(text);
    json_decref(line);
    return status;
}

/* The last line says how many there are. */
static int finish(ls__record_file *f)
{
    return ls__record_line(
        f, json_pack("{s:s,s:I,s:s}", "kind", "close", "lines",
                     (json_int_t)f->chain.lines + 1, "prev", f->chain.prev));
}

int ls__record_close(ls__record_file *f, bool whole)
{
    bool is_open = f->chain.file;
    int status = is_open && whole ? finish(f) : 0, closed;

    closed = ls__chain_close(&f->chain);
    status = status < 0 ? status : closed;
    if (is_open && whole && status == 0 && rename(f->part, f->path) < 0)
        status = ls__io_error(f->path, "write");
    if (is_open && (!whole || status < 0))
        unlink(f->part);
    free(f->path);
    free(f->part);
    free(f->leaf);
    free(f->piece);
    free(f->text);
    *f = (ls__record_file){0};
    return status;
}

/* ------ arrays ------ */

/* n floats from `first` on, canonical. */
static void take(const void *values, int64_t first, int64_t n, bool integers,
                 uint32_t *to)
{
    memcpy(to, (const uint32_t *)values + first, (size_t)n * sizeof *to);
    for (int64_t i = 0; !integers && i < n; i++) {
        uint32_t size = to[i] & 0x7fffffff;

        if (size > 0x7f800000)
            to[i] = 0x7fc00000;
        else if (size < 0x00800000)
            to[i] &= 0x80000000;
    }
}

static int64_t size_of(int64_t floats, int64_t leaf)
{
    int64_t left = floats - leaf * LS__LEAF;

    return left < LS__LEAF ? left : LS__LEAF;
}

static int make_room(ls__record_file *f, int64_t leaves)
{
    if (leaves <= f->room)
        return 0;
    free(f->leaf);
    free(f->piece);
    f->leaf = ls__new((size_t)leaves, sizeof *f->leaf, "leaves of a record");
    f->piece = ls__new((size_t)leaves, sizeof *f->piece, "leaves of a record");
    f->room = f->leaf && f->piece ? leaves : 0;
    return f->room ? 0 : LS_ENOMEM;
}

static json_t *array_line(const ls__record_file *f, const ls__where *w,
                          int64_t floats, const char *leaves, const char *root,
                          const char *pieces)
{
    return json_pack(
        "{s:I,s:I,s:I,s:I,s:s,s:s,s:I,s:s,s:I,s:s,s:s,s:s,s:s,s:s,s:I,s:s,s:s}",
        "device", (json_int_t)w->device, "first", (json_int_t)w->first,
        "floats", (json_int_t)floats, "index", (json_int_t)w->index, "kind",
        "array", "leaves", leaves, "micro", (json_int_t)w->micro, "name",
        w->name ? w->name : "", "node", (json_int_t)w->node, "op",
        w->op ? w->op : "", "phase", w->phase, "pieces", pieces, "prev",
        f->chain.prev, "root", root, "rows", (json_int_t)w->rows, "shape",
        w->shape ? w->shape : "",
        "what", w->what);
}

static int write_leaf(ls__record_file *f, int64_t leaf, const uint32_t *x,
                      int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        word_text(x[i], f->text + 8 * i);
    f->text[8 * n] = 0;
    return ls__record_line(
        f, json_pack("{s:s,s:s,s:I,s:s}", "bits", f->text, "kind", "leaf",
                     "leaf", (json_int_t)leaf, "prev", f->chain.prev));
}

/* The line of an array whose leaves are known. */
static int write_roots(ls__record_file *f, const ls__where *w, int64_t floats,
                       int64_t leaves)
{
    char root[LS__HEX] = "", pieces[LS__HEX] = "";
    char *text = ls__new((size_t)leaves * 64 + 1, 1, "leaves of a record");
    ls__digest top;
    int status;

    if (!text)
        return LS_ENOMEM;
    for (int64_t i = 0; i < leaves; i++)
        ls__digest_text(&f->leaf[i], text + 64 * i);
    top = ls__merkle_root(f->leaf, leaves);
    ls__digest_text(&top, root);
    top = ls__merkle_root(f->piece, leaves);
    ls__digest_text(&top, pieces);
    status = ls__record_line(f, array_line(f, w, floats, text, root, pieces));
    free(text);
    return status;
}

int ls__record_array(ls__record_file *f, const ls__where *w,
                     const void *values, int64_t floats, bool integers)
{
    int64_t leaves = ls__merkle_leaves(floats);
    uint32_t x[LS__LEAF];
    int status = make_room(f, leaves);

    for (int64_t i = 0; status == 0 && i < leaves; i++) {
        int64_t n = size_of(floats, i);

        take(values, i * LS__LEAF, n, integers, x);
        ls__merkle_hash((const float *)(const void *)x, n, 0, 1, &f->leaf[i]);
        f->piece[i] = ls__merkle_pieces((const float *)(const void *)x, n);
    }
    if (status == 0)
        status = write_roots(f, w, floats, leaves);
    for (int64_t i = 0; f->values && status == 0 && i < leaves; i++) {
        int64_t n = size_of(floats, i);

        take(values, i * LS__LEAF, n, integers, x);
        status = write_leaf(f, i, x, n);
    }
    return status;
}

/* ------ numbers ------ */

static int write_number(ls__record_file *f, const ls__where *w,
                        const char *bits)
{
    return ls__record_line(
        f, json_pack("{s:s,s:I,s:s,s:I,s:s,s:s,s:s}", "bits", bits, "device",
                     (json_int_t)w->device, "kind", "number", "micro",
                     (json_int_t)w->micro, "phase", w->phase, "prev",
                     f->chain.prev, "what", w->what));
}

int ls__record_float(ls__record_file *f, const ls__where *w, float x)
{
    char text[BITS_TEXT] = "";
    uint32_t bits;

    take(&x, 0, 1, false, &bits);
    word_text(bits, text);
    return write_number(f, w, text);
}

int ls__record_double(ls__record_file *f, const ls__where *w, double x)
{
    char text[BITS_TEXT] = "7ff8000000000000";
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    if (x == x) {
        word_text((uint32_t)(bits >> 32), text);
        word_text((uint32_t)bits, text + 8);
    }
    return write_number(f, w, text);
}
