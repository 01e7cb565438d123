/* Pools of one image: windows over pixels, 16 channels at a time.  Pixels of a
 * window that lie outside the image take no part. */
#ifndef LS_KERNEL_POOL_H
#define LS_KERNEL_POOL_H

/* The pixels of window (i,j) that are in the image: rows y0 .. y1 of the
 * window's, columns x0 .. x1; at is where the window begins, maybe outside. */
typedef struct pool_window {
    int64_t y0, y1, x0, x1, at;
} pool_window;

SIMD int64_t pool_low(int64_t at)
{
    return at < 0 ? -at : 0;
}

SIMD int64_t pool_high(int64_t at, int64_t k, int64_t size)
{
    return size - at < k ? size - at : k;
}

SIMD pool_window pool_at(const ls__pool *p, int64_t i, int64_t j)
{
    int64_t y = i * p->sy - p->top, x = j * p->sx - p->left;

    return (pool_window){pool_low(y), pool_high(y, p->kh, p->in_h),
                         pool_low(x), pool_high(x, p->kw, p->in_w),
                         (y * p->in_w + x) * p->c};
}

/* Floats from where a window begins to its pixel (a,b). */
SIMD int64_t pool_offset(const ls__pool *p, int64_t a, int64_t b)
{
    return (a * p->in_w + b) * p->c;
}

/* The window most pools have, all of it in the image: as a constant it makes
 * loops over a window disappear. */
enum { POOL_USUAL = 2 };

SIMD bool pool_is_usual(const ls__pool *p, pool_window w)
{
    return p->kh == POOL_USUAL && p->kw == POOL_USUAL && w.y0 == 0 &&
           w.x0 == 0 && w.y1 == POOL_USUAL && w.x1 == POOL_USUAL;
}

SIMD pool_window pool_usual(int64_t at)
{
    return (pool_window){0, POOL_USUAL, 0, POOL_USUAL, at};
}

/* The largest of up to 16 channels of a window, which a NaN is, and its number:
 * the first of equals; -1 where cut and the largest is not above 0. */
SIMD void max_of(const ls__pool *p, int64_t kw, pool_window w, const float *x,
                 bool cut, int64_t left, float *y, float *number)
{
    v16 best = take(x + w.at + pool_offset(p, w.y0, w.x0), left);
    v16 at = v16_set((float)(w.y0 * kw + w.x0));

    for (int64_t a = w.y0; a < w.y1; a++)
        for (int64_t b = w.x0; b < w.x1; b++) {
            v16 v = take(x + w.at + pool_offset(p, a, b), left);
            m16 more = m16_or(v16_lt(best, v), m16_not(v16_eq(v, v)));

            best = v16_select(more, v, best);
            at = v16_select(more, v16_set((float)(a * kw + b)), at);
        }
    if (cut)
        at = v16_select(v16_lt(v16_zero(), best), at, v16_set(-1));
    put(y, best, left);
    put(number, at, left);
}

/* One window, all channels. */
SIMD void max_window(const ls__pool *p, pool_window w, const float *x,
                     bool cut, float *y, float *number)
{
    int64_t c = 0;

    if (pool_is_usual(p, w))
        for (; c + 16 <= p->c; c += 16)
            max_of(p, POOL_USUAL, pool_usual(w.at), x + c, cut, 16, y + c,
                   number + c);
    for (; c < p->c; c += 16)
        max_of(p, p->kw, w, x + c, cut, p->c - c, y + c, number + c);
}

/* Output rows first .. last; x is the image from input row 0 on. */
static void max_pool(const ls__pool *p, int64_t first, int64_t last,
                     const float *x, bool cut, float *y, float *number)
{
    int64_t o = first * p->w * p->c;

    for (int64_t i = first; i < last; i++)
        for (int64_t j = 0; j < p->w; j++, o += p->c)
            max_window(p, pool_at(p, i, j), x, cut, y + o, number + o);
}

