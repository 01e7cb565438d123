/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures for tests, written by libpng and libjpeg. */
#ifndef TEST_WRITE_PICTURES_H
#define TEST_WRITE_PICTURES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef WITH_PICTURES
#include <jpeglib.h>
#include <png.h>

/* The form of a picture: samples follow each other, two bytes each where bits
 * are 16, bits of a sample packed where they are below 8. */
typedef struct png_form {
    int color; /* PNG_COLOR_TYPE_.. */
    int bits;
    bool interlaced;
    int colors; /* of the palette: color i is (3 i, 255 - i, 7 i) */
    int clear;  /* number of transparent ones: alpha 40 i */
} png_form;

static inline void write_png(const char *path, int height, int width,
                             const png_form *form, const uint8_t *rows)
{
    FILE *f = fopen(path, "wb");
    png_structp png =
        png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    png_color palette[256];
    png_byte alpha[256];

    if (!f || !info || setjmp(png_jmpbuf(png)))
        abort();
    png_init_io(png, f);
    png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, form->bits,
                 form->color,
                 form->interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    for (int i = 0; i < form->colors; i++)
        palette[i] = (png_color){(png_byte)(3 * i), (png_byte)(255 - i),
                                 (png_byte)(7 * i)};
    for (int i = 0; i < form->clear; i++)
        alpha[i] = (png_byte)(40 * i);
    if (form->colors)
        png_set_PLTE(png, info, palette, form->colors);
    if (form->clear)
        png_set_tRNS(png, info, alpha, form->clear, NULL);
    png_write_info(png, info);
    for (int passes = png_set_interlace_handling(png); passes > 0; passes--)
        for (int y = 0; y < height; y++)
            png_write_row(png, rows + (size_t)y *
                                   png_get_rowbytes(png, info));
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    if (fclose(f) != 0)
        abort();
}

/* channels 1, 3 or 4 (inks); orientation 0: no EXIF. */
typedef struct jpeg_form {
    int channels, quality, orientation;
    bool progressive, whole; /* chroma as large as the picture */
} jpeg_form;

static inline void write_jpeg(const char *path, int height, int width,
                              const jpeg_form *form, const uint8_t *rows)
{
    uint8_t exif[] = "Exif\0\0MM\0*\0\0\0\10\0\1\1\22\0\3\0\0\0\1\0?\0\0\0\0\0";
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr error;
    FILE *f = fopen(path, "wb");

    if (!f)
        abort();
    jpeg.err = jpeg_std_error(&error);
    jpeg_create_compress(&jpeg);
    jpeg_stdio_dest(&jpeg, f);
    jpeg.image_width = (JDIMENSION)width;
    jpeg.image_height = (JDIMENSION)height;
    jpeg.input_components = form->channels;
    jpeg.in_color_space = form->channels == 1   ? JCS_GRAYSCALE
                          : form->channels == 3 ? JCS_RGB
                                                : JCS_CMYK;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, form->quality, TRUE);
    if (form->whole)
        jpeg.comp_info[0].h_samp_factor = jpeg.comp_info[0].v_samp_factor = 1;
    if (form->progressive)
        jpeg_simple_progression(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    exif[6 + 8 + 2 + 9] = (uint8_t)form->orientation;
    if (form->orientation)
        jpeg_write_marker(&jpeg, JPEG_APP0 + 1, exif, sizeof exif - 1);
    while (jpeg.next_scanline < jpeg.image_height) {
        JSAMPROW row = (JSAMPROW)rows + (size_t)jpeg.next_scanline *
                                            (size_t)(width * form->channels);

        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    if (fclose(f) != 0)
        abort();
}
#endif

#endif
