/* See zip.h.  The end of the file says where the directory is, the directory
 * says all of a member but where its data begin, which its own header says.
 * Every place and size is checked against the file before it is used. */
#include "file/zip.h"
#include "base/error.h"
#include "base/memory.h"
#include "file/inflate.h"

#include <stdlib.h>
#include <string.h>

enum { END = 22, ENTRY = 46, HEADER = 30, COMMENT = 65535 };
enum { STORED = 0, DEFLATED = 8 };

/* A member as its entry in the directory says. */
typedef struct member {
    const uint8_t *entry;
    int flags, method;
    uint32_t crc;
    int64_t packed, size; /* bytes in the file, and of what they stand for */
    int64_t begins;       /* its header */
    int name;             /* bytes of it */
} member;

static int malformed(const ls__zip *z, const char *what, int64_t at)
{
    return ls__fail(LS_EFORMAT, "%s: %s at byte %lld", z->file->path, what,
                    (long long)at);
}

static int64_t number(const uint8_t *p, int bytes)
{
    int64_t n = 0;

    while (bytes-- > 0)
        n = n << 8 | p[bytes];
    return n;
}

/* ------ The directory ------ */

/* The last record of the file that a comment follows exactly to its end. */
static const uint8_t *find_end(const uint8_t *tail, int64_t n)
{
    for (int64_t at = n - END; at >= 0; at--)
        if (memcmp(tail + at, "PK\5\6", 4) == 0 &&
            number(tail + at + 20, 2) == n - END - at)
            return tail + at;
    return NULL;
}

/* What the end of the archive says. */
static int read_end(ls__zip *z, const uint8_t *tail, int64_t n)
{
    const uint8_t *end = find_end(tail, n);
    int64_t at = z->file->size - n + (end ? end - tail : 0);

    if (!end)
        return malformed(z, "no ZIP archive: it has no end", z->file->size);
    z->members = number(end + 10, 2);
    z->size = number(end + 12, 4);
    z->begins = number(end + 16, 4);
    if (z->members == 0xffff || z->size == 0xffffffff ||
        z->begins == 0xffffffff)
        return malformed(z, "an archive of more than 4 GB or 65534 members",
                         at);
    if (number(end + 4, 4) != 0 || number(end + 8, 2) != z->members)
        return malformed(z, "an archive in several parts", at + 4);
    if (z->begins + z->size != at)
        return malformed(z, "a directory that does not end where the end "
                         "begins", at + 12);
    return 0;
}

static int load_end(ls__zip *z)
{
    int64_t n = z->file->size < END + COMMENT ? z->file->size : END + COMMENT;
    uint8_t *tail = ls__new((size_t)n + 1, 1, z->file->path);
    int status = tail ? ls__file_read(z->file, tail, (size_t)n,
                                      z->file->size - n) : LS_ENOMEM;

    if (status == 0)
        status = read_end(z, tail, n);
    free(tail);
    return status;
}

/* How long the entry at a place of the directory is; 0: it does not fit. */
static int64_t entry_size(const ls__zip *z, int64_t at)
{
    const uint8_t *e = z->directory + at;
    int64_t n;

    if (at > z->size - ENTRY || memcmp(e, "PK\1\2", 4) != 0)
        return 0;
    n = ENTRY + number(e + 28, 2) + number(e + 30, 2) + number(e + 32, 2);
    return n <= z->size - at ? n : 0;
}

/* Entries follow each other and fill the directory. */
static int check_entries(ls__zip *z)
{
    int64_t at = 0;

    for (int64_t i = 0; i < z->members; i++) {
        int64_t n = entry_size(z, at);

        z->entry[i] = (uint32_t)at;
        if (n == 0)
            return malformed(z, "an entry of the directory is cut short or "
                             "none", z->begins + at);
        at += n;
    }
    return at == z->size ? 0 : malformed(z, "a directory that is longer than "
                                         "its entries", z->begins + at);
}

int ls__zip_open(ls__zip *z, const ls__file *file)
{
    int status;

    *z = (ls__zip){.file = file};
    if ((status = load_end(z)) < 0)
        return status;
    z->directory = ls__new((size_t)z->size + 1, 1, file->path);
    z->entry = ls__new((size_t)z->members + 1, sizeof *z->entry, file->path);
    if (!z->directory || !z->entry)
        return LS_ENOMEM;
    status = ls__file_read(file, z->directory, (size_t)z->size, z->begins);
    return status < 0 ? status : check_entries(z);
}

void ls__zip_close(ls__zip *z)
{
    free(z->directory);
    free(z->entry);
    z->directory = NULL;
    z->entry = NULL;
}

