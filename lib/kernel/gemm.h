/* The matrix product of this level: tiles of C held in registers, B packed in
 * panels of the tile's width, the epilogue done before a tile is stored.
 *
 * A tile's elements are one fma chain a chunk of K (gemm.h, the contract), so
 * neither the tile's size nor the order in which tiles are done shows in a
 * bit.  Sums over several chunks wait in a small array on the stack, never in
 * C, so that C may also be what the epilogue adds. */
#ifndef LS_KERNEL_GEMM_H
#define LS_KERNEL_GEMM_H

#if defined(__AVX512F__)
enum { ROWS = 14, VECS = 2 }; /* 28 of 32 registers */
#elif defined(__AVX2__)
enum { ROWS = 6, VECS = 1 }; /* 12 of 16: a v16 is two of them */
#else
enum { ROWS = 4, VECS = 1 };
#endif
enum {
    COLUMNS = 16 * VECS,
    BAND = 8 * ROWS, /* rows of A that stay in cache while panels pass */
    ALIAS = 1024,    /* floats: lines that far apart share a set of the cache */
    DEEPEST = 2048   /* K up to which a band of A may be copied */
};

/* In a matrix product only: fused where the level has FMA. */
SIMD v16 mul_add(v16 a, v16 b, v16 c)
{
#if defined(__AVX512BF16__) /* lanes are pairs: see bf16_products.h */
    return _mm512_dpbf16_ps(c, (__m512bh)a, (__m512bh)b);
#elif defined(__FMA__) || defined(__aarch64__)
    return v16_fma(a, b, c);
#else
    return v16_add(v16_mul(a, b), c);
#endif
}

/* The 1 of that, in all lanes. */
SIMD v16 one_word(void)
{
#if defined(__AVX512BF16__)
    return v16_of_bits(w16_set(0x3f803f80));
#else
    return v16_set(1);
#endif
}

static int64_t packed_size(int64_t k, int64_t n)
{
    return (n + COLUMNS - 1) / COLUMNS * COLUMNS * k;
}

/* One panel: out[p][j] = b[p][j] for j < left, zeros up to COLUMNS. */
SIMD void pack_rows(int64_t k, const float *b, int64_t b_row, int64_t left,
                    float *out)
{
    for (int64_t p = 0; p < k; p++, b += b_row, out += COLUMNS)
        for (int v = 0; v < VECS; v++) {
            int64_t rest = left - 16 * v;

            v16_store(out + 16 * v, rest > 0 ? take(b + 16 * v, rest)
                                             : v16_zero());
        }
}

/* The same from the transpose: b[p][j] stands at b + p + j b_col. */
static void pack_turned(int64_t k, const float *b, int64_t b_col, int64_t left,
                        float *out)
{
    for (int64_t p = 0; p < k; p += 16)
        for (int64_t v = 0; v < COLUMNS; v += 16) {
            v16 x[16];

            for (int64_t j = 0; j < 16; j++)
                x[j] = v + j < left ? take(b + (v + j) * b_col + p, k - p)
                                    : v16_zero();
            v16_turn(x);
            for (int64_t i = 0; i < 16 && i < k - p; i++)
                v16_store(out + (p + i) * COLUMNS + v, x[i]);
        }
}

SIMD void pack_any(int64_t k, const float *b, int64_t b_row, int64_t b_col,
                   int64_t left, float *out)
{
    for (int64_t j = 0; j < COLUMNS; j++)
        for (int64_t p = 0; p < k; p++)
            out[p * COLUMNS + j] = j < left ? b[p * b_row + j * b_col] : 0;
}

static void pack(int64_t k, int64_t n, const float *b, int64_t b_row,
                 int64_t b_col, float *packed)
{
    for (int64_t j = 0; j < n; j += COLUMNS, packed += k * COLUMNS)
        if (b_col == 1)
            pack_rows(k, b + j, b_row, n - j, packed);
        else if (b_row == 1)
            pack_turned(k, b + j * b_col, b_col, n - j, packed);
        else
            pack_any(k, b + j * b_col, b_row, b_col, n - j, packed);
}

/* Whether the activation is too long to stand in every place that stores;
 * relu is not. */
static bool is_curved(const ls__gemm *g)
{
    return g->activation && g->activation != LS__RELU;
}

/* The epilogue of 16 elements of row i from column j on; curved is a constant
 * so that the code for long activations is not in every place. */
