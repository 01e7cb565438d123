/* Reads NumPy's .npy files: a magic, a version, a header that is the text of a
 * Python dictionary, then the elements (NEP 1 and numpy/lib/format.py).
 *
 * Everything is hostile until checked.  The header must say exactly what the
 * file's length says before memory for the data is asked for, and that memory
 * is at most four times the file.  Each refusal names the byte. */
#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A header is padded to 64 or so bytes; only structured types, which are not
 * read here, need more than a few hundred. */
enum { HEADER_MAX = 1 << 20, CHUNK = 4096, WORD_MAX = 64 };

typedef struct npy {
    FILE *file;
    const char *path;
    int64_t size; /* of the file, bytes */
    int64_t at;   /* where the data begin */
    const struct element *type;
    bool big_endian;
    bool fortran;
    int rank;
    int64_t shape[LS_MAX_RANK];
    int64_t count; /* elements */
} npy;

static int malformed(const npy *f, const char *what, int64_t at)
{
    return ls__fail(LS_EFORMAT, "%s: %s at byte %lld", f->path, what,
                    (long long)at);
}

/* ------ Elements: the file's types, and what each becomes ------ */

/* raw holds the element's bytes as an integer of the machine; it stands for a
 * whole number or for a real one. */
typedef struct element {
    char name[3];
    int bytes;
    int64_t (*whole)(uint64_t raw);
    double (*real)(uint64_t raw);
} element;

static double real_f4(uint64_t raw)
{
    uint32_t low = (uint32_t)raw;
    float f;

    memcpy(&f, &low, sizeof f);
    return (double)f;
}

static double real_f8(uint64_t raw)
{
    double d;

    memcpy(&d, &raw, sizeof d);
    return d;
}

static int64_t whole_i4(uint64_t raw)
{
    return (int32_t)(uint32_t)raw;
}

static int64_t whole_i8(uint64_t raw)
{
    return (int64_t)raw;
}

static int64_t whole_b1(uint64_t raw)
{
    return raw != 0;
}

/* clang-format off */
static const element elements[] = {
    { "f4", 4, NULL, real_f4 },  { "f8", 8, NULL, real_f8 },
    { "i4", 4, whole_i4, NULL }, { "i8", 8, whole_i8, NULL },
    { "u1", 1, whole_i8, NULL }, { "b1", 1, whole_b1, NULL },
};
/* clang-format on */

/* A finite double must not become an infinity silently. */
static bool to_f32(const element *type, uint64_t raw, float *out)
{
    if (type->whole) {
        *out = (float)type->whole(raw);
        return true;
    }
    *out = (float)type->real(raw);
    return !__builtin_isinf(*out) || __builtin_isinf(type->real(raw));
}

/* The range first: converting a double outside it is undefined. */
static bool to_i32(const element *type, uint64_t raw, int32_t *out)
{
    double d;

    if (type->whole) {
        *out = (int32_t)type->whole(raw);
        return *out == type->whole(raw);
    }
    d = type->real(raw);
    if (!(d >= -2147483648.0 && d <= 2147483647.0))
        return false;
    *out = (int32_t)d;
    return *out == d;
}

/* ------ The header's dictionary ------ */

typedef struct cursor {
    npy *npy;
    const char *text; /* ends with a zero byte */
    const char *at;
    int64_t first; /* place of text in the file */
} cursor;

