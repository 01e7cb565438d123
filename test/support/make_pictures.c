/* SPDX-License-Identifier: BSD-3-Clause */
/* make_pictures FOLDER N: N pictures of each of three classes, "cat", "dog" and
 * "green frog", in folders of these names: a disc of the class's colour in a
 * place, on a ground and of a size that differ, as PNG and JPEG of all kinds.
 * Ends with 77 where lockstep is built without pictures. */
#include "write_pictures.h"

#include <sys/stat.h>

#ifdef WITH_PICTURES
enum { SIDE = 64, KINDS = 5 };

static unsigned below(unsigned n)
{
    static uint64_t state = 1;

    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}

static void draw(uint8_t *out, int height, int width, int class)
{
    int y0 = height / 4 + (int)below((unsigned)height / 2);
    int x0 = width / 4 + (int)below((unsigned)width / 2);
    int r = (height < width ? height : width) / 4, ground[3];

    for (int c = 0; c < 3; c++)
        ground[c] = (int)below(120);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++, out += 3) {
            bool in = (y - y0) * (y - y0) + (x - x0) * (x - x0) <= r * r;

            for (int c = 0; c < 3; c++)
                out[c] = (uint8_t)(in && c == class ? 235 : ground[c]);
        }
}

static void put(const char *folder, int class, int i)
{
    static const char *const ends[KINDS] = {"png", "jpg", "png", "JPEG", "jpg"};
    static uint8_t pixels[SIDE * SIDE * 3];
    int height = SIDE / 2 + (int)below(SIDE / 2);
    int width = SIDE / 2 + (int)below(SIDE / 2), kind = i % KINDS;
    char path[4096];

    draw(pixels, height, width, class);
    snprintf(path, sizeof path, "%s/%03d.%s", folder, i, ends[kind]);
    if (kind % 2 == 0 && kind < 4)
        write_png(path, height, width,
                  &(png_form){PNG_COLOR_TYPE_RGB, 8, kind == 2, 0, 0}, pixels);
    else
        write_jpeg(path, height, width,
                   &(jpeg_form){.channels = 3, .quality = 85,
                                .orientation = kind == 3 ? 1 + i % 8 : 0,
                                .progressive = kind == 4}, pixels);
}

int main(int argc, char **argv)
{
    static const char *const classes[] = {"cat", "green frog", "dog"};

    if (argc != 3)
        return 2;
    mkdir(argv[1], 0777);
    for (int c = 0; c < 3; c++) {
        char folder[2048];

        snprintf(folder, sizeof folder, "%s/%s", argv[1], classes[c]);
        mkdir(folder, 0777);
        for (int i = 0; i < atoi(argv[2]); i++)
            put(folder, c, i);
    }
    return 0;
}
#else
int main(void)
{
    puts("skipped: this lockstep is built without libpng and libjpeg");
    return 77;
}
#endif
