/* The kernel gradient of a convolution under a folded 2x2 max pooling.
 *
 * Of each block of two by two outputs, one a channel has a gradient at most:
 * its place is the number that the pooling kept.  So for one output channel the
 * chain of k_conv.h is one step a block, on the patch that the number names: a
 * quarter of the work.  What is left out is sums with zeros, so the bits are
 * those of k_conv.h (but for what a non-finite pixel times 0 would be).
 *
 * Here lanes are along the runs of a patch and dw is transposed: t (n, kh
 * runs), runs filled up to vectors. */
#ifndef LS_KERNEL_K_CONV_SPARSE_H
#define LS_KERNEL_K_CONV_SPARSE_H

/* Sums in registers: so many vectors of a run of so many channels. */
#if defined(__AVX512F__)
enum { SPARSE_SUMS = 24, SPARSE_MOST = 16 };
#else
enum { SPARSE_SUMS = 6, SPARSE_MOST = 6 };
#endif
enum { SPARSE_VECS = 6 };

/* A chunk of K: blocks, of each and each channel the gradient and the place of
 * the patch in the image. */
typedef struct sparse_chunk {
    int64_t blocks;
    const float *g;      /* (blocks,n) */
    const uint32_t *at;  /* likewise, floats from x on */
    bool add;
} sparse_chunk;

/* g = dy and at = the place of its patch, both from where the block begins;
 * a channel that was cut has no gradient, wherever. */
SIMD void sparse_places(const ls__conv *v, const float *dy,
                        const float *number, int64_t base, float *g,
                        uint32_t *at)
{
    w16 down = w16_set((uint32_t)v->step_y), right =
        w16_set((uint32_t)v->step_x);

    for (int64_t c = 0; c < v->out.n; c += 16) {
        int64_t left = v->out.n - c;
        v16 k = take(number + c, left), two = v16_set(2), zero = v16_zero();
        m16 lower = v16_ge(k, two);
        v16 across = v16_sub(k, v16_select(lower, two, zero));
        m16 second = v16_ge(across, v16_set(1));
        w16 to = w16_add(v16_bits(v16_select(lower, v16_of_bits(down), zero)),
                         v16_bits(v16_select(second, v16_of_bits(right),
                                             zero)));

        put(g + c, v16_select(v16_lt(k, zero), zero, take(dy + c, left)),
            left);
        to = w16_add(to, w16_set((uint32_t)base));
        put((float *)(void *)(at + c), v16_of_bits(to), left);
    }
}

/* A part of the patch: vecs vectors from float m on of each of `runs` runs from
 * ky on. */
typedef struct sparse_part {
    int64_t ky, m;
} sparse_part;

/* One part of channels c .. c+channels over a chunk; the last vector of a run
 * may be shorter. */
SIMD void sparse_tile(const ls__conv *v, const sparse_chunk *q, int runs,
                      int vecs, int channels, sparse_part part, int64_t c,
                      float *t)
{
    int64_t n = v->out.n, width = (v->run + 15) / 16 * 16, row = v->row;
    int64_t left = v->run - part.m - 16 * (vecs - 1);
    const float *x = v->x + part.ky * row + part.m, *g = q->g + c;
    const uint32_t *at = q->at + c;
    v16 acc[SPARSE_SUMS];

#pragma GCC unroll 24
    for (int s = 0; s < channels * runs * vecs; s++)
        acc[s] = v16_zero();
    for (int64_t b = 0; b < q->blocks; b++, g += n, at += n)
#pragma GCC unroll 16
        for (int k = 0; k < channels; k++) {
            const float *a = x + at[k];
            v16 d = v16_set(g[k]);

#pragma GCC unroll 3
            for (int y = 0; y < runs; y++)
#pragma GCC unroll 6
                for (int s = 0; s < vecs; s++) {
                    v16 p = s < vecs - 1 ? v16_load(a + y * row + 16 * s)
                                         : take(a + y * row + 16 * s, left);
                    int i = (k * runs + y) * vecs + s;

                    acc[i] = mul_add(p, d, acc[i]);
                }
        }
    t += (c * v->kh + part.ky) * width + part.m;
#pragma GCC unroll 16
    for (int k = 0; k < channels; k++, t += v->kh * width)
#pragma GCC unroll 3
        for (int y = 0; y < runs; y++)
#pragma GCC unroll 6
            for (int s = 0; s < vecs; s++) {
                float *to = t + y * width + 16 * s;
                v16 sum = v16_add(acc[(k * runs + y) * vecs + s], v16_zero());

                v16_store(to, q->add ? v16_add(v16_load(to), sum) : sum);
            }
}

