/* SPDX-License-Identifier: BSD-3-Clause */
/* gzip through zlib, which checks the stream's own checksum at its end. */
#include "array/gunzip.h"
#include "base/error.h"
#include "base/memory.h"
#include "array/inflate.h"

#include <stdlib.h>

enum { FEED = 1 << 18 };

int ls__gunzip_open(ls__gunzip *g, const ls__file *in)
{
    int status;

    *g = (ls__gunzip){.in = in, .feed = ls__new(FEED, 1, "gzip stream")};
    if (!g->feed)
        return LS_ENOMEM;
    status = ls__inflate_open(&g->stream, MAX_WBITS + 16); /* 16: gzip alone */
    if (status < 0)
        free(g->feed);
    return status;
}

void ls__gunzip_close(ls__gunzip *g)
{
    (void)inflateEnd(&g->stream);
    free(g->feed);
}

static int64_t position(const ls__gunzip *g)
{
    return g->fed - g->stream.avail_in;
}

static int feed(ls__gunzip *g)
{
    int64_t left = g->in->size - g->fed, n = left < FEED ? left : FEED;
    int status;

    if (g->stream.avail_in || left == 0)
        return 0;
    if ((status = ls__file_read(g->in, g->feed, (size_t)n, g->fed)) < 0)
        return status;
    g->stream.next_in = g->feed;
    g->stream.avail_in = (unsigned)n;
    g->fed += n;
    return 0;
}

/* Inflate until the room of the stream is full or the stream has ended. */
static int inflate_room(ls__gunzip *g)
{
    while (g->stream.avail_out && !g->ended) {
        int status = feed(g);

        if (status < 0)
            return status;
        status = inflate(&g->stream, Z_NO_FLUSH);
        g->ended = status == Z_STREAM_END;
        if (status == Z_BUF_ERROR)
            return ls__fail(LS_EFORMAT, "%s: the gzip stream is cut short at "
                            "byte %lld", g->in->path, (long long)g->in->size);
        if (status == Z_MEM_ERROR)
            return LS_ENOMEM;
        if (status != Z_OK && status != Z_STREAM_END)
            return ls__fail(LS_EFORMAT, "%s: the gzip stream is damaged near "
                            "byte %lld: %s", g->in->path,
                            (long long)position(g),
                            g->stream.msg ? g->stream.msg : "no reason given");
    }
    return 0;
}

int64_t ls__gunzip_read(ls__gunzip *g, void *out, int64_t n)
{
    int64_t done = 0;

    while (done < n && !g->ended) {
        int64_t room = n - done < FEED ? n - done : FEED;
        int status;

        g->stream.next_out = (Bytef *)out + done;
        g->stream.avail_out = (unsigned)room;
        status = inflate_room(g);
        if (status < 0)
            return status;
        done += room - g->stream.avail_out;
    }
    return done;
}

int ls__gunzip_end(ls__gunzip *g)
{
    char more;
    int64_t n = ls__gunzip_read(g, &more, 1);

    if (n < 0)
        return (int)n;
    if (n > 0)
        return ls__fail(LS_EFORMAT, "%s: holds more than its header says, at "
                        "byte %lld", g->in->path, (long long)position(g));
    if (position(g) < g->in->size)
        return ls__fail(LS_EFORMAT, "%s: something follows the gzip stream at "
                        "byte %lld", g->in->path, (long long)position(g));
    return 0;
}
