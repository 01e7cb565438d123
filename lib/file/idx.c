/* IDX files, plain and gzip'd.
 *
 * Hostile until checked: a plain file must be exactly as long as its header
 * says; of a gzip'd one, memory is asked for as its contents arrive, at most
 * twice what has arrived. */
#include "file/idx.h"
#include "base/error.h"
#include "base/memory.h"
#include "file/gunzip.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD = 4 + 4 * LS__IDX_RANK, FIRST = 1 << 16 };

static bool is_gzip(const uint8_t *bytes, int64_t n)
{
    return n >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

bool ls__idx_looks(const uint8_t *bytes, int64_t n)
{
    return is_gzip(bytes, n) || (n >= 2 && bytes[0] == 0 && bytes[1] == 0);
}

/* ------ The header ------ */

static int check_magic(ls__idx *idx, const char *path, const uint8_t *head,
                       int64_t n)
{
    if (n < 4 || head[0] || head[1])
        return ls__fail(LS_EFORMAT, "%s: no IDX file: wrong magic at byte 0",
                        path);
    if (head[2] != 8)
        return ls__fail(LS_ENOTSUP, "%s: elements of IDX type %d at byte 2; "
                        "unsigned bytes, 8, are read", path, head[2]);
    if (head[3] < 1 || head[3] > LS__IDX_RANK)
        return ls__fail(LS_EFORMAT, "%s: %d axes at byte 3; 1 to %d are "
                        "possible", path, head[3], LS__IDX_RANK);
    idx->rank = head[3];
    return 0;
}

/* The extents, n bytes of the header being there. */
static int read_extents(ls__idx *idx, const char *path, const uint8_t *head,
                        int64_t n)
{
    for (int i = 0; i < idx->rank; i++) {
        const uint8_t *p = head + 4 + 4 * i;

        if (n < 8 + 4 * i)
            return ls__fail(LS_EFORMAT, "%s: the header is cut short at byte "
                            "%lld", path, (long long)n);
        idx->shape[i] = (int64_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
    }
    idx->count = ls__count(idx->rank, idx->shape);
    if (idx->count < 0)
        return ls__fail(LS_EFORMAT, "%s: the extents at byte 4 are more than "
                        "memory can hold", path);
    return 0;
}

/* The header against the bytes that follow it. */
static int lies(const ls__idx *idx, const char *path, int64_t room)
{
    char shape[LS__SHAPE_TEXT];

    ls__shape_text(shape, idx->rank, idx->shape);
    return ls__fail(LS_EFORMAT, "%s: %s bytes by the header, %lld follow it "
                    "at byte %d", path, shape, (long long)room,
                    4 + 4 * idx->rank);
}

/* ------ Plain ------ */

static int read_plain(ls__idx *idx, const char *path)
{
    const ls__map *m = &idx->map;
    int status = check_magic(idx, path, m->bytes, m->size);
    int64_t room;

    if (status == 0)
        status = read_extents(idx, path, m->bytes, m->size);
    if (status < 0)
        return status;
    room = m->size - 4 - 4 * idx->rank;
    if (idx->count != room)
        return lies(idx, path, room);
    idx->data = m->bytes + 4 + 4 * idx->rank;
    return 0;
}

/* ------ gzip'd ------ */

/* Make room for more elements: twice as much, but no more than the header
 * says. */
static int grow(ls__idx *idx, const char *path, int64_t *room)
{
    int64_t want = *room ? 2 * *room : FIRST;
    uint8_t *more;

    if (want > idx->count)
        want = idx->count;
    more = ls__new((size_t)want, 1, path);
    if (!more)
        return LS_ENOMEM;
    if (idx->inflated)
        memcpy(more, idx->inflated, (size_t)*room);
    free(idx->inflated);
    idx->inflated = more;
    *room = want;
    return 0;
}

static int inflate_data(ls__idx *idx, const char *path, ls__gunzip *g)
{
    int64_t room = 0, n = 0;

    do {
        int status = grow(idx, path, &room);
        int64_t more;

        if (status < 0)
            return status;
        more = ls__gunzip_read(g, idx->inflated + n, room - n);
        if (more < 0)
            return (int)more;
        n += more;
    } while (n == room && n != idx->count);
    if (n != idx->count)
        return lies(idx, path, n);
    idx->data = idx->inflated;
    return ls__gunzip_end(g);
}

static int inflate_all(ls__idx *idx, const char *path, ls__gunzip *g)
{
    uint8_t head[HEAD];
    int64_t n = ls__gunzip_read(g, head, 4);
    int status = n < 0 ? (int)n : check_magic(idx, path, head, n);

    if (status < 0)
        return status;
    n = ls__gunzip_read(g, head + 4, 4 * idx->rank);
    status = n < 0 ? (int)n : read_extents(idx, path, head, n + 4);
    return status < 0 ? status : inflate_data(idx, path, g);
}

static int read_gzip(ls__idx *idx, const char *path)
{
    ls__gunzip g;
    int status = ls__gunzip_open(&g, path, &idx->map);

    if (status < 0)
        return status;
    status = inflate_all(idx, path, &g);
    ls__gunzip_close(&g);
    ls__map_close(&idx->map);
    return status;
}

/* ------ */

int ls__idx_open(ls__idx *idx, const char *path)
{
    int status;

    *idx = (ls__idx){0};
    status = ls__map_open(&idx->map, path);
    if (status < 0)
        return status;
    status = is_gzip(idx->map.bytes, idx->map.size) ? read_gzip(idx, path)
                                                    : read_plain(idx, path);
    if (status < 0)
        ls__idx_close(idx);
    return status;
}

void ls__idx_close(ls__idx *idx)
{
    free(idx->inflated);
    ls__map_close(&idx->map);
    *idx = (ls__idx){0};
}
