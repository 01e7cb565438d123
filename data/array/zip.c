/* SPDX-License-Identifier: BSD-3-Clause */
/* See zip.h.  The end of the file says where the directory is, the directory
 * says all of a member but where its data begin, which its own header says.
 * Every place and size is checked against the file before it is used.
 *
 * A number that does not fit its 2 or 4 bytes has all bits set there, and is in
 * a record of ZIP64: that of an entry is among the entry's extra fields, and
 * that of the end lies before the end, where a locator between the two says. */
#include "array/zip.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { END = 22, ENTRY = 46, HEADER = 30, COMMENT = 65535 };
enum { END64 = 56, LOCATOR = 20 };
static const int64_t big = 0xffffffff; /* see the record of ZIP64 */
enum { STORED = 0, DEFLATED = 8 };

typedef ls__zip_member member;

static int malformed(const ls__zip *z, const char *what, int64_t at)
{
    return ls__fail(LS_EFORMAT, "%s: %s at byte %lld", z->file->path, what,
                    (long long)at);
}

/* Reads a number; INT64_MAX where it is larger than any file. */
static int64_t number(const uint8_t *p, int bytes)
{
    uint64_t n = 0;

    while (bytes-- > 0)
        n = n << 8 | p[bytes];
    return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

/* Can there be room for n bytes, and one more? */
static bool fits(int64_t n)
{
    return (uint64_t)n < SIZE_MAX;
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

/* A number of the short end and the same of the long one: equal, or only the
 * long one could hold it. */
static bool agree(int64_t brief, int64_t most, int64_t whole)
{
    return brief == most || brief == whole;
}

/* The locator is right before the end, which lies at `at`; the record that it
 * names is right before the locator. */
static bool find_end64(const ls__zip *z, int64_t at, uint8_t *end64,
                       int64_t *begins)
{
    uint8_t where[LOCATOR];

    if (at < LOCATOR + END64 ||
        ls__file_read(z->file, where, LOCATOR, at - LOCATOR) < 0 ||
        memcmp(where, "PK\6\7", 4) != 0)
        return false;
    *begins = number(where + 8, 8);
    return number(where + 4, 4) == 0 && number(where + 16, 4) == 1 &&
           *begins <= at - LOCATOR - END64 &&
           ls__file_read(z->file, end64, END64, *begins) == 0 &&
           memcmp(end64, "PK\6\6", 4) == 0 &&
           number(end64 + 4, 8) == at - LOCATOR - *begins - 12;
}

/* The end of ZIP64 in place of what the short one says, and its place in
 * *at. */
static int read_end64(ls__zip *z, const uint8_t *end, int64_t *at)
{
    uint8_t e[END64];
    int64_t begins = 0, place = *at;

    if (!find_end64(z, place, e, &begins))
        return malformed(z, "an archive of more than 4 GB or 65534 members "
                         "without an end of ZIP64 before its end", place);
    if (number(e + 16, 4) != 0 || number(e + 20, 4) != 0 ||
        number(e + 24, 8) != number(e + 32, 8))
        return malformed(z, "an archive in several parts", begins + 16);
    z->members = number(e + 32, 8);
    z->size = number(e + 40, 8);
    z->begins = number(e + 48, 8);
    if (!agree(number(end + 4, 2), 0xffff, 0) ||
        !agree(number(end + 6, 2), 0xffff, 0) ||
        !agree(number(end + 8, 2), 0xffff, z->members) ||
        !agree(number(end + 10, 2), 0xffff, z->members) ||
        !agree(number(end + 12, 4), big, z->size) ||
        !agree(number(end + 16, 4), big, z->begins))
        return malformed(z, "two ends that contradict each other", place);
    *at = begins;
    return 0;
}

static bool is_followed(const ls__zip *z, int64_t at)
{
    return z->size <= at && z->begins == at - z->size;
}

/* Reads the record at the archive's end. */
static int read_end(ls__zip *z, const uint8_t *tail, int64_t n)
{
    const uint8_t *end = find_end(tail, n);
    int64_t at = z->file->size - n + (end ? end - tail : 0);
    int status;

    if (!end)
        return malformed(z, "no ZIP archive: it has no end", z->file->size);
    z->members = number(end + 10, 2);
    z->size = number(end + 12, 4);
    z->begins = number(end + 16, 4);
    if (z->members == 0xffff || z->size == big || z->begins == big ||
        (end - tail >= LOCATOR && !is_followed(z, at) &&
         memcmp(end - LOCATOR, "PK\6\7", 4) == 0)) {
        if ((status = read_end64(z, end, &at)) < 0)
            return status;
    } else if (number(end + 4, 4) != 0 || number(end + 8, 2) != z->members) {
        return malformed(z, "an archive in several parts", at + 4);
    }
    if (!is_followed(z, at))
        return malformed(z, "a directory that does not end where the end "
                         "begins", at + 12);
    if (!fits(z->size))
        return malformed(z, "a directory that is larger than memory can be",
                         z->begins);
    return z->members <= z->size / ENTRY
               ? 0
               : malformed(z, "an entry of the directory is cut short or none",
                           z->begins);
}

static int load_end(ls__zip *z)
{
    const int64_t most = LOCATOR + END + COMMENT;
    int64_t n = z->file->size < most ? z->file->size : most;
    uint8_t *tail = ls__new((size_t)n + 1, 1, z->file->path);
    int status =
        tail ? ls__file_read(z->file, tail, (size_t)n, z->file->size - n)
             : LS_ENOMEM;

    if (status == 0)
        status = read_end(z, tail, n);
    free(tail);
    return status;
}

/* The length of the directory's entry at a place; 0: it does not fit. */
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

        z->entry[i] = at;
        if (n == 0)
            return malformed(z, "an entry of the directory is cut short or "
                             "none", z->begins + at);
        at += n;
    }
    if (at < z->size)
        return malformed(z, "a directory that is longer than its entries",
                         z->begins + at);
    return 0;
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

const char *ls__zip_name(const ls__zip *z, int64_t i, int *length)
{
    const uint8_t *e = z->directory + z->entry[i];

    *length = (int)number(e + 28, 2);
    return (const char *)e + ENTRY;
}

/* ------ A member ------ */

static int refuse(const ls__zip *z, const member *m, const char *what)
{
    return ls__fail(LS_EFORMAT, "%s: member \"%.*s\" %s", z->file->path,
                    m->name < 64 ? m->name : 64, (const char *)m->entry + ENTRY,
                    what);
}

/* The data of an entry's field of ZIP64, and how many bytes they are. */
static const uint8_t *find_field(const uint8_t *e, int64_t *n)
{
    const uint8_t *p = e + ENTRY + number(e + 28, 2);
    int64_t left = number(e + 30, 2);

    while (left >= 4 && (*n = number(p + 2, 2)) <= left - 4) {
        if (number(p, 2) == 1)
            return p + 4;
        left -= 4 + *n;
        p += 4 + *n;
    }
    return NULL;
}

/* Its field of ZIP64 has the numbers that do not fit the entry, in this order,
 * and no others before them. */
static int widen(const ls__zip *z, member *m)
{
    int64_t *const of[] = {&m->size, &m->packed, &m->begins};
    int64_t n = 0;
    const uint8_t *p = NULL;

    for (int i = 0; i < 3; i++) {
        if (*of[i] != big)
            continue;
        if (!p)
            p = find_field(m->entry, &n);
        if (!p || (n -= 8) < 0)
            return refuse(z, m, "is larger than 4 GB, or lies behind them, "
                          "and has no field of ZIP64 that says so");
        *of[i] = number(p, 8);
        p += 8;
    }
    return 0;
}

static int read_member(const ls__zip *z, int64_t i, member *m)
{
    const uint8_t *e = z->directory + z->entry[i];

    *m = (member){.zip = z,
                  .entry = e,
                  .flags = (int)number(e + 8, 2),
                  .method = (int)number(e + 10, 2),
                  .crc = (uint32_t)number(e + 16, 4),
                  .packed = number(e + 20, 4),
                  .size = number(e + 24, 4),
                  .begins = number(e + 42, 4),
                  .name = (int)number(e + 28, 2)};
    return widen(z, m);
}

static int check_member(const ls__zip *z, const member *m)
{
    if (m->flags & 1)
        return refuse(z, m, "is encrypted");
    if (m->method != STORED && m->method != DEFLATED)
        return refuse(z, m, "is neither stored nor deflated");
    if (m->packed > z->begins)
        return refuse(z, m, "is longer than the file");
    if (!fits(m->packed) || !fits(m->size))
        return refuse(z, m, "is larger than memory can be");
    if (m->method == STORED ? m->size != m->packed
                            : m->size > ls__inflate_most(m->packed))
        return refuse(z, m, "is smaller than it says");
    return 0;
}

/* Finds the data, behind a header that repeats the directory's. */
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
    if (*data > z->begins - m->packed)
        return refuse(z, m, "is longer than the file");
    return 0;
}

