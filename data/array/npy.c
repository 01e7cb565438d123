/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads NumPy's .npy files: a magic, a version, a header that is the text of a
 * Python dictionary, then the elements (NEP 1 and numpy/lib/format.py).
 *
 * Everything is hostile until checked.  The header must say exactly what the
 * file's length says before memory for the data is asked for, and that memory
 * is at most four times the file.  Each refusal names the byte. */
#include "array/npy.h"
#include "base/error.h"
#include "base/memory.h"
#include "file/format.h"
#include "base/half.h"

#include <lockstep/files.h>

#include <stdlib.h>
#include <string.h>

/* A header is padded to 64 or so bytes; only structured types, which are not
 * read here, need more than a few hundred. */
enum { HEADER_MAX = 1 << 20, CHUNK = 1 << 16 };

int ls__npy_malformed(const ls__npy *f, const char *what, int64_t at)
{
    return ls__fail(LS_EFORMAT, "%s: %s at byte %lld", f->path, what,
                    (long long)at);
}

/* ------ Elements: the file's types, and what each becomes ------ */

static const ls__npy_type types[] = {
    {"f2", 2}, {"f4", 4}, {"f8", 8}, {"i1", 1}, {"i2", 2}, {"i4", 4},
    {"i8", 8}, {"u1", 1}, {"u2", 2}, {"u4", 4}, {"u8", 8}, {"b1", 1}};

const ls__npy_type *ls__npy_find_type(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(name, types[i].name) == 0)
            return &types[i];
    return NULL;
}

static double real(const ls__npy_type *type, uint64_t raw)
{
    uint32_t low = (uint32_t)raw;
    float f;
    double d;

    memcpy(&f, &low, sizeof f);
    memcpy(&d, &raw, sizeof d);
    return type->bytes == 8 ? d
           : type->bytes == 4 ? (double)f : (double)ls__half((uint16_t)raw);
}

/* The number of an i1 to i8, or b1. */
static int64_t whole(const ls__npy_type *type, uint64_t raw)
{
    uint64_t sign = UINT64_C(1) << (8 * type->bytes - 1);

    return *type->name == 'b' ? raw != 0 : (int64_t)((raw ^ sign) - sign);
}

/* A finite double must not become an infinity silently. */
static bool to_f32(const ls__npy_type *type, uint64_t raw, float *out)
{
    if (*type->name != 'f') {
        *out = *type->name == 'u' ? (float)raw : (float)whole(type, raw);
        return true;
    }
    *out = (float)real(type, raw);
    return !__builtin_isinf(*out) || __builtin_isinf(real(type, raw));
}

/* The range first: converting a double outside it is undefined. */
static bool to_i32(const ls__npy_type *type, uint64_t raw, int32_t *out)
{
    double d;

    if (*type->name == 'u') {
        *out = (int32_t)raw;
        return raw <= INT32_MAX;
    }
    if (*type->name != 'f') {
        *out = (int32_t)whole(type, raw);
        return *out == whole(type, raw);
    }
    d = real(type, raw);
    if (!(d >= -2147483648.0 && d <= 2147483647.0))
        return false;
    *out = (int32_t)d;
    return *out == d;
}

/* ------ The file up to the data ------ */

static int read_bytes(const ls__npy *f, void *out, int64_t n, int64_t at)
{
    if (at + n > f->file.size)
        return ls__npy_malformed(f, "the file is cut short", f->file.size);
    if (f->member) /* places follow each other */
        return ls__member_read(f->member, out, (size_t)n);
    return ls__file_read(&f->file, out, (size_t)n, at);
}

/* Little-endian unsigned. */
static uint64_t number(const uint8_t *p, int bytes)
{
    uint64_t n = 0;

    while (bytes-- > 0)
        n = n << 8 | p[bytes];
    return n;
}

/* Magic, version and the header's length: 10 bytes, or 12 from version 2. */
static int read_preamble(ls__npy *f, int64_t *length)
{
    uint8_t head[12];
    int bytes, status = read_bytes(f, head, 8, 0);

    if (status < 0)
        return status;
    if (memcmp(head, "\x93NUMPY", 6) != 0)
        return ls__npy_malformed(f, "no .npy file: wrong magic", 0);
    if (head[6] < 1 || head[6] > 3 || head[7] != 0)
        return ls__npy_malformed(f, "an unknown version of the format", 6);
    bytes = head[6] == 1 ? 2 : 4;
    status = read_bytes(f, head + 8, bytes, 8);
    if (status < 0)
        return status;
    *length = (int64_t)number(head + 8, bytes);
    f->at = 8 + bytes + *length;
    if (*length > HEADER_MAX || f->at > f->file.size)
        return ls__npy_malformed(
            f, "the header is longer than the file or 1 MB", 8);
    return 0;
}

static int read_header(ls__npy *f)
{
    int64_t length = 0;
    int status = read_preamble(f, &length);
    char *text;

    if (status < 0)
        return status;
    text = ls__new((size_t)length + 1, 1, ".npy header");
    if (!text)
        return LS_ENOMEM;
    status = read_bytes(f, text, length, f->at - length);
    if (status == 0)
        status = ls__npy_parse(f, text, length);
    free(text);
    return status;
}

/* The shape must be what the file's length says. */
static int check_size(ls__npy *f)
{
    char shape[LS__SHAPE_TEXT];
    int64_t room = f->file.size - f->at;

    ls__shape_text(shape, f->rank, f->shape);
    f->count = ls__count(f->rank, f->shape);
    if (f->count < 0 || f->count > room / f->type->bytes)
        return ls__fail(LS_EFORMAT, "%s: %s of %s need more than the %lld "
                        "byte%s behind the header, at byte %lld", f->path,
                        shape, f->type->name, (long long)room, ls__s(room),
                        (long long)f->at);
    if (f->count * f->type->bytes != room)
        return ls__fail(LS_EFORMAT, "%s: %lld byte%s too many for %s of %s at "
                        "byte %lld", f->path,
                        (long long)(room - f->count * f->type->bytes),
                        ls__s(room - f->count * f->type->bytes), shape,
                        f->type->name,
                        (long long)(f->at + f->count * f->type->bytes));
    return 0;
}

