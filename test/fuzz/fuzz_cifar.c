/* SPDX-License-Identifier: BSD-3-Clause */
/* CIFAR-10's binary files, one and the same twice. */
#define _GNU_SOURCE
#include "image/images.h"
#include "replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ls__images images = {0};
    char path[32];
    int fd = memory_file(data, size, path);

    for (int i = 0; i < 2 && ls__cifar_add(&images, path, 20) == 0; i++) {
        touch_rows(&images);
        touch(images.label, 4 * images.rows);
    }
    ls__images_close(&images);
    close(fd);
    return 0;
}