SIMD v16 finish(const ls__gemm *g, bool curved, v16 x, int64_t i, int64_t j)
{
    int64_t at = i * g->c_row + j, left = g->n - j;

    if (g->scale != 1.0f)
        x = v16_mul(x, v16_set(g->scale));
    if (g->bias)
        x = v16_add(x, take(g->bias + j, left));
    if (g->round)
        x = bf16_of(x);
    if (g->activation) {
        v16 slope;

        x = activation_of(curved ? g->activation : LS__RELU, x, &slope);
        if (g->slope)
            put(g->slope + at, slope, left);
    }
    if (g->times)
        x = times_slope(x, take(g->times + at, left));
    if (g->add)
        x = v16_add(x, take(g->add + at, left));
    return x;
}

static void epilogue(const ls__gemm *g)
{
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j += 16) {
            float *c = g->c + i * g->c_row + j;

            put(c, finish(g, true, take(c, g->n - j), i, j), g->n - j);
        }
}

/* acc = the chains of a tile over k steps: a at the tile's first row, b at its
 * panel, both at the chunk's first step. */
SIMD void chain(int rows, int64_t k, const float *a, int64_t a_row,
                int64_t a_col, const float *b, v16 acc[ROWS][VECS])
{
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < VECS; v++)
            acc[r][v] = v16_zero();
    for (int64_t p = 0; p < k; p++, a += a_col, b += COLUMNS) {
        v16 line[VECS];

#pragma GCC unroll 2
        for (int v = 0; v < VECS; v++)
            line[v] = v16_load(b + 16 * v);
#pragma GCC unroll 14
        for (int r = 0; r < rows; r++) {
            v16 x = v16_set(a[r * a_row]);

#pragma GCC unroll 2
            for (int v = 0; v < VECS; v++)
                acc[r][v] = mul_add(x, line[v], acc[r][v]);
        }
    }
}

/* acc = from + acc for the columns that C has. */
SIMD void add_from(int rows, const float *from, int64_t row, int64_t left,
                   v16 acc[ROWS][VECS])
{
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < VECS; v++)
            if (left > 16 * v)
                acc[r][v] = v16_add(take(from + r * row + 16 * v,
                                         left - 16 * v), acc[r][v]);
}

SIMD void store_to(int rows, float *to, v16 acc[ROWS][VECS])
{
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < VECS; v++)
            v16_store(to + r * COLUMNS + 16 * v, acc[r][v]);
}

/* Store a tile, its sums in acc ... */
SIMD void end_straight(const ls__gemm *g, int rows, int64_t i, int64_t j,
                       v16 acc[ROWS][VECS])
{
    float *c = g->c + i * g->c_row + j;

#pragma GCC unroll 14
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < VECS; v++)
            if (g->n - j > 16 * v)
                put(c + r * g->c_row + 16 * v,
                    finish(g, false, acc[r][v], i + r, j + 16 * v),
                    g->n - j - 16 * v);
}

/* ... or in memory: activations are long, so this loop is there once. */
static void end_curved(const ls__gemm *g, int rows, int64_t i, int64_t j,
                       const float *sum)
{
    float *c = g->c + i * g->c_row + j;

    for (int r = 0; r < rows; r++, c += g->c_row)
        for (int v = 0; v < VECS && g->n - j > 16 * v; v++)
            put(c + 16 * v,
                finish(g, true, v16_load(sum + r * COLUMNS + 16 * v), i + r,
                       j + 16 * v), g->n - j - 16 * v);
}

/* Ask for the lines of a tile while its chains run. */
SIMD void fetch(int rows, const float *c, int64_t row)
{
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < VECS; v++)
            __builtin_prefetch(c + r * row + 16 * v, 1);
}

/* Rows i .. i+rows of C, columns j .. j+COLUMNS.  sum is room for the sums of
 * earlier chunks. */
SIMD void tile(const ls__gemm *g, int rows, int64_t i, int64_t j,
               const float *b, float *sum)
{
    v16 acc[ROWS][VECS];
    const float *a = g->a + i * g->a_row;
    int64_t at = i * g->c_row + j;
    float *c = g->c + at;

    fetch(rows, c, g->c_row);
    if (g->slope)
        fetch(rows, g->slope + at, g->c_row);
    if (g->times)
        fetch(rows, g->times + at, g->c_row);
    for (int64_t p = 0; p < g->k || p == 0; p += LS__CHUNK) {
        int64_t k = g->k - p < LS__CHUNK ? g->k - p : LS__CHUNK;

        chain(rows, k, a + p * g->a_col, g->a_row, g->a_col, b + p * COLUMNS,
              acc);
        if (p > 0)
            add_from(rows, sum, COLUMNS, COLUMNS, acc);
        else if (g->accumulate)
            add_from(rows, c, g->c_row, g->n - j, acc);
        if (p + k < g->k || is_curved(g))
            store_to(rows, sum, acc);
    }
    if (is_curved(g))
        end_curved(g, rows, i, j, sum);
    else
        end_straight(g, rows, i, j, acc);
}