/* ------ The data ------ */

/* The position of the file's next element: an odometer over the shape that
 * turns its last digit fastest in C order and its first in Fortran order. */
typedef struct position {
    int64_t index[LS_MAX_RANK];
    int64_t stride[LS_MAX_RANK]; /* of the C order that is written */
    int64_t at;
} position;

static void position_start(position *p, const ls__npy *f)
{
    int64_t stride = 1;

    memset(p, 0, sizeof *p);
    for (int i = f->rank - 1; i >= 0; i--) {
        p->stride[i] = stride;
        stride *= f->shape[i];
    }
}

static void position_next(position *p, const ls__npy *f)
{
    for (int k = 0; k < f->rank; k++) {
        int i = f->fortran ? k : f->rank - 1 - k;

        p->at += p->stride[i];
        if (++p->index[i] < f->shape[i])
            return;
        p->at -= p->stride[i] * f->shape[i];
        p->index[i] = 0;
    }
}

/* The destination of elements, and their type there. */
typedef struct target {
    ls_dtype as;
    uint32_t *out;
    position place;
} target;

static uint64_t raw_of(const ls__npy *f, const uint8_t *bytes)
{
    uint64_t raw = number(bytes, f->type->bytes);

    if (f->big_endian)
        raw = __builtin_bswap64(raw) >> (64 - 8 * f->type->bytes);
    return raw;
}

static int out_of_range(const ls__npy *f, const position *p, int64_t n,
                        ls_dtype as)
{
    char index[LS__SHAPE_TEXT];

    ls__shape_text(index, f->rank, p->index);
    return ls__fail(LS_ERANGE, "%s: element %s at byte %lld is no %s", f->path,
                    index, (long long)(f->at + n * f->type->bytes),
                    as == LS_F32 ? "float32" : "int32");
}

static bool convert(const ls__npy *f, const uint8_t *bytes, ls_dtype as,
                    void *out)
{
    uint64_t raw = raw_of(f, bytes);

    return as == LS_F32 ? to_f32(f->type, raw, out) : to_i32(f->type, raw, out);
}

/* m elements from number n on. */
static int convert_chunk(const ls__npy *f, const uint8_t *chunk, int64_t n,
                         int64_t m, target *to)
{
    for (int64_t i = 0; i < m; i++) {
        if (!convert(f, chunk + i * f->type->bytes, to->as,
                     to->out + to->place.at))
            return out_of_range(f, &to->place, n + i, to->as);
        position_next(&to->place, f);
    }
    return 0;
}

static int read_data(const ls__npy *f, target *to, uint8_t *chunk)
{
    const int bytes = f->type->bytes;
    int64_t per_chunk = CHUNK / bytes;
    int status = 0;

    position_start(&to->place, f);
    for (int64_t n = 0, m; n < f->count && status == 0; n += m) {
        m = f->count - n < per_chunk ? f->count - n : per_chunk;
        status = read_bytes(f, chunk, m * bytes, f->at + n * bytes);
        if (status == 0)
            status = convert_chunk(f, chunk, n, m, to);
    }
    return status;
}

int ls__npy_open(ls__npy *f, const char *path)
{
    int status;

    *f = (ls__npy){.path = path};
    status = ls__file_open(&f->file, path);
    if (status == 0)
        status = ls__format_tell(read_header(f), path, LS__NPY);
    return status == 0 ? check_size(f) : status;
}

int ls__npy_open_member(ls__npy *f, const char *path, ls__zip_member *member)
{
    int status;

    *f = (ls__npy){.path = path, .file = {path, -1, member->size, NULL},
                   .member = member};
    status = read_header(f);
    return status == 0 ? check_size(f) : status;
}

void ls__npy_close(ls__npy *f)
{
    ls__file_close(&f->file);
}

int ls__npy_read(ls__npy *f, ls_array *out, ls_dtype as)
{
    ls_array t = {.dtype = as, .rank = f->rank};
    uint8_t *chunk = ls__new(CHUNK, 1, f->path);
    int status = LS_ENOMEM;

    memcpy(t.shape, f->shape, sizeof t.shape);
    t.data = ls__new((size_t)f->count, sizeof(uint32_t), f->path);
    if (t.data && chunk)
        status = read_data(f, &(target){.as = as, .out = t.data}, chunk);
    if (status == 0 && f->member)
        status = ls__member_end(f->member);
    free(chunk);
    if (status < 0)
        ls_array_free(&t);
    else
        *out = t;
    return status;
}

int ls_npy_load(ls_array *out, const char *path, ls_dtype as)
{
    LS__NEED(out);
    LS__NEED(path);

    ls__npy f;
    int status;

    if (as != LS_F32 && as != LS_I32)
        return ls__fail(LS_EINVAL, "%s: read as neither LS_F32 nor LS_I32",
                        path);
    status = ls__npy_open(&f, path);
    if (status == 0)
        status = ls__npy_read(&f, out, as);
    ls__npy_close(&f);
    return status;
}

int ls_npy_shape(const char *path, int64_t shape[LS_MAX_RANK])
{
    LS__NEED(path);
    LS__NEED(shape);

    ls__npy f;
    int status = ls__npy_open(&f, path);

    if (status == 0) {
        memcpy(shape, f.shape, sizeof f.shape);
        status = f.rank;
    }
    ls__npy_close(&f);
    return status;
}
