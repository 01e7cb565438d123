/* Matrix products by oneDNN 2, through its C interface.
 *
 * oneDNN compiles a product for its sizes, so that happens when a plan is laid
 * out: for the rows of a whole chunk and for the powers of two below, of which
 * any shorter chunk is put together.  B is reordered once a step into the
 * layout that the product asked for; A, and what the gradient of weights
 * multiplies, is rounded to bf16 in a copy.  Bias and adding to C are oneDNN's;
 * the rest of the epilogue is ours, since backward needs the slopes of
 * activations, which oneDNN would not keep.
 *
 * A product runs on the thread that asks for it: that thread's number of OpenMP
 * threads is one meanwhile.  Which pieces a product is made of follows from its
 * rows alone, so the bits do not depend on workers; they do on the CPU and on
 * oneDNN's version.  oneDNN allocates small things whenever it runs. */
#include "backend/onednn.h"
#include "base/memory.h"
#include "backend/onednn_call.h"
#include "lockstep.h"

#include <stdio.h>
#include <stdlib.h>

/* C = A B (+ bias) or C += A B; a layout of B that is left open is settled. */
static dnnl_status_t make_matmul(ls__call *c, const ls__onednn *on,
                                 const dnnl_memory_desc_t *a,
                                 dnnl_memory_desc_t *b,
                                 const dnnl_memory_desc_t *out,
                                 const dnnl_memory_desc_t *bias, bool adds)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd;
    dnnl_matmul_desc_t what;
    dnnl_status_t s = ls__call_attributes(&attr, adds);

    if (s == dnnl_success)
        s = ls__dnnl.matmul_desc_init(&what, a, b, bias, out);
    if (s == dnnl_success)
        s = ls__dnnl.primitive_desc_create(&pd, &what, attr, on->engine, NULL);
    ls__dnnl.primitive_attr_destroy(attr);
    if (s != dnnl_success)
        return s;
    *b = *ls__dnnl.primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
    ls__call_array(c, DNNL_ARG_SRC, a);
    ls__call_array(c, DNNL_ARG_WEIGHTS, b);
    ls__call_array(c, DNNL_ARG_DST, out);
    if (bias)
        ls__call_array(c, DNNL_ARG_BIAS, bias);
    return ls__call_compile(c, pd);
}

/* ------ products ------ */

typedef struct piece {
    int64_t size;    /* rows of A; those of B where K is cut */
    ls__call a, b;       /* copies in bf16; b only where it is not packed */
    ls__call product[2]; /* alone; with bias, or adding to C where K is cut */
} piece;

typedef struct product {
    ls__prepared prepared;
    bool cuts_k;          /* the gradient of weights */
    int64_t a_scratch, b_scratch; /* floats of the copies */
    ls__onednn on;
    ls__call pack;
    int pieces;
    piece piece[];        /* the largest first */
} product;

static dnnl_status_t matrix(dnnl_memory_desc_t *d, dnnl_data_type_t type,
                            int64_t rows, int64_t cols, int64_t row,
                            int64_t col)
{
    dnnl_dims_t size = {rows, cols}, stride = {row, col};

    return ls__dnnl.memory_desc_init_by_strides(d, 2, size, type, stride);
}

/* The descriptions of one piece's operands. */
typedef struct operands {
    dnnl_memory_desc_t a, b, c, bias, a_f32, b_f32;
} operands;

static dnnl_status_t describe(operands *o, const ls__product *g,
                              dnnl_data_type_t type)
{
    int64_t m = g->m, n = g->n, k = g->k;
    dnnl_status_t s;

    if ((s = matrix(&o->a_f32, dnnl_f32, m, k, g->a_row, g->a_col)) ||
        (s = matrix(&o->b_f32, dnnl_f32, k, n, g->b_row, g->b_col)) ||
        (s = matrix(&o->a, type, m, k, g->a_row, g->a_col)) ||
        (s = matrix(&o->b, type, k, n, g->b_row, g->b_col)) ||
        (s = matrix(&o->bias, dnnl_f32, 1, n, n, 1)))
        return s;
    return matrix(&o->c, dnnl_f32, m, n, g->c_row, 1);
}

/* The first piece settles how B is packed. */
static dnnl_status_t make_pack(product *p, operands *o, dnnl_data_type_t type)
{
    dnnl_dims_t size = {o->b.dims[0], o->b.dims[1]};
    ls__call probe = {0};
    dnnl_status_t s = ls__dnnl.memory_desc_init_by_tag(&o->b, 2, size, type,
                                                       dnnl_format_tag_any);

    if (s == dnnl_success)
        s = make_matmul(&probe, &p->on, &o->a, &o->b, &o->c, NULL, false);
    ls__dnnl.primitive_destroy(probe.primitive);
    if (s == dnnl_success)
        s = ls__call_copy(&p->pack, &p->on, &o->b_f32, &o->b);
    return s;
}

