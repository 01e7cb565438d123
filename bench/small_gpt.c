/* SPDX-License-Identifier: BSD-3-Clause */
/* A GPT as small as Andrej Karpathy's microgpt: one layer, 4 heads, windows of
 * 16 letters of 27, Adam; --width 16, 32, 64 or 128; --windows 1 or up to 16 of
 * them a step.  Either
 * lockstep trains it, on one worker, or, with --hand 1, the same model written
 * out below in C with its backward pass, for the compiler to make the best of:
 * widths are constants, inner loops run over contiguous floats and need no sum
 * in another order, so that they become vectors without -ffast-math.
 *
 * It is compiled with -O3 -march=native -fno-math-errno, without which the
 * square roots of Adam become no vectors.
 *
 * Writes the metrics form of lockstep-train: a line a block, with the loss of
 * its first step, whose "ms" is the mean of the block's steps. */
#include "training.h"

#include <math.h>

enum {
    V = 27,
    WIDE = 32, /* the head's columns by hand, the last ones zeros */
    T = 16,
    HEADS = 4,
    ROWS = 64,
    MOST = 16, /* windows a step */
    BLOCK = 100
};

static const double RATE = 0.002, B1 = 0.85, B2 = 0.99, EPS = 1e-8;
static const double NORM_EPS = 1e-5;

/* ------ The model as a graph ------ */

static ls_node *matrix(ls_node *x, int64_t n, const char *name)
{
    ls_dense_options o = ls_dense_defaults();

    o.no_bias = true;
    return ls_dense_with(x, n, &o, name);
}

static ls_graph *build(int64_t d)
{
    ls_graph *g;
    ls_node *x, *label, *h;

    must(ls_graph_new(&g));
    x = ls_input(g, "x", LS_I32, 1, (int64_t[]){T});
    label = ls_input(g, "label", LS_I32, 1, (int64_t[]){T});
    x = ls_position(ls_embed(x, V, d, "a_token"), "b_position");
    x = ls_rms_norm(x, NORM_EPS, "c_norm");
    h = ls_rms_norm(x, NORM_EPS, "d_norm");
    x = ls_add(x, ls_self_attention(h, HEADS, true, "e_attention"));
    h = matrix(ls_rms_norm(x, NORM_EPS, "f_norm"), 4 * d, "g_up");
    x = ls_add(x, matrix(ls_relu(h), d, "h_down"));
    must(ls_loss(g, ls_cross_entropy(matrix(x, V, "i_head"), label)));
    return g;
}

/* The parameters in the order in which both have them. */
static const char *const names[] = {
    "a_token.embedding", "b_position", "c_norm.scale", "d_norm.scale",
    "e_attention.query.kernel", "e_attention.key.kernel",
    "e_attention.value.kernel", "e_attention.out.kernel", "f_norm.scale",
    "g_up.kernel", "h_down.kernel", "i_head.kernel"};

enum { TOKEN, POSITION, NORM0, NORM1, Q, K, VALUE, OUT, NORM2, UP, DOWN, HEAD,
       PARAMS };

static training open_training(int width)
{
    static float position[T * 128];
    ls_trainer_options o = ls_trainer_defaults();
    training r;

    o.optimizer = ls_adam(RATE);
    o.optimizer.b1 = B1;
    o.optimizer.b2 = B2;
    o.optimizer.eps = EPS;
    r = training_open(build(width), 1, 1, &o);
    draw(3, 0.02f, (int64_t)T * width, position);
    must(ls_trainer_set(r.trainer, names[POSITION], (int64_t)T * width,
                        position));
    return r;
}

/* ------ The same by hand ------ */

/* One array of all parameters, their gradients and moments. */
typedef struct hand {
    int width, count;
    int at[PARAMS + 1];
    float *w, *g, *m, *v, *sum; /* sum: of g over windows */
    int steps;
} hand;

static void *room(size_t n, size_t size)
{
    void *p = aligned_alloc(64, (n * size + 63) / 64 * 64);

    if (!p)
        exit(EXIT_FAILURE);
    return memset(p, 0, (n * size + 63) / 64 * 64);
}

