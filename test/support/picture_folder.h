/* SPDX-License-Identifier: BSD-3-Clause */
/* A folder of a PNG and a JPEG, and all that is done with pictures: looked at,
 * decoded, made another size, and changed.  Without libpng and libjpeg
 * there is none. */
#ifndef TEST_PICTURE_FOLDER_H
#define TEST_PICTURE_FOLDER_H

#include "folder.h"
#include "write_pictures.h"

#include <lockstep/images.h>

#include <sys/stat.h>

static inline void write_picture_folder(void)
{
#ifdef WITH_PICTURES
    static uint8_t rows[6 * 8 * 3];

    mkdir(in_folder("pictures"), 0777);
    mkdir(in_folder("pictures/a"), 0777);
    mkdir(in_folder("pictures/b"), 0777);
    write_png(in_folder("pictures/a/1.png"), 6, 8,
              &(png_form){PNG_COLOR_TYPE_RGB, 8, true, 0, 0}, rows);
    write_jpeg(in_folder("pictures/b/1.jpg"), 6, 8,
               &(jpeg_form){.channels = 3, .quality = 90, .orientation = 6},
               rows);
#endif
}

#ifdef WITH_PICTURES
/* Read both pictures with that many threads. */
static inline int use_pictures(int threads)
{
    ls_images_options o = ls_images_defaults();
    ls_augment_options a = ls_augment_defaults();
    static float x[2 * 4 * 4 * 3];
    int32_t y[2], other[2];
    float share[2];
    ls_source s;
    int status;

    o.shape[0] = o.shape[1] = 4;
    o.shape[2] = 3;
    o.threads = a.threads = threads;
    a.crop = 1;
    a.mixup = 0.5;
    a.other = "other";
    a.share = "share";
    status = ls_source_images(&s, in_folder("pictures"), &o);
    if (status < 0)
        return status;
    status = ls_source_augment(&s, &a);
    if (status == 0)
        status = s.fill(s.user, 2, (int64_t[]){0, 1},
                        (void *[]){x, y, other, share});
    ls_source_close(&s);
    return status;
}
#endif

#endif