static member member_at(const ls__zip *z, int64_t i)
{
    const uint8_t *e = z->directory + z->entry[i];

    return (member){.entry = e, .flags = (int)number(e + 8, 2),
                    .method = (int)number(e + 10, 2),
                    .crc = (uint32_t)number(e + 16, 4),
                    .packed = number(e + 20, 4), .size = number(e + 24, 4),
                    .begins = number(e + 42, 4),
                    .name = (int)number(e + 28, 2)};
}

const char *ls__zip_name(const ls__zip *z, int64_t i, int *length)
{
    member m = member_at(z, i);

    *length = m.name;
    return (const char *)m.entry + ENTRY;
}

/* ------ A member ------ */

static int refuse(const ls__zip *z, const member *m, const char *what)
{
    return ls__fail(LS_EFORMAT, "%s: member \"%.*s\" %s", z->file->path,
                    m->name < 64 ? m->name : 64,
                    (const char *)m->entry + ENTRY, what);
}

static int check_member(const ls__zip *z, const member *m)
{
    if (m->flags & 1)
        return refuse(z, m, "is encrypted");
    if (m->method != STORED && m->method != DEFLATED)
        return refuse(z, m, "is neither stored nor deflated");
    if (m->packed == 0xffffffff || m->size == 0xffffffff)
        return refuse(z, m, "is larger than 4 GB");
    if (m->method == STORED ? m->size != m->packed
                            : m->size > ls__inflate_most(m->packed))
        return refuse(z, m, "is smaller than it says");
    return 0;
}

/* Where its data begin: behind a header that says what the directory does. */
static int find_data(const ls__zip *z, const member *m, int64_t *data)
{
    uint8_t h[HEADER];
    int status;

    if (m->begins > z->begins - HEADER - m->packed)
        return refuse(z, m, "is longer than the file");
    if ((status = ls__file_read(z->file, h, HEADER, m->begins)) < 0)
        return status;
    if (memcmp(h, "PK\3\4", 4) != 0 || number(h + 8, 2) != m->method ||
        number(h + 26, 2) != m->name)
        return refuse(z, m, "has not the header that its entry says");
    *data = m->begins + HEADER + number(h + 26, 2) + number(h + 28, 2);
    return *data > z->begins - m->packed ? refuse(z, m, "is longer than the "
                                                  "file") : 0;
}

/* No other member begins within this one, nor this one within the data that
 * another says it has. */
static int check_place(const ls__zip *z, const member *m, int64_t i,
                       int64_t end)
{
    for (int64_t k = 0; k < z->members; k++) {
        const uint8_t *e = z->directory + z->entry[k];
        int64_t begins = number(e + 42, 4);
        int64_t last = begins + HEADER + number(e + 20, 4);

        if (k != i && begins < end && last > m->begins)
            return refuse(z, m, "lies where another one does");
    }
    return 0;
}

/* In one call: both sizes are below 4 GB. */
static int inflate_all(const ls__zip *z, const member *m, uint8_t *packed,
                       uint8_t *out)
{
    z_stream s = {.next_in = packed, .avail_in = (uInt)m->packed,
                  .next_out = out, .avail_out = (uInt)m->size};
    int status = ls__inflate_open(&s, -MAX_WBITS);

    if (status < 0)
        return status;
    status = inflate(&s, Z_FINISH);
    (void)inflateEnd(&s);
    if (status == Z_MEM_ERROR)
        return LS_ENOMEM;
    if (status != Z_STREAM_END || s.avail_in || s.avail_out)
        return refuse(z, m, "has damaged data");
    return 0;
}

static int unpack(const ls__zip *z, const member *m, int64_t data, uint8_t *out)
{
    uint8_t *packed = out;
    int status;

    if (m->method == DEFLATED &&
        !(packed = ls__new((size_t)m->packed + 1, 1, z->file->path)))
        return LS_ENOMEM;
    status = ls__file_read(z->file, packed, (size_t)m->packed, data);
    if (status == 0 && m->method == DEFLATED)
        status = inflate_all(z, m, packed, out);
    if (packed != out)
        free(packed);
    if (status == 0 && crc32(0, out, (uInt)m->size) != m->crc)
        return refuse(z, m, "has another checksum than it says");
    return status;
}

int ls__zip_read(const ls__zip *z, int64_t i, uint8_t **bytes, int64_t *size)
{
    member m = member_at(z, i);
    int64_t data = 0;
    int status = check_member(z, &m);
    uint8_t *out;

    if (status < 0 || (status = find_data(z, &m, &data)) < 0 ||
        (status = check_place(z, &m, i, data + m.packed)) < 0)
        return status;
    if (!(out = ls__new((size_t)m.size + 1, 1, z->file->path)))
        return LS_ENOMEM;
    if ((status = unpack(z, &m, data, out)) < 0) {
        free(out);
        return status;
    }
    *bytes = out;
    *size = m.size;
    return 0;
}
