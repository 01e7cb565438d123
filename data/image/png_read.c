/* SPDX-License-Identifier: BSD-3-Clause */
/* PNG by libpng: palettes and few bits become bytes, tRNS becomes alpha, and
 * 16 bits v become (255 v + 32895) >> 16, which is v / 257 rounded.  Gamma and
 * colour profiles are not looked at. */
#include "base/error.h"
#include "base/memory.h"
#include "image/picture.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

/* Limits of text and other chunks beside the picture. */
enum { CHUNKS = 1000, CHUNK_BYTES = 8000000 };

/* State that must survive a jump out of libpng. */
typedef struct reading {
    const ls__coded *from;
    ls__picture *p;
    size_t at; /* the next byte */
    int status;
    png_structp png;
    png_infop info;
    int turned;     /* by eXIf, where it stands before the pixels */
    png_bytep rows; /* as they come: one, or all of an interlaced picture */
} reading;

/* ------ What libpng calls ------ */

static void on_error(png_structp png, png_const_charp text)
{
    reading *r = png_get_error_ptr(png);

    if (r->status == 0)
        r->status = ls__fail(LS_EFORMAT, "%s: PNG: %s", r->from->path, text);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text;
}

static png_voidp take(png_structp png, png_alloc_size_t n)
{
    reading *r = png_get_mem_ptr(png);
    void *block = malloc(n);

    if (!block && r->status == 0)
        r->status = ls__no_memory(r->from->path, n);
    return block;
}

static void give(png_structp png, png_voidp block)
{
    (void)png;
    free(block);
}

static void next_bytes(png_structp png, png_bytep out, size_t n)
{
    reading *r = png_get_io_ptr(png);

    if (n > r->from->n - r->at)
        png_error(png, "the file ends too early");
    memcpy(out, r->from->bytes + r->at, n);
    r->at += n;
}

/* ------ Reading ------ */

static void read_turn(reading *r)
{
#ifdef PNG_eXIf_SUPPORTED
    png_uint_32 n;
    png_bytep exif;

    if (png_get_eXIf_1(r->png, r->info, &n, &exif))
        r->turned = ls__picture_orientation(exif, n);
#else
    (void)r;
#endif
}

/* Sizes are known after this, and refused by libpng, too, beyond a side. */
static void read_header(reading *r)
{
    png_set_user_limits(r->png, LS__PICTURE_SIDE, LS__PICTURE_SIDE);
    png_set_chunk_cache_max(r->png, CHUNKS);
    png_set_chunk_malloc_max(r->png, CHUNK_BYTES);
    png_set_read_fn(r->png, r, next_bytes);
    png_read_info(r->png, r->info);
    read_turn(r);
    png_set_expand(r->png);
}

/* Is it made before the rows are asked for? */
static int make_room(reading *r)
{
    bool interlaced = png_set_interlace_handling(r->png) > 1;
    size_t height = png_get_image_height(r->png, r->info);
    int status;

    png_read_update_info(r->png, r->info);
    status = ls__picture_size(r->p, r->from, (int64_t)height,
                              png_get_image_width(r->png, r->info),
                              png_get_channels(r->png, r->info));
    if (status < 0 || r->from->look)
        return status;
    r->rows = ls__new(interlaced ? height : 1,
                      png_get_rowbytes(r->png, r->info), r->from->path);
    return r->rows ? 0 : LS_ENOMEM;
}

static void put_row(const reading *r, const png_byte *in, int64_t y)
{
    size_t n = (size_t)(r->p->width * r->p->channels);
    uint8_t *out = r->p->pixels + (size_t)y * n;

    if (png_get_bit_depth(r->png, r->info) == 8) {
        memcpy(out, in, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t v = (uint32_t)in[2 * i] << 8 | in[2 * i + 1];

        out[i] = (uint8_t)((v * 255 + 32895) >> 16);
    }
}

static void read_rows(reading *r)
{
    size_t bytes = png_get_rowbytes(r->png, r->info);
    int passes = png_get_interlace_type(r->png, r->info) == PNG_INTERLACE_NONE
                     ? 1 : PNG_INTERLACE_ADAM7_PASSES;

    for (int pass = 0; pass < passes; pass++)
        for (int64_t y = 0; y < r->p->height; y++) {
            png_bytep row = r->rows + (passes > 1 ? (size_t)y * bytes : 0);

            png_read_row(r->png, row, NULL);
            if (pass == passes - 1)
                put_row(r, row, y);
        }
    png_read_end(r->png, NULL);
}

/* libpng leaves by a jump, to here. */
static void read_picture(reading *r)
{
    if (setjmp(png_jmpbuf(r->png)))
        return;
    read_header(r);
    r->status = make_room(r);
    if (r->status == 0 && !r->from->look)
        read_rows(r);
}

int ls__png_decode(ls__picture *p, const ls__coded *from)
{
    reading r = {.from = from, .p = p};

    r.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &r, on_error,
                                     on_warning, &r, take, give);
    r.info = r.png ? png_create_info_struct(r.png) : NULL;
    if (r.info)
        read_picture(&r);
    else if (r.status == 0)
        r.status = ls__no_memory(from->path, 0);
    png_destroy_read_struct(&r.png, &r.info, NULL);
    free(r.rows);
    return r.status == 0 ? ls__picture_turn(p, r.turned) : r.status;
}
