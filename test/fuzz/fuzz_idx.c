/* SPDX-License-Identifier: BSD-3-Clause */
/* IDX files, plain and gzip'd: as images, and as labels of three. */
#define _GNU_SOURCE
#include "image/images.h"
#include "replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ls__images images = {0}, labels = {.rows = 3};
    char path[32];
    int fd = memory_file(data, size, path);

    if (ls__idx_images(&images, path) == 0)
        touch_rows(&images);
    if (ls__labels_read(&labels, path) == 0)
        touch(labels.label, 3 * 4);
    ls__images_close(&images);
    ls__images_close(&labels);
    close(fd);
    return 0;
}
