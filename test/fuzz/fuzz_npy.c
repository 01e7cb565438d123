/* SPDX-License-Identifier: BSD-3-Clause */
/* .npy files: as numbers of both types, as images, and as labels of three; and
 * .npz files: the array x, and the only one. */
#define _GNU_SOURCE
#include "image/images.h"
#include "replay.h"

#include <lockstep/files.h>

static void load(const char *path, ls_dtype as)
{
    ls_array t;
    int64_t n = 1;

    if (ls_npy_load(&t, path, as) < 0)
        return;
    for (int i = 0; i < t.rank; i++)
        n *= t.shape[i];
    touch(t.data, 4 * n);
    ls_array_free(&t);
}

static void load_member(const char *path, const char *name)
{
    ls_array t;
    int64_t n = 1;

    if (ls_npz_load(&t, path, name, LS_F32) < 0)
        return;
    for (int i = 0; i < t.rank; i++)
        n *= t.shape[i];
    touch(t.data, 4 * n);
    ls_array_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ls__images images = {0}, labels = {.rows = 3};
    char path[32];
    int fd = memory_file(data, size, path);

    load(path, LS_F32);
    load(path, LS_I32);
    load_member(path, "x");
    load_member(path, NULL);
    if (ls__npy_images(&images, path, size % 2) == 0)
        touch_rows(&images);
    if (ls__labels_read(&labels, path) == 0)
        touch(labels.label, 3 * 4);
    ls__images_close(&images);
    ls__images_close(&labels);
    close(fd);
    return 0;
}