/* Windows that touch each pixel at most once, and all of them. */
static bool pool_tiles(const ls__pool *p)
{
    return p->kh == p->sy && p->kw == p->sx && !p->top && !p->left &&
           p->h * p->sy == p->in_h && p->w * p->sx == p->in_w;
}

/* dx of a window += its dy where it was the largest; written where windows
 * tile the image. */
SIMD void max_back(const ls__pool *p, int64_t kw, pool_window w,
                   const float *dy, const float *number, bool add_to,
                   int64_t left, float *dx)
{
    v16 d = take(dy, left), at = take(number, left);

    for (int64_t a = w.y0; a < w.y1; a++)
        for (int64_t b = w.x0; b < w.x1; b++) {
            float *to = dx + w.at + pool_offset(p, a, b);
            m16 here = v16_eq(at, v16_set((float)(a * kw + b)));
            v16 part = v16_select(here, d, v16_zero());

            put(to, v16_add(add_to ? take(to, left) : v16_zero(), part), left);
        }
}

/* All of dx: sums over windows in order, from +0. */
static void max_pool_grad(const ls__pool *p, const float *number,
                          const float *dy, float *dx)
{
    bool tiles = pool_tiles(p);

    if (!tiles)
        memset(dx, 0, (size_t)(p->in_h * p->in_w * p->c) * sizeof *dx);
    for (int64_t i = 0; i < p->h; i++)
        for (int64_t j = 0; j < p->w; j++, dy += p->c, number += p->c) {
            pool_window w = pool_at(p, i, j);
            int64_t c = 0;

            if (tiles && pool_is_usual(p, w))
                for (; c + 16 <= p->c; c += 16)
                    max_back(p, POOL_USUAL, pool_usual(w.at), dy + c,
                             number + c, false, 16, dx + c);
            for (; c < p->c; c += 16)
                max_back(p, p->kw, w, dy + c, number + c, !tiles, p->c - c,
                         dx + c);
        }
}

SIMD v16 sum_of(const ls__pool *p, pool_window w, const float *x, int64_t left)
{
    v16 sum = v16_zero();

    for (int64_t a = w.y0; a < w.y1; a++)
        for (int64_t b = w.x0; b < w.x1; b++)
            sum = v16_add(sum, take(x + pool_offset(p, a, b), left));
    return sum;
}

/* XLA divides by a constant by multiplying with its reciprocal. */
SIMD v16 pool_share(const ls__pool *p)
{
    return v16_set(1.0f / (float)(p->kh * p->kw));
}

static void avg_pool(const ls__pool *p, const float *x, float *y)
{
    for (int64_t i = 0; i < p->h; i++)
        for (int64_t j = 0; j < p->w; j++, y += p->c) {
            pool_window w = pool_at(p, i, j);

            for (int64_t c = 0; c < p->c; c += 16)
                put(y + c, v16_mul(sum_of(p, w, x + w.at + c, p->c - c),
                                   pool_share(p)), p->c - c);
        }
}

SIMD void avg_back(const ls__pool *p, pool_window w, v16 d, int64_t left,
                   float *dx)
{
    for (int64_t a = w.y0; a < w.y1; a++)
        for (int64_t b = w.x0; b < w.x1; b++) {
            float *to = dx + pool_offset(p, a, b);

            put(to, v16_add(take(to, left), d), left);
        }
}

/* All of dx: sums over windows in order, from +0. */
static void avg_pool_grad(const ls__pool *p, const float *dy, float *dx)
{
    memset(dx, 0, (size_t)(p->in_h * p->in_w * p->c) * sizeof *dx);
    for (int64_t i = 0; i < p->h; i++)
        for (int64_t j = 0; j < p->w; j++, dy += p->c) {
            pool_window w = pool_at(p, i, j);

            for (int64_t c = 0; c < p->c; c += 16)
                avg_back(p, w, v16_mul(take(dy + c, p->c - c), pool_share(p)),
                         p->c - c, dx + w.at + c);
        }
}

#endif