static int refuse(const cursor *c, const char *what)
{
    return malformed(c->npy, what, c->first + (c->at - c->text));
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
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (strcmp(word + 1, elements[i].name) == 0)
            c->npy->type = &elements[i];
    return c->npy->type ? 0
                        : refuse(c, "descr is none of f4, f8, i4, i8, u1, b1");
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
    npy *f = c->npy;
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

/* ------ The file up to the data ------ */

static int open_file(npy *f)
{
    struct stat info;

    f->file = fopen(f->path, "rb");
    if (!f->file || fstat(fileno(f->file), &info) < 0)
        return ls__fail(LS_EIO, "%s: %s", f->path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return ls__fail(LS_EIO, "%s: is not a regular file", f->path);
    f->size = info.st_size;
    return 0;
}

static int read_bytes(npy *f, void *out, size_t n, int64_t at)
{
    if (fread(out, 1, n, f->file) == n)
        return 0;
    if (ferror(f->file))
        return ls__fail(LS_EIO, "%s: reading failed at byte %lld: %s", f->path,
                        (long long)at, strerror(errno));
    return malformed(f, "the file is cut short", f->size);
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
static int read_preamble(npy *f, int64_t *length)
{
    uint8_t head[12];
    int bytes, status = read_bytes(f, head, 8, 0);

    if (status < 0)
        return status;
    if (memcmp(head, "\x93NUMPY", 6) != 0)
        return malformed(f, "no .npy file: wrong magic", 0);
    if (head[6] < 1 || head[6] > 3 || head[7] != 0)
        return malformed(f, "an unknown version of the format", 6);
    bytes = head[6] == 1 ? 2 : 4;
    status = read_bytes(f, head + 8, (size_t)bytes, 8);
    if (status < 0)
        return status;
    *length = (int64_t)number(head + 8, bytes);
    f->at = 8 + bytes + *length;
    if (*length > HEADER_MAX || f->at > f->size)
        return malformed(f, "the header is longer than the file or 1 MB", 8);
    return 0;
}

static int parse_header(npy *f, const char *text, int64_t length)
{
    cursor c = {f, text, text, f->at - length};

    if (memchr(text, 0, (size_t)length))
        return malformed(f, "the header holds a zero byte", c.first);
    return read_dictionary(&c);
}

static int read_header(npy *f)
{
    int64_t length = 0;
    int status = read_preamble(f, &length);
    char *text;

    if (status < 0)
        return status;
    text = ls__new((size_t)length + 1, 1, ".npy header");
    if (!text)
        return LS_ENOMEM;
    status = read_bytes(f, text, (size_t)length, f->at - length);
    if (status == 0)
        status = parse_header(f, text, length);
    free(text);
    return status;
}

/* The shape must be what the file's length says. */
static int check_size(npy *f)
{
    char shape[LS__SHAPE_TEXT];
    int64_t room = f->size - f->at;

    ls__shape_text(shape, f->rank, f->shape);
    f->count = ls__count(f->rank, f->shape);
    if (f->count < 0 || f->count > room / f->type->bytes)
        return ls__fail(LS_EFORMAT,
                        "%s: %s of %s need more than the %lld "
                        "bytes that follow the header at byte %lld",
                        f->path, shape, f->type->name, (long long)room,
                        (long long)f->at);
    if (f->count * f->type->bytes != room)
        return ls__fail(LS_EFORMAT,
                        "%s: %lld bytes too many for %s of %s at "
                        "byte %lld",
                        f->path, (long long)(room - f->count * f->type->bytes),
                        shape, f->type->name,
                        (long long)(f->at + f->count * f->type->bytes));
    return 0;
}

/* ------ The data ------ */

/* Where the file's next element goes: an odometer over the shape that turns
 * its last digit fastest in C order and its first in Fortran order. */
typedef struct place {
    int64_t index[LS_MAX_RANK];
    int64_t stride[LS_MAX_RANK]; /* of the C order that is written */
    int64_t at;
} place;

static void place_start(place *p, const npy *f)
{
    int64_t stride = 1;

    memset(p, 0, sizeof *p);
    for (int i = f->rank - 1; i >= 0; i--) {
        p->stride[i] = stride;
        stride *= f->shape[i];
    }
}

static void place_next(place *p, const npy *f)
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

static uint64_t raw_of(const npy *f, const uint8_t *bytes)
{
    uint64_t raw = number(bytes, f->type->bytes);

    if (f->big_endian)
        raw = __builtin_bswap64(raw) >> (64 - 8 * f->type->bytes);
    return raw;
}

static int out_of_range(const npy *f, const place *p, int64_t n, ls_dtype as)
{
    char index[LS__SHAPE_TEXT];

    ls__shape_text(index, f->rank, p->index);
    return ls__fail(LS_ERANGE, "%s: element %s at byte %lld is no %s", f->path,
                    index, (long long)(f->at + n * f->type->bytes),
                    as == LS_F32 ? "float32" : "int32");
}

static bool convert(const npy *f, const uint8_t *bytes, ls_dtype as, void *out)
{
    uint64_t raw = raw_of(f, bytes);

    return as == LS_F32 ? to_f32(f->type, raw, out) : to_i32(f->type, raw, out);
}

static int read_data(npy *f, ls_dtype as, void *out)
{
    uint8_t chunk[CHUNK];
    const int bytes = f->type->bytes;
    int64_t per_chunk = CHUNK / bytes;
    place p;

    place_start(&p, f);
    for (int64_t n = 0, m; n < f->count; n += m) {
        int status;

        m = f->count - n < per_chunk ? f->count - n : per_chunk;
        status = read_bytes(f, chunk, (size_t)(m * bytes), f->at + n * bytes);
        if (status < 0)
            return status;
        for (int64_t i = 0; i < m; i++) {
            if (!convert(f, chunk + i * bytes, as, (uint32_t *)out + p.at))
                return out_of_range(f, &p, n + i, as);
            place_next(&p, f);
        }
    }
    return 0;
}

static int load(npy *f, ls_tensor *out, ls_dtype as)
{
    ls_tensor t = {.dtype = as};
    int status = open_file(f);

    if (status == 0)
        status = read_header(f);
    if (status == 0)
        status = check_size(f);
    if (status < 0)
        return status;
    t.rank = f->rank;
    memcpy(t.shape, f->shape, sizeof t.shape);
    t.data = ls__new((size_t)f->count, sizeof(uint32_t), f->path);
    if (!t.data)
        return LS_ENOMEM;
    status = read_data(f, as, t.data);
    if (status < 0)
        ls_tensor_free(&t);
    else
        *out = t;
    return status;
}

int ls_npy_load(ls_tensor *out, const char *path, ls_dtype as)
{
    npy f = {.path = path};
    int status;

    if (as != LS_F32 && as != LS_I32)
        return ls__fail(LS_EINVAL, "%s: read as neither LS_F32 nor LS_I32",
                        path);
    status = load(&f, out, as);
    if (f.file)
        fclose(f.file);
    return status;
}

void ls_tensor_free(ls_tensor *tensor)
{
    if (!tensor)
        return;
    free(tensor->data);
    *tensor = (ls_tensor){0};
}