static void hand_open(hand *h, ls_trainer *t, int d)
{
    const int size[PARAMS] = {V * d, T * d, d,     d,         d * d,     d * d,
                              d * d, d * d, d, 4 * d * d, 4 * d * d, d * WIDE};
    float *head = room((size_t)(d * V), sizeof *head);

    *h = (hand){.width = d};
    for (int i = 0; i < PARAMS; i++)
        h->at[i + 1] = h->at[i] + (size[i] + 15) / 16 * 16;
    h->count = h->at[PARAMS];
    h->w = room((size_t)h->count, sizeof(float));
    h->g = room((size_t)h->count, sizeof(float));
    h->m = room((size_t)h->count, sizeof(float));
    h->v = room((size_t)h->count, sizeof(float));
    h->sum = room((size_t)h->count, sizeof(float));
    for (int i = 0; i < HEAD; i++)
        must(ls_trainer_get(t, names[i], size[i], h->w + h->at[i]));
    must(ls_trainer_get(t, names[HEAD], d * V, head));
    for (int i = 0; i < d; i++)
        memcpy(h->w + h->at[HEAD] + i * WIDE, head + i * V, V * sizeof *head);
    free(head);
}

#define HERE static inline __attribute__((always_inline)) void

/* Sixteen floats side by side, in GNU C. */
typedef float wide __attribute__((vector_size(64), aligned(4), may_alias));

/* Four rows and sixteen columns of c = or += a b: sums that stay in registers.
 * a[r,k] is at r * ar + k * ak, b[k,..] at k * bk, c[r,..] at r * cr. */
HERE tile(int k, const float *restrict a, int ar, int ak,
          const float *restrict b, int bk, float *restrict c, int cr, bool adds)
{
    wide sum[4] = {{0}, {0}, {0}, {0}};

    for (int i = 0; i < k; i++)
        for (int r = 0; r < 4; r++)
            sum[r] += a[r * ar + i * ak] * *(const wide *)(b + i * bk);
    for (int r = 0; r < 4; r++) {
        wide *to = (wide *)(c + r * cr);

        if (adds)
            sum[r] += *to;
        *to = sum[r];
    }
}

HERE tiles(int rows, int columns, int k, const float *restrict a, int ar,
           int ak, const float *restrict b, float *restrict c, bool adds)
{
    for (int r = 0; r < rows; r += 4)
        for (int l = 0; l < columns; l += 16)
            tile(k, a + r * ar, ar, ak, b + l, columns, c + r * columns + l,
                 columns, adds);
}

/* y = x w, (T,in) (in,out). */
HERE product(int in, int out, const float *restrict x,
             const float *restrict w, float *restrict y)
{
    tiles(T, out, in, x, in, 1, w, y, false);
}

/* dx += dy w', by a transpose of w, and dw = x' dy. */
HERE product_back(int in, int out, const float *restrict x,
                  const float *restrict w, const float *restrict dy,
                  float *restrict dx, float *restrict dw)
{
    static float turned[128 * 512];

    for (int i = 0; i < in; i += 16) /* in squares, for the cache */
        for (int o = 0; o < out; o += 16)
            for (int k = 0; k < 256; k++)
                turned[(o + k % 16) * in + i + k / 16] =
                    w[(i + k / 16) * out + o + k % 16];
    tiles(T, in, out, dy, out, 1, turned, dx, true);
    tiles(in, out, T, x, 1, in, dy, dw, false);
}

/* y = x / sqrt(mean(x^2) + eps) * g; r keeps what x is multiplied by. */
HERE norm(int d, const float *restrict x, const float *restrict g,
          float *restrict y, float *restrict r)
{
    for (int t = 0; t < T; t++) {
        float sum = 0;

        for (int i = 0; i < d; i++)
            sum += x[t * d + i] * x[t * d + i];
        r[t] = 1 / sqrtf(sum / (float)d + (float)NORM_EPS);
        for (int i = 0; i < d; i++)
            y[t * d + i] = x[t * d + i] * r[t] * g[i];
    }
}