static dnnl_status_t make_copies(product *p, piece *q, const operands *o)
{
    dnnl_status_t s = ls__call_copy(&q->a, &p->on, &o->a_f32, &o->a);

    if (s == dnnl_success && p->cuts_k)
        s = ls__call_copy(&q->b, &p->on, &o->b_f32, &o->b);
    return s;
}

/* g: a product of that piece's size */
static dnnl_status_t make_piece(product *p, piece *q, const ls__product *g,
                                bool bf16)
{
    dnnl_data_type_t type = bf16 ? dnnl_bf16 : dnnl_f32;
    operands o;
    dnnl_status_t s = describe(&o, g, type);

    q->size = p->cuts_k ? g->k : g->m;
    if (s == dnnl_success && !p->cuts_k && !p->pack.primitive)
        s = make_pack(p, &o, type);
    if (s == dnnl_success && bf16)
        s = make_copies(p, q, &o);
    if (!p->cuts_k)
        o.b = p->pack.desc[1];
    if (s == dnnl_success)
        s = make_matmul(&q->product[0], &p->on, &o.a, &o.b, &o.c, NULL,
                        false);
    if (s == dnnl_success)
        s = make_matmul(&q->product[1], &p->on, &o.a, &o.b, &o.c,
                        p->cuts_k ? NULL : &o.bias, p->cuts_k);
    return s;
}

static int64_t copy_size(const ls__call *copy)
{
    return copy->count ? ls__call_floats(&copy->desc[1]) : 0;
}

/* Room for the largest piece's copies, and any call's scratchpad. */
static void size_scratch(product *p)
{
    int64_t most = 0;

    for (int i = 0; i < p->pieces; i++) {
        const piece *q = &p->piece[i];

        p->a_scratch = ls__larger(p->a_scratch, copy_size(&q->a));
        p->b_scratch = ls__larger(p->b_scratch, copy_size(&q->b));
        most = ls__larger(most, ls__call_scratchpad(&q->a));
        most = ls__larger(most, ls__call_scratchpad(&q->b));
        most = ls__larger(most, ls__call_scratchpad(&q->product[0]));
        most = ls__larger(most, ls__call_scratchpad(&q->product[1]));
    }
    p->prepared.scratch = p->a_scratch + p->b_scratch + most;
    if (p->pack.count)
        p->prepared.packed =
            copy_size(&p->pack) + ls__call_scratchpad(&p->pack);
}

static dnnl_status_t make_all(product *p, const ls__product *g, int64_t rows,
                              bool bf16)
{
    int64_t unit = (p->cuts_k ? g->k : g->m) / rows, power = 1;
    dnnl_status_t s = ls__onednn_open(&p->on);

    while (power * 2 < rows)
        power *= 2;
    for (int64_t r = rows; s == dnnl_success && r > 0;
         r = r == rows && rows > 1 ? power : r / 2) {
        ls__product one = *g;

        *(p->cuts_k ? &one.k : &one.m) = r * unit;
        s = make_piece(p, &p->piece[p->pieces++], &one, bf16);
    }
    size_scratch(p);
    return s;
}

/* ------ running them ------ */

static void pack(const ls__prepared *m, const float *b, void *packed)
{
    const product *p = (const product *)m;
    int64_t size = ls__call_floats(&p->pack.desc[1]);

    if (ls__call_run(&p->on, &p->pack,
                     (void *[]){(void *)b, packed, (float *)packed + size}))
        ls__call_spoil(1, size, packed, 0);
}

/* The copy in bf16 at `to`, or x itself. */
static const float *operand(const product *p, const ls__call *copy,
                            const float *x, float *to, float *scratchpad,
                            dnnl_status_t *s)
{
    if (!copy->primitive || *s)
        return x;
    *s = ls__call_run(&p->on, copy, (void *[]){(void *)x, to, scratchpad});
    return to;
}

/* second: with bias, or added to C */
static void run_piece(const product *p, const piece *q, const ls__product *g,
                      bool second, float *scratch)
{
    float *b_copy = scratch + p->a_scratch, *scratchpad = b_copy + p->b_scratch;
    const ls__call *c = &q->product[second];
    dnnl_status_t s = dnnl_success;
    const float *a = operand(p, &q->a, g->a, scratch, scratchpad, &s);
    const float *b = p->cuts_k ? operand(p, &q->b, g->b, b_copy, scratchpad, &s)
                               : g->packed;
    bool bias = second && !p->cuts_k;

    if (s || ls__call_run(&p->on, c,
                          (void *[]){(void *)a, (void *)b, g->c,
                                     bias ? (void *)g->bias : scratchpad,
                                     scratchpad}))
        ls__call_spoil(g->m, g->n, g->c, g->c_row);
}

