/* SPDX-License-Identifier: BSD-3-Clause */
/* See inflate.h.  zlib checks gzip's own checksum at the stream's end. */
#include "array/inflate.h"
#include "base/error.h"
#include "base/least.h"
#include "base/memory.h"

#include <stdlib.h>

enum { FEED = 1 << 18 };

static void *take(void *user, unsigned count, unsigned size)
{
    (void)user;
    return ls__new(count, size, "deflated data");
}

static void give(void *user, void *block)
{
    (void)user;
    free(block);
}

int ls__inflate_open(ls__inflate *s, const ls__file *in, int64_t at, int64_t n,
                     int bits)
{
    *s = (ls__inflate){.in = in, .at = at, .left = n};
    s->stream.zalloc = take;
    s->stream.zfree = give;
    if (!(s->feed = ls__new(FEED, 1, in->path)))
        return LS_ENOMEM;
    if (inflateInit2(&s->stream, bits) == Z_OK)
        return 0;
    free(s->feed);
    s->feed = NULL;
    return ls__no_memory("deflated data", sizeof *s);
}

void ls__inflate_close(ls__inflate *s)
{
    if (s->feed)
        (void)inflateEnd(&s->stream);
    free(s->feed);
    s->feed = NULL;
}

static int feed(ls__inflate *s)
{
    int64_t n = ls__least(s->left, FEED);
    int status;

    if (s->stream.avail_in || n == 0)
        return 0;
    if ((status = ls__file_read(s->in, s->feed, (size_t)n, s->at)) < 0)
        return status;
    s->stream.next_in = s->feed;
    s->stream.avail_in = (uInt)n;
    s->at += n;
    s->left -= n;
    return 0;
}

int64_t ls__inflate_read(ls__inflate *s, void *out, int64_t n, int *error)
{
    int64_t done = 0;

    while (done < n && !s->ended) {
        int64_t room = ls__least(n - done, FEED);
        int status = feed(s);

        if (status < 0)
            return status;
        s->stream.next_out = (Bytef *)out + done;
        s->stream.avail_out = (uInt)room;
        *error = inflate(&s->stream, Z_NO_FLUSH);
        s->ended = *error == Z_STREAM_END;
        if (*error != Z_OK && !s->ended)
            return *error == Z_MEM_ERROR ? LS_ENOMEM : LS_EFORMAT;
        done += room - s->stream.avail_out;
    }
    return done;
}

int64_t ls__inflate_most(int64_t n)
{
    return n > INT64_MAX / 1032 ? INT64_MAX : 1032 * n;
}

/* ------ gzip ------ */

static int64_t position(const ls__inflate *s)
{
    return s->at - s->stream.avail_in;
}

int ls__gunzip_open(ls__inflate *s, const ls__file *in)
{
    return ls__inflate_open(s, in, 0, in->size, MAX_WBITS + 16); /* it alone */
}

int64_t ls__gunzip_read(ls__inflate *s, void *out, int64_t n)
{
    int error = Z_OK;
    int64_t got = ls__inflate_read(s, out, n, &error);

    if (got != LS_EFORMAT)
        return got;
    if (error == Z_BUF_ERROR)
        return ls__fail(LS_EFORMAT, "%s: the gzip stream is cut short at byte "
                        "%lld", s->in->path, (long long)s->in->size);
    return ls__fail(LS_EFORMAT, "%s: the gzip stream is damaged near byte "
                    "%lld: %s", s->in->path, (long long)position(s),
                    s->stream.msg ? s->stream.msg : "no reason given");
}

int ls__gunzip_end(ls__inflate *s)
{
    char more;
    int64_t n = ls__gunzip_read(s, &more, 1);

    if (n < 0)
        return (int)n;
    if (n == 0 && position(s) == s->in->size)
        return 0;
    return ls__fail(LS_EFORMAT, "%s: %s, at byte %lld", s->in->path,
                    n > 0 ? "holds more than its header says"
                          : "something follows the gzip stream",
                    (long long)position(s));
}