/* dx += .., dg = .. */
HERE norm_back(int d, const float *restrict x, const float *restrict g,
               const float *restrict r, const float *restrict dy,
               float *restrict dx, float *restrict dg)
{
    for (int i = 0; i < d; i++)
        dg[i] = 0;
    for (int t = 0; t < T; t++) {
        float dot = 0, c;

        for (int i = 0; i < d; i++) {
            dg[i] += dy[t * d + i] * x[t * d + i] * r[t];
            dot += dy[t * d + i] * g[i] * x[t * d + i];
        }
        c = dot * r[t] * r[t] * r[t] / (float)d;
        for (int i = 0; i < d; i++)
            dx[t * d + i] += dy[t * d + i] * g[i] * r[t] - x[t * d + i] * c;
    }
}

/* Causal attention of each head; p keeps the weights. */
HERE attention(int d, const float *restrict q, const float *restrict k,
               const float *restrict v, float *restrict y,
               float (*restrict p)[T][T])
{
    const int n = d / HEADS;
    const float scale = 1 / sqrtf((float)n);

    for (int h = 0; h < HEADS; h++)
        for (int t = 0; t < T; t++) {
            float most = -INFINITY, sum = 0, *w = p[h][t];

            for (int s = 0; s <= t; s++) {
                w[s] = 0;
                for (int i = 0; i < n; i++)
                    w[s] += q[t * d + h * n + i] * k[s * d + h * n + i];
                w[s] *= scale;
                most = w[s] > most ? w[s] : most;
            }
            for (int s = 0; s <= t; s++)
                sum += w[s] = expf(w[s] - most);
            for (int i = 0; i < n; i++)
                y[t * d + h * n + i] = 0;
            for (int s = 0; s <= t; s++) {
                w[s] /= sum;
                for (int i = 0; i < n; i++)
                    y[t * d + h * n + i] += w[s] * v[s * d + h * n + i];
            }
        }
}

HERE attention_back(int d, const float *restrict q, const float *restrict k,
                    const float *restrict v, float (*restrict p)[T][T],
                    const float *restrict dy, float *restrict dq,
                    float *restrict dk, float *restrict dv)
{
    const int n = d / HEADS;
    const float scale = 1 / sqrtf((float)n);

    memset(dq, 0, (size_t)(T * d) * sizeof *dq);
    memset(dk, 0, (size_t)(T * d) * sizeof *dk);
    memset(dv, 0, (size_t)(T * d) * sizeof *dv);
    for (int h = 0; h < HEADS; h++)
        for (int t = 0; t < T; t++) {
            const float *w = p[h][t];
            float dw[T], dot = 0;
            const int at = t * d + h * n;

            for (int s = 0; s <= t; s++) {
                dw[s] = 0;
                for (int i = 0; i < n; i++) {
                    dw[s] += dy[at + i] * v[s * d + h * n + i];
                    dv[s * d + h * n + i] += w[s] * dy[at + i];
                }
                dot += w[s] * dw[s];
            }
            for (int s = 0; s <= t; s++) {
                const float c = w[s] * (dw[s] - dot) * scale;

                for (int i = 0; i < n; i++) {
                    dq[at + i] += c * k[s * d + h * n + i];
                    dk[s * d + h * n + i] += c * q[at + i];
                }
            }
        }
}

/* The mean of -log softmax(logits)[label], whose gradient takes the logits'
 * place. */
static float entropy(float *restrict logits, const int32_t *label)
{
    float loss = 0;

    for (int t = 0; t < T; t++) {
        float *row = logits + t * WIDE, most = row[0], sum = 0;

        for (int i = 1; i < V; i++)
            most = row[i] > most ? row[i] : most;
        loss -= row[label[t]] - most;
        for (int i = 0; i < V; i++)
            sum += row[i] = expf(row[i] - most);
        loss += logf(sum);
        for (int i = 0; i < V; i++)
            row[i] /= sum * T;
        for (int i = V; i < WIDE; i++)
            row[i] = 0;
        row[label[t]] -= 1.0f / T;
    }
    return loss / T;
}

static void adam(hand *h)
{
    const float c1 = (float)(1 / (1 - pow(B1, ++h->steps)));
    const float c2 = (float)(1 / (1 - pow(B2, h->steps)));
    const float b1 = (float)B1, b2 = (float)B2;

    for (int i = 0; i < h->count; i++) {
        h->m[i] = b1 * h->m[i] + (1 - b1) * h->g[i];
        h->v[i] = b2 * h->v[i] + (1 - b2) * h->g[i] * h->g[i];
        h->w[i] -= (float)RATE * (h->m[i] * c1) /
                   (sqrtf(h->v[i] * c2) + (float)EPS);
    }
}