static const float *at_or_null(const float *x, int64_t at)
{
    return x ? x + at : NULL;
}

/* `size` of the rows of C, from i on */
static ls__product rows_of(const ls__product *g, int64_t i, int64_t size)
{
    ls__product part = *g;

    part.m = size;
    part.a += i * g->a_row;
    part.c += i * g->c_row;
    part.slope = g->slope ? g->slope + i * g->c_row : NULL;
    part.times = at_or_null(g->times, i * g->c_row);
    part.add = at_or_null(g->add, i * g->c_row);
    return part;
}

static ls__product depth_of(const ls__product *g, int64_t i, int64_t size)
{
    ls__product part = *g;

    part.k = size;
    part.a += i * g->a_col;
    part.b += i * g->b_row;
    return part;
}

static void multiply(const ls__prepared *m, const ls__product *g,
                     float *scratch)
{
    const product *p = (const product *)m;
    const piece *q = p->piece;
    int64_t all = p->cuts_k ? g->k : g->m;

    for (int64_t i = 0; i < all; i += q->size) {
        while (q->size > all - i)
            q++;
        if (p->cuts_k) {
            ls__product part = depth_of(g, i, q->size);

            run_piece(p, q, &part, i > 0 || g->accumulate, scratch);
        } else {
            ls__product part = rows_of(g, i, q->size);

            run_piece(p, q, &part, g->bias != NULL, scratch);
            ls__call_epilogue(&part);
        }
    }
}

static void free_product(ls__prepared *m)
{
    product *p = (product *)m;

    for (int i = 0; i < p->pieces; i++) {
        ls__dnnl.primitive_destroy(p->piece[i].a.primitive);
        ls__dnnl.primitive_destroy(p->piece[i].b.primitive);
        ls__dnnl.primitive_destroy(p->piece[i].product[0].primitive);
        ls__dnnl.primitive_destroy(p->piece[i].product[1].primitive);
    }
    ls__dnnl.primitive_destroy(p->pack.primitive);
    ls__onednn_close(&p->on);
    free(p);
}

/* ------ the backend's ------ */

int ls__onednn_prepare(const ls__product *g, int64_t rows, bool bf16,
                       ls__prepared **prepared)
{
    int threads, count = 1;
    dnnl_status_t s;
    product *p;

    if (g->scale != 1.0f)
        return 0; /* its bias would come before */
    for (int64_t power = 1; power < rows; power *= 2)
        count++;
    p = ls__new(1, sizeof *p + (size_t)count * sizeof *p->piece, "oneDNN");
    if (!p)
        return LS_ENOMEM;
    p->prepared =
        (ls__prepared){.pack = pack, .gemm = multiply, .free = free_product};
    p->cuts_k = g->accumulate;
    threads = ls__call_threads(1);
    s = make_all(p, g, rows, bf16);
    ls__call_threads(threads);
    return ls__call_prepared(s, &p->prepared, prepared);
}

/* From the top: what oneDNN uses of the CPU. */
static const struct {
    dnnl_cpu_isa_t isa;
    const char *name;
} levels[] = {
    {dnnl_cpu_isa_avx512_core_amx, "AMX"},
    {dnnl_cpu_isa_avx512_core_bf16, "AVX512-BF16"},
    {dnnl_cpu_isa_avx512_core, "AVX-512"},
    {dnnl_cpu_isa_avx2, "AVX2"},
    {(dnnl_cpu_isa_t)0, "its plain kernels"},
};

static const char *level(void)
{
    unsigned has = (unsigned)ls__dnnl.get_effective_cpu_isa();
    int i = 0;

    while (((unsigned)levels[i].isa & ~has) != 0)
        i++;
    return levels[i].name;
}

static const ls__preparer preparer = {ls__onednn_prepare,
                                      ls__onednn_prepare_conv};

int ls__onednn_take(ls__backend *backend)
{
    const dnnl_version_t *v;
    int status = ls__onednn_load();

    if (status < 0)
        return status;
    v = ls__dnnl.version();
    backend->name = "onednn";
    backend->portable = false;
    backend->preparer = &preparer;
    snprintf(backend->text, sizeof backend->text, "oneDNN %d.%d.%d with %s",
             v->major, v->minor, v->patch, level());
    return 0;
}