/* How many channels a tile takes that has so many sums of each. */
SIMD int sparse_channels(int sums)
{
    return SPARSE_SUMS / sums < SPARSE_MOST ? SPARSE_SUMS / sums : SPARSE_MOST;
}

/* All channels: tiles of many, and those left over one by one. */
SIMD void sparse_all(const ls__conv *v, const sparse_chunk *q, int runs,
                     int vecs, sparse_part part, float *t)
{
    int many = sparse_channels(runs * vecs);
    int64_t c = 0;

    for (; c + many <= v->out.n; c += many)
        sparse_tile(v, q, runs, vecs, many, part, c, t);
    for (; c < v->out.n; c++)
        sparse_tile(v, q, runs, vecs, 1, part, c, t);
}

static void sparse_part_of(const ls__conv *v, const sparse_chunk *q, int runs,
                           int vecs, sparse_part part, float *t)
{
    switch (runs * 8 + vecs) {
    case 3 * 8 + 1: sparse_all(v, q, 3, 1, part, t); break;
    case 3 * 8 + 2: sparse_all(v, q, 3, 2, part, t); break;
    case 8 + 1: sparse_all(v, q, 1, 1, part, t); break;
    case 8 + 2: sparse_all(v, q, 1, 2, part, t); break;
    case 8 + 3: sparse_all(v, q, 1, 3, part, t); break;
    case 8 + 4: sparse_all(v, q, 1, 4, part, t); break;
    case 8 + 5: sparse_all(v, q, 1, 5, part, t); break;
    default: sparse_all(v, q, 1, 6, part, t); break;
    }
}

/* Short runs go three at once, so that g and at are read for more; long ones in
 * parts. */
static void sparse_chunk_grad(const ls__conv *v, const sparse_chunk *q,
                              float *t)
{
    int64_t all = (v->run + 15) / 16;

    for (int64_t ky = 0, runs; ky < v->kh; ky += runs) {
        runs = all <= 2 && v->kh - ky >= 3 ? 3 : 1;
        for (int64_t s = 0, vecs; s < all; s += vecs) {
            vecs = all - s < SPARSE_VECS ? all - s : SPARSE_VECS;
            sparse_part_of(v, q, (int)runs, (int)vecs,
                           (sparse_part){ky, 16 * s}, t);
        }
    }
}

/* Sums over blocks are sums over pixels: the rest is 0. */
static void sparse_bias(const sparse_chunk *q, int64_t n, float *dbias)
{
    for (int64_t j = 0; j < n; j += 16) {
        v16 sum = v16_zero();

        for (int64_t b = 0; b < q->blocks; b++)
            sum = v16_add(sum, take(q->g + b * n + j, n - j));
        if (q->add)
            sum = v16_add(take(dbias + j, n - j), sum);
        put(dbias + j, sum, n - j);
    }
}

/* The blocks of the chunk that begins at output (y,x); where they are. */
static int64_t sparse_collect(const ls__conv *v, int64_t w, const float *dy,
                              const float *number, int64_t y, int64_t x,
                              float *g, uint32_t *at)
{
    int64_t n = v->out.n, blocks = 0;
    int64_t end_y = y + ls__conv_chunk_h(v->w), end_x = x +
                                                       ls__conv_chunk_w(v->w);

    for (int64_t i = y; i < end_y && i / 2 < v->h / 2; i += 2)
        for (int64_t j = x; j < end_x && j / 2 < w; j += 2, blocks++) {
            int64_t from = (i / 2 * w + j / 2) * n;

            sparse_places(v, dy + from, number + from,
                          i * v->step_y + j * v->step_x, g + blocks * n,
                          at + blocks * n);
        }
    return blocks;
}

/* pooling is what is folded: h by w blocks. */
static void conv_sparse_grad(const ls__conv *v, const ls__pooling *pooling,
                             const float *dy, const float *number, float *t,
                             float *dbias, float *scratch)
{
    int64_t n = v->out.n;
    uint32_t *at = (uint32_t *)(void *)(scratch + LS__CHUNK / 2 * n);
    bool add_to = v->out.accumulate;
    ls__conv whole = *v;

    /* The pooling may leave out a row, or fill one up. */
    whole.h = 2 * pooling->h;
    for (int64_t y = 0; y < v->h; y += ls__conv_chunk_h(v->w))
        for (int64_t x = 0; x < v->w; x += ls__conv_chunk_w(v->w)) {
            sparse_chunk q = {.g = scratch, .at = at, .add = add_to};

            q.blocks = sparse_collect(&whole, pooling->w, dy, number, y, x,
                                      scratch, at);
            sparse_chunk_grad(v, &q, t);
            if (dbias)
                sparse_bias(&q, n, dbias);
            add_to = true;
        }
}

#endif