/* What forward keeps for backward. */
typedef struct kept {
    float x0[T * 128], x1[T * 128], n1[T * 128], q[T * 128], k[T * 128],
        v[T * 128], y[T * 128], x2[T * 128], n2[T * 128], up[T * 512],
        x3[T * 128], logits[T * WIDE], p[HEADS][T][T], r0[T], r1[T], r2[T];
    float dx[T * 128], dn[T * 128], dup[T * 512], dq[T * 128], dk[T * 128],
        dv[T * 128], dy[T * 128], d0[T * 128];
} kept;

HERE forward(const hand *h, int d, const int32_t *x, kept *restrict c)
{
    const float *w = h->w;
    const int *at = h->at;

    for (int t = 0; t < T; t++)
        for (int i = 0; i < d; i++)
            c->x0[t * d + i] = w[at[TOKEN] + x[t] * d + i] +
                               w[at[POSITION] + t * d + i];
    norm(d, c->x0, w + at[NORM0], c->x1, c->r0);
    norm(d, c->x1, w + at[NORM1], c->n1, c->r1);
    product(d, d, c->n1, w + at[Q], c->q);
    product(d, d, c->n1, w + at[K], c->k);
    product(d, d, c->n1, w + at[VALUE], c->v);
    attention(d, c->q, c->k, c->v, c->y, c->p);
    product(d, d, c->y, w + at[OUT], c->x2);
    for (int i = 0; i < T * d; i++)
        c->x2[i] += c->x1[i];
    norm(d, c->x2, w + at[NORM2], c->n2, c->r2);
    product(d, 4 * d, c->n2, w + at[UP], c->up);
    for (int i = 0; i < 4 * T * d; i++)
        c->up[i] = c->up[i] > 0 ? c->up[i] : 0;
    product(4 * d, d, c->up, w + at[DOWN], c->x3);
    for (int i = 0; i < T * d; i++)
        c->x3[i] += c->x2[i];
    product(d, WIDE, c->x3, w + at[HEAD], c->logits);
}

HERE backward(hand *h, int d, const int32_t *x, kept *restrict c)
{
    const float *w = h->w;
    const int *at = h->at;
    const size_t row = (size_t)(T * d) * sizeof(float);
    float *g = h->g;

    memset(c->dx, 0, row);
    product_back(d, WIDE, c->x3, w + at[HEAD], c->logits, c->dx, g + at[HEAD]);
    memset(c->dup, 0, 4 * row);
    product_back(4 * d, d, c->up, w + at[DOWN], c->dx, c->dup, g + at[DOWN]);
    for (int i = 0; i < 4 * T * d; i++)
        c->dup[i] = c->up[i] > 0 ? c->dup[i] : 0;
    memset(c->dn, 0, row);
    product_back(d, 4 * d, c->n2, w + at[UP], c->dup, c->dn, g + at[UP]);
    norm_back(d, c->x2, w + at[NORM2], c->r2, c->dn, c->dx, g + at[NORM2]);
    memset(c->dy, 0, row);
    product_back(d, d, c->y, w + at[OUT], c->dx, c->dy, g + at[OUT]);
    attention_back(d, c->q, c->k, c->v, c->p, c->dy, c->dq, c->dk, c->dv);
    memset(c->dn, 0, row);
    product_back(d, d, c->n1, w + at[Q], c->dq, c->dn, g + at[Q]);
    product_back(d, d, c->n1, w + at[K], c->dk, c->dn, g + at[K]);
    product_back(d, d, c->n1, w + at[VALUE], c->dv, c->dn, g + at[VALUE]);
    norm_back(d, c->x1, w + at[NORM1], c->r1, c->dn, c->dx, g + at[NORM1]);
    memset(c->d0, 0, row);
    norm_back(d, c->x0, w + at[NORM0], c->r0, c->dx, c->d0, g + at[NORM0]);
    memset(g + at[TOKEN], 0, (size_t)(V * d) * sizeof *g);
    for (int t = 0; t < T; t++)
        for (int i = 0; i < d; i++) {
            g[at[POSITION] + t * d + i] = c->d0[t * d + i];
            g[at[TOKEN] + x[t] * d + i] += c->d0[t * d + i];
        }
}