/* The heights a tile comes in; each is a function so that its loops unroll. */
static void tile_full(const ls__gemm *g, int64_t i, int64_t j, const float *b,
                      float *sum)
{
    tile(g, ROWS, i, j, b, sum);
}

static void tile_4(const ls__gemm *g, int64_t i, int64_t j, const float *b,
                   float *sum)
{
    tile(g, 4, i, j, b, sum);
}

static void tile_2(const ls__gemm *g, int64_t i, int64_t j, const float *b,
                   float *sum)
{
    tile(g, 2, i, j, b, sum);
}

static void tile_1(const ls__gemm *g, int64_t i, int64_t j, const float *b,
                   float *sum)
{
    tile(g, 1, i, j, b, sum);
}

static const struct {
    int rows;
    void (*fn)(const ls__gemm *g, int64_t i, int64_t j, const float *b,
               float *sum);
} heights[] = {{ROWS, tile_full}, {4, tile_4}, {2, tile_2}, {1, tile_1}};

/* Rows first .. last of one panel of C. */
static void panel(const ls__gemm *g, int64_t first, int64_t last, int64_t j,
                  const float *b)
{
    float sum[ROWS * COLUMNS] __attribute__((aligned(64)));
    int64_t i = first;

    for (int h = 0; h < 4; h++)
        for (; last - i >= heights[h].rows; i += heights[h].rows)
            heights[h].fn(g, i, j, b, sum);
}

/* Lines of A would push each other out of the first cache: then a band of it
 * is copied to where they do not, if enough panels pass to pay for that. */
static bool aliases(const ls__gemm *g)
{
    int64_t stride = g->a_col == 1 ? g->a_row : g->a_col;

    return stride % ALIAS == 0 && g->k <= DEEPEST && g->n >= 2 * COLUMNS &&
           (g->a_col == 1 || g->a_row == 1);
}

/* Floats from row to row of the copy: whole lines, and one more. */
static int64_t copy_stride(int64_t k)
{
    return (k + 15) / 16 * 16 + 16;
}

/* Of products as deep as k, or less deep. */
static int64_t dense_size(int64_t k, int64_t n)
{
    return packed_size(k, n) +
           BAND * copy_stride(k < DEEPEST ? k : DEEPEST);
}

/* The product of `rows` rows of A from row i on, as a product of its own that
 * reads the copy. */
static ls__gemm band_of(const ls__gemm *g, int64_t i, int64_t rows, float *copy)
{
    ls__gemm band = *g;
    const float *a = g->a + i * g->a_row;
    bool by_rows = g->a_col == 1;
    int64_t lines = by_rows ? rows : g->k, n = by_rows ? g->k : rows;
    int64_t stride = by_rows ? copy_stride(g->k) : BAND;

    for (int64_t l = 0; l < lines; l++) {
        const float *from = a + l * (by_rows ? g->a_row : g->a_col);

        for (int64_t p = 0; p < n; p += 16)
            put(copy + l * stride + p, take(from + p, n - p), n - p);
    }
    band.a_row = by_rows ? stride : 1;
    band.a_col = by_rows ? 1 : stride;
    band.a = copy - i * band.a_row; /* row i is where the copy starts */
    return band;
}

static void dense_product(const ls__gemm *g, float *scratch)
{
    const float *b = g->packed;
    bool copies = aliases(g);

    if (!b) {
        pack(g->k, g->n, g->b, g->b_row, g->b_col, scratch);
        b = scratch;
        scratch += packed_size(g->k, g->n);
    }
    for (int64_t i = 0; i < g->m; i += BAND) {
        int64_t last = g->m - i < BAND ? g->m : i + BAND;
        const ls__gemm *of = g;
        ls__gemm band;

        if (copies) {
            band = band_of(g, i, last - i, scratch);
            of = &band;
        }
        for (int64_t j = 0; j < g->n; j += COLUMNS)
            panel(of, i, last, j, b + j * g->k);
    }
}

#endif
