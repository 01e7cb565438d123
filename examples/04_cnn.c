/* SPDX-License-Identifier: BSD-3-Clause */
/* A small convolutional network learns to tell four figures apart: a bar that
 * stands, a bar that lies, a cross, and a square, anywhere in a noisy picture.
 * Prints one of each, then loss and accuracy in training and on pictures it has
 * not seen; exits 1 when it has not learned. */
#include <lockstep.h>
#include <stdbool.h>
#include <stdio.h>

enum { SIDE = 16, FIGURE = 7, CLASSES = 4, PIXELS = SIDE * SIDE };
enum { TRAIN = 512, TEST = 256, BATCH = 64, EPOCHS = 4 };

typedef struct pictures {
    float x[(TRAIN + TEST) * PIXELS]; /* (N,SIDE,SIDE,1) */
    int32_t y[TRAIN + TEST];
} pictures;

/* ------ Pictures ------ */

/* Is there a stroke at row i, column j of the figure? */
static bool stroke(int figure, int i, int j)
{
    int end = FIGURE - 1;

    switch (figure) {
    case 0: return j == end / 2;
    case 1: return i == end / 2;
    case 2: return i == j || i == end - j;
    default: return i == 0 || j == 0 || i == end || j == end;
    }
}

/* A figure of brightness 1 at (top,left), in noise below 0.4. */
static void draw(float *x, int figure, int top, int left, ls_key key)
{
    ls_random_uniform(key, 0, PIXELS, 0, 0.4f, x);
    for (int i = 0; i < FIGURE; i++)
        for (int j = 0; j < FIGURE; j++)
            if (stroke(figure, i, j))
                x[(top + i) * SIDE + left + j] = 1;
}

/* Picture n is of class n % 4, at a place drawn by its number. */
static void draw_all(pictures *p)
{
    for (int n = 0; n < TRAIN + TEST; n++) {
        ls_key key = ls_key_fold_in(ls_key_new(4), (uint32_t)n);
        int32_t at[2];

        ls_random_randint(ls_key_fold_in(key, 1), 0, 2, 0, SIDE - FIGURE + 1,
                          at);
        p->y[n] = n % CLASSES;
        draw(p->x + n * PIXELS, p->y[n], at[0], at[1], key);
    }
}

/* Print the first four in a row. */
static void show(const pictures *p)
{
    for (int i = 0; i < SIDE; i++) {
        for (int n = 0; n < CLASSES; n++) {
            for (int j = 0; j < SIDE; j++)
                putchar(p->x[n * PIXELS + i * SIDE + j] < 0.4f ? '.' : '#');
            putchar(n < CLASSES - 1 ? ' ' : '\n');
        }
    }
}

/* ------ The network ------ */

/* 3x3 convolution, relu, and the largest of each 2x2. */
static ls_node *layer(ls_node *x, int64_t channels, const char *name)
{
    x = ls_conv2d(x, channels, (ls_window){.height = 3, .width = 3}, name);
    return ls_max_pool(ls_relu(x), (ls_window){2, 2, 2, 2, LS_VALID});
}

static void build(ls_graph *g)
{
    ls_node *x = ls_input(g, "x", LS_F32, 3, (int64_t[]){SIDE, SIDE, 1});
    ls_node *y = ls_input(g, "y", LS_I32, 0, NULL);

    x = layer(layer(x, 8, "conv1"), 16, "conv2");
    x = ls_dropout(ls_flatten(x), 0.25, "dropout");
    ls_loss(g, ls_cross_entropy(ls_dense(x, CLASSES, "dense"), y));
}

/* ------ Training ------ */

/* Rows first .. first + rows of the pictures. */
static int fill(ls_batch *b, const pictures *p, int first, int rows)
{
    int status = ls_batch_set(b, "x", LS_F32, p->x + first * PIXELS, rows);

    return status < 0 ? status
                      : ls_batch_set(b, "y", LS_I32, p->y + first, rows);
}

/* Train, and give the accuracy on the pictures held out. */
static int train(ls_trainer *t, ls_batch *b, const pictures *p, float *right)
{
    ls_result r;

    for (int epoch = 1; epoch <= EPOCHS; epoch++) {
        float loss = 0, accuracy = 0;

        for (int at = 0; at < TRAIN; at += BATCH) {
            if (fill(b, p, at, BATCH) < 0 || ls_step(t, b, &r) < 0)
                return -1;
            loss += r.loss * BATCH / TRAIN;
            accuracy += r.accuracy * BATCH / TRAIN;
        }
        if (fill(b, p, TRAIN, TEST) < 0 || ls_evaluate(t, b, &r) < 0)
            return -1;
        printf("Epoch %d: Loss=%.4f, Acc=%.4f; unseen: Loss=%.4f, Acc=%.4f\n",
               epoch, (double)loss, (double)accuracy, (double)r.loss,
               (double)r.accuracy);
    }
    *right = r.accuracy;
    return 0;
}

int main(void)
{
    static pictures p;
    ls_mesh *mesh = NULL;
    ls_pool *pool = NULL;
    ls_graph *g = NULL;
    ls_trainer *t = NULL;
    ls_batch *b = NULL;
    ls_trainer_options o = ls_trainer_defaults();
    float right = 0;
    int status;

    draw_all(&p);
    show(&p);
    o.optimizer = ls_adam(1e-2);
    status = ls_mesh_open(&mesh, NULL); /* 8 devices, all cores */
    if (status == 0)
        status = ls_pool_open(&pool, mesh, NULL);
    if (status == 0)
        status = ls_graph_new(&g);
    if (status == 0) {
        build(g);
        status = ls_trainer_open(&t, pool, g, &o);
    }
    if (status == 0)
        status = ls_batch_open(&b, t);
    if (status == 0)
        status = train(t, b, &p, &right);
    if (status != 0)
        puts(ls_errmsg());
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
    return status == 0 && right > 0.95f ? 0 : 1;
}