static inline __attribute__((always_inline)) float
hand_step(hand *h, int d, int n, int32_t (*x)[T], int32_t (*label)[T], kept *c)
{
    const float share = 1 / (float)n;
    float loss = 0;

    memset(h->sum, 0, (size_t)h->count * sizeof *h->sum);
    for (int k = 0; k < n; k++) {
        forward(h, d, x[k], c);
        loss += entropy(c->logits, label[k]);
        backward(h, d, x[k], c);
        if (n == 1)
            break;
        for (int i = 0; i < h->count; i++)
            h->sum[i] += h->g[i] * share;
    }
    if (n > 1)
        memcpy(h->g, h->sum, (size_t)h->count * sizeof *h->sum);
    adam(h);
    return loss * share;
}

/* One copy for each width, which is a constant in it. */
static float step_by_hand(hand *h, int n, int32_t (*x)[T], int32_t (*label)[T])
{
    static kept c;

    switch (h->width) {
    case 16:
        return hand_step(h, 16, n, x, label, &c);
    case 32:
        return hand_step(h, 32, n, x, label, &c);
    case 64:
        return hand_step(h, 64, n, x, label, &c);
    default:
        return hand_step(h, 128, n, x, label, &c);
    }
}

/* ------ Timing ------ */

static float step_by_lockstep(training *r, int n, int32_t (*x)[T],
                              int32_t (*label)[T])
{
    ls_result result;

    must(ls_batch_set(r->batch, "x", LS_I32, x, n));
    must(ls_batch_set(r->batch, "label", LS_I32, label, n));
    must(ls_step(r->trainer, r->batch, &result));
    return result.loss;
}

/* Letters that follow a rule, with some that do not; the label of each is the
 * next one. */
static void make_rows(int32_t (*row)[T + 1])
{
    for (int n = 0; n < ROWS; n++)
        for (int t = 0; t <= T; t++)
            row[n][t] = t == 0 ? 0
                               : (row[n][t - 1] * 5 + 7 * n % 11 + t % 3) % V;
}

int main(int argc, char **argv)
{
    static int32_t row[ROWS][T + 1], x[MOST][T], label[MOST][T];
    int n = number(argc, argv, "--windows", 1);
    int width = number(argc, argv, "--width", 16);
    int blocks = number(argc, argv, "--steps", 20);
    bool by_hand = number(argc, argv, "--hand", 0);
    FILE *out = metrics(argc, argv);
    int64_t step = 0;
    training r;
    hand h;

    if (width != 16 && width != 32 && width != 64 && width != 128) {
        fprintf(stderr, "bench-small_gpt: --width is 16, 32, 64 or 128\n");
        return 2;
    }
    if (n < 1 || n > MOST) {
        fprintf(stderr, "bench-small_gpt: --windows is 1 to %d\n", MOST);
        return 2;
    }
    r = open_training(width);
    hand_open(&h, r.trainer, width);
    make_rows(row);
    fprintf(out, "{\"versions\":{\"lockstep\":\"%s\"}}\n", ls_version());
    for (int b = 0; b < blocks; b++) {
        double wall = now_ms(), used = processor_ms();
        float loss = 0;

        for (int i = 0; i < BLOCK; i++, step++) {
            float now;

            for (int k = 0; k < n; k++) {
                const int32_t *of = row[(step * n + k) % ROWS];

                memcpy(x[k], of, sizeof x[k]);
                memcpy(label[k], of + 1, sizeof label[k]);
            }
            now = by_hand ? step_by_hand(&h, n, x, label)
                          : step_by_lockstep(&r, n, x, label);

            loss = i == 0 ? now : loss;
        }
        fprintf(out,
                "{\"step\":%d,\"loss\":%.9g,\"ms\":%.9g,\"cpu_ms\":%.9g}\n", b,
                (double)loss, (now_ms() - wall) / BLOCK,
                (processor_ms() - used) / BLOCK);
    }
    training_close(&r);
    return fclose(out) ? EXIT_FAILURE : EXIT_SUCCESS;
}
