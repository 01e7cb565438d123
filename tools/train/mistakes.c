/* SPDX-License-Identifier: BSD-3-Clause */
/* See mistakes.h. */
#include "train/mistakes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 8, MOST = 32, CAPTION = 80 };

/* How sure the model was of a row that it took for another class. */
typedef struct mistake {
    int64_t row;
    double sure;
} mistake;

typedef struct gallery {
    const figures *f;
    int n;
    mistake worst[MOST]; /* the surest first */
    int64_t size;        /* numbers of an image */
    float *image;        /* (n, size) */
    char caption[MOST][CAPTION];
} gallery;

int mistakes_check(const run *r)
{
    if (r->data.again.rows)
        return OPT_GO;
    return opt_fail(OPT_WRONG, "--mistakes is for images, some of which are "
                    "held out; --valid and --eval-data do that");
}

/* The probability of a class, by softmax. */
static double probability(const figures *f, int64_t row, int64_t class)
{
    const float *y = f->out + row * f->width;
    double sum = 0;

    for (int64_t i = 0; i < f->width; i++)
        sum += exp((double)y[i] - (double)y[class]);
    return 1 / sum;
}

/* Put a mistake in its place among the worst; of equals the first stays
 * before. */
static void take(gallery *g, mistake is)
{
    int at = g->n < MOST ? g->n++ : MOST;

    for (; at > 0 && g->worst[at - 1].sure < is.sure; at--)
        if (at < MOST)
            g->worst[at] = g->worst[at - 1];
    if (at < MOST)
        g->worst[at] = is;
}

static void find(gallery *g)
{
    const figures *f = g->f;
    const int32_t *label = f->y;

    for (int64_t i = 0; i < f->rows; i++) {
        int64_t said = figures_said(f, i);

        if (said != label[i])
            take(g, (mistake){i, probability(f, i, said)});
    }
}

static void write_caption(gallery *g, int i)
{
    const figures *f = g->f;
    int64_t row = g->worst[i].row;
    char is[FIGURES_NAME], said[FIGURES_NAME];

    snprintf(g->caption[i], CAPTION, "%.24s\nas %.24s\n%.1f %%",
             figures_class(f, ((const int32_t *)f->y)[row], is),
             figures_class(f, figures_said(f, row), said),
             100 * g->worst[i].sure);
}

/* An image as it was before (x - mean) / std. */
static void lighten(const gallery *g, float *x)
{
    const normal *n = &g->f->run->data.normal;
    int64_t channels = g->f->held.arrays[0].shape[2];

    for (int64_t i = 0; n->channels && i < g->size; i++) {
        int64_t c = n->channels == 1 ? 0 : i % channels;

        x[i] = (float)((double)x[i] * n->std[c] + n->mean[c]);
    }
}

static int read_images(gallery *g)
{
    int32_t label;
    int status = 0;

    for (int i = 0; i < g->n && status == 0; i++) {
        float *x = g->image + i * g->size;
        void *out[] = {x, &label};

        status = data_read(&g->f->held, g->worst[i].row, 1, out);
        lighten(g, x);
        write_caption(g, i);
    }
    return opt_check(status);
}

static int draw(gallery *g, const char *path)
{
    const char *caption[MOST];
    int status = read_images(g);

    for (int i = 0; i < g->n; i++)
        caption[i] = g->caption[i];
    if (status != OPT_GO)
        return status;
    return opt_check(ls_images_save(path, g->n, g->f->held.arrays[0].shape,
                                    g->image, COLUMNS, caption));
}

int mistakes_write(const figures *f, const char *path)
{
    gallery g = {.f = f};
    int status;

    if (!f->computed)
        return OPT_GO;
    find(&g);
    if (g.n == 0) {
        fprintf(stderr, "note: --mistakes: all images held out are known, so "
                "%s is not written\n", path);
        return OPT_GO;
    }
    g.size = (int64_t)(data_row_bytes(&f->held.arrays[0]) / sizeof(float));
    g.image = calloc((size_t)(g.n * g.size), sizeof *g.image);
    status = g.image ? draw(&g, path)
                     : opt_fail(OPT_FAILED, "--mistakes: no memory");
    free(g.image);
    return status;
}
