/* SPDX-License-Identifier: BSD-3-Clause */
/* JPEG by libjpeg-turbo: the accurate integer transform, chroma repeated and
 * not smoothed, no blocks smoothed, so that nothing depends on the CPU and as
 * little as may be on the library's version. */
#include "base/error.h"
#include "image/picture.h"

#include <setjmp.h>
#include <stdio.h> /* before jpeglib.h, which needs it */
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>

enum { EXIF = JPEG_APP0 + 1, EXIF_BYTES = 65533, SCANS = 200 };

typedef struct reading {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr error;
    struct jpeg_progress_mgr progress;
    jmp_buf leave;
    const ls__coded *from;
    ls__picture *p;
    int status;
    uint8_t *inks; /* a row of cyan, magenta, yellow and black; or NULL */
} reading;

/* ------ What libjpeg calls ------ */

/* libjpeg never returns to who called it. */
static void leave(j_common_ptr jpeg)
{
    reading *r = jpeg->client_data;
    char text[JMSG_LENGTH_MAX];

    if (r->status == 0 && jpeg->err->msg_code == JERR_OUT_OF_MEMORY)
        r->status = ls__no_memory(r->from->path, 0);
    if (r->status == 0) {
        jpeg->err->format_message(jpeg, text);
        r->status = ls__fail(LS_EFORMAT, "%s: JPEG: %s", r->from->path, text);
    }
    longjmp(r->leave, 1);
}

/* A warning says that pixels were made up, but for these. */
static bool is_harmless(int code)
{
    return code == JWRN_ADOBE_XFORM || code == JWRN_EXTRANEOUS_DATA ||
           code == JWRN_JFIF_MAJOR || code == JWRN_TOO_MUCH_DATA;
}

static void on_message(j_common_ptr jpeg, int level)
{
    if (level < 0 && !is_harmless(jpeg->err->msg_code))
        leave(jpeg);
}

/* Each scan of a progressive picture goes over all of it. */
static void on_progress(j_common_ptr jpeg)
{
    reading *r = jpeg->client_data;

    if (((j_decompress_ptr)jpeg)->input_scan_number <= SCANS)
        return;
    r->status = ls__fail(LS_ENOTSUP, "%s: JPEG: more than %d scans",
                         r->from->path, SCANS);
    leave(jpeg);
}

/* ------ Reading ------ */

static int orientation(const reading *r)
{
    jpeg_saved_marker_ptr m = r->jpeg.marker_list;

    for (; m; m = m->next)
        if (m->marker == EXIF) {
            int is = ls__picture_orientation(m->data, m->data_length);

            if (is != 1)
                return is;
        }
    return 1;
}

static void settle(reading *r)
{
    J_COLOR_SPACE is = r->jpeg.jpeg_color_space;

    r->jpeg.out_color_space = is == JCS_GRAYSCALE ? JCS_GRAYSCALE
                              : is == JCS_CMYK || is == JCS_YCCK ? JCS_CMYK
                                                                 : JCS_RGB;
    r->jpeg.dct_method = JDCT_ISLOW;
    r->jpeg.do_fancy_upsampling = FALSE;
    r->jpeg.do_block_smoothing = FALSE;
}

static uint8_t mix(int ink, int black)
{
    return (uint8_t)((ink * black + 127) / 255);
}

/* Adobe's are how much is left of the light, others how much is taken. */
static void put_inks(const reading *r, uint8_t *out)
{
    int flip = r->jpeg.saw_Adobe_marker ? 0 : 255;

    for (int64_t i = 0; i < r->p->width; i++)
        for (int c = 0; c < 3; c++)
            out[3 * i + c] = mix(r->inks[4 * i + c] ^ flip,
                                 r->inks[4 * i + 3] ^ flip);
}

static void read_rows(reading *r)
{
    bool inks = r->jpeg.out_color_space == JCS_CMYK;
    size_t bytes = (size_t)(r->p->width * r->p->channels);

    jpeg_start_decompress(&r->jpeg);
    if (inks)
        r->inks = r->jpeg.mem->alloc_large((j_common_ptr)&r->jpeg, JPOOL_IMAGE,
                                           4 * (size_t)r->p->width);
    for (int64_t y = 0; y < r->p->height; y++) {
        uint8_t *out = r->p->pixels + (size_t)y * bytes;

        jpeg_read_scanlines(&r->jpeg, inks ? &r->inks : &out, 1);
        if (inks)
            put_inks(r, out);
    }
    jpeg_finish_decompress(&r->jpeg);
}

/* libjpeg leaves by a jump, to here. */
static void read_picture(reading *r, int *turned)
{
    struct jpeg_decompress_struct *jpeg = &r->jpeg;

    if (setjmp(r->leave))
        return;
    jpeg_create_decompress(jpeg);
    jpeg->client_data = r;
    jpeg->progress = &r->progress;
    jpeg_save_markers(jpeg, EXIF, EXIF_BYTES);
    jpeg_mem_src(jpeg, r->from->bytes, r->from->n);
    jpeg_read_header(jpeg, TRUE);
    settle(r);
    *turned = orientation(r);
    r->status = ls__picture_size(r->p, r->from, jpeg->image_height,
                                 jpeg->image_width,
                                 jpeg->out_color_space == JCS_GRAYSCALE
                                     ? 1 : 3);
    if (r->status == 0 && !r->from->look)
        read_rows(r);
}

int ls__jpeg_decode(ls__picture *p, const ls__coded *from)
{
    reading r = {.from = from, .p = p};
    int turned = 1;

    r.jpeg.err = jpeg_std_error(&r.error);
    r.jpeg.client_data = &r; /* creation may fail */
    r.error.error_exit = leave;
    r.error.emit_message = on_message;
    r.progress.progress_monitor = on_progress;
    read_picture(&r, &turned);
    jpeg_destroy_decompress(&r.jpeg);
    return r.status == 0 ? ls__picture_turn(p, turned) : r.status;
}