/* No other member begins within this one, nor this one within the data that
 * another says it has. */
static int check_place(const ls__zip *z, const member *m, int64_t i,
                       int64_t end)
{
    for (int64_t k = 0; k < z->members; k++) {
        member other;
        int status = read_member(z, k, &other);

        if (status < 0)
            return status;
        if (k != i && other.begins < end &&
            other.packed > m->begins - HEADER - other.begins)
            return refuse(z, m, "lies where another one does");
    }
    return 0;
}

int ls__member_open(ls__zip_member *m, const ls__zip *z, int64_t i)
{
    int status = read_member(z, i, m);

    if (status < 0 || (status = check_member(z, m)) < 0 ||
        (status = find_data(z, m, &m->at)) < 0 ||
        (status = check_place(z, m, i, m->at + m->packed)) < 0)
        return status;
    m->left = m->packed;
    return m->method == STORED ? 0
                               : ls__inflate_open(&m->stream, z->file, m->at,
                                                  m->packed, -MAX_WBITS);
}

void ls__member_close(ls__zip_member *m)
{
    ls__inflate_close(&m->stream);
}

static int damaged(const ls__zip_member *m)
{
    return refuse(m->zip, m, "has damaged data");
}

/* The next bytes of a stored one. */
static int take(ls__zip_member *m, void *out, size_t n)
{
    int status = (int64_t)n > m->left
                     ? damaged(m)
                     : ls__file_read(m->zip->file, out, n, m->at);

    m->at += (int64_t)n;
    m->left -= (int64_t)n;
    return status;
}

/* And of a deflated one: 1 where there are fewer. */
static int unpack(ls__zip_member *m, void *out, size_t n)
{
    int error;
    int64_t got = ls__inflate_read(&m->stream, out, (int64_t)n, &error);

    return got == LS_EFORMAT ? damaged(m)
           : got < 0 ? (int)got : got < (int64_t)n;
}

int ls__member_read(ls__zip_member *m, void *out, size_t n)
{
    int status = m->method == STORED ? take(m, out, n) : unpack(m, out, n);

    if (status > 0)
        return damaged(m);
    if (status == 0)
        m->sum = (uint32_t)crc32(m->sum, out, (uInt)n);
    return status;
}

int ls__member_end(ls__zip_member *m)
{
    const ls__inflate *s = &m->stream;
    uint8_t more;
    int status = m->method == STORED ? m->left == 0 : unpack(m, &more, 1);

    if (status == 0 || (status > 0 && m->method == DEFLATED &&
                        (s->left || s->stream.avail_in)))
        return damaged(m);
    if (status > 0 && m->sum != m->crc)
        return refuse(m->zip, m, "has another checksum than it says");
    return status < 0 ? status : 0;
}
