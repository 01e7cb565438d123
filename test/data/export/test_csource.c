/* SPDX-License-Identifier: BSD-3-Clause */
/* Models as C source: for every kind of layer the source, compiled here by CC
 * at -O0 and -O2, makes the bytes that a predictor makes, of one row and of
 * many; it is the same source each time, whole or not there; what cannot be
 * written is refused by name, and texts of a hostile file stay texts. */
#define _GNU_SOURCE /* nftw */
#include "csource_rows.h"
#include "faults.h"
#include "folder.h"
#include "output_models.h"

#include "export/writer.h"
#include "op/op_table.h"

#include <lockstep/arithmetic.h>
#include <lockstep/csource.h>
#include <lockstep/sparse.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <sys/wait.h>

enum { ROWS = 517 };

/* ------ models ------ */

static ls_node *no_bias(ls_node *x, int64_t n, const char *name)
{
    ls_dense_options o = ls_dense_defaults();

    o.no_bias = true;
    return ls_dense_with(x, n, &o, name);
}

static ls_node *floats(ls_graph *g, int rank, int64_t a, int64_t b, int64_t c)
{
    return ls_input(g, "x", LS_F32, rank, (int64_t[]){a, b, c});
}

static ls_node *indices(ls_graph *g, int64_t n)
{
    return ls_input(g, "x", LS_I32, 1, &n);
}

/* The width of a layer.  In a model that is written to be asked 10^5 rows under
 * qemu it is a third, an even number, so that this takes minutes. */
static int64_t wide(int64_t n)
{
    return getenv("LS_CSOURCE_TO") ? n / 6 * 2 : n;
}

static ls_node *of_mlp(ls_graph *g)
{
    ls_node *h = floats(g, 1, wide(300), 0, 0);

    h = ls_relu(ls_dense(h, wide(70), "fc1"));
    h = ls_tanh(ls_dense(ls_dropout(h, 0.5, "drop"), wide(33), "fc2"));
    return no_bias(ls_add(h, ls_gelu(h)), 5, "out \"*/ ?" "?/");
}

/* ------ terms ------ */

static ls_node *of_terms(ls_graph *g)
{
    ls_node *x = floats(g, 1, wide(40), 0, 0), *h, *all[14];
    ls_node *u = ls_dense(x, wide(40), "u");

    all[0] = ls_sub(ls_mul(x, u), ls_div(x, u));
    all[1] = ls_sqrt(ls_abs(ls_max(ls_min(x, u), ls_square(x))));
    all[2] = ls_log(ls_exp(ls_scale_shift(x, 2, 1)));
    all[3] = ls_pow(ls_abs(x), 2.5);
    all[4] = ls_add(ls_pow(x, 3), ls_pow(u, -2));
    all[5] = ls_elu(ls_leaky_relu(u, 0.1), 1.5);
    all[6] = ls_round_bf16(ls_silu(ls_softplus(x)));
    all[7] = ls_clamp(ls_sigmoid(u), 0.25, 0.75);
    all[8] = ls_sin(ls_scale_shift(ls_square(x), 1e5, 0));
    all[9] = ls_cos(ls_scale_shift(x, 4, 1));
    all[10] = ls_cos(ls_scale_shift(ls_pow(x, 3), -1e30, 0));
    all[11] = ls_mish(ls_hard_swish(ls_scale_shift(x, 4, 0)));
    all[12] = ls_selu(ls_gelu_exact(ls_scale_shift(x, 3, 0)));
    h = ls_where(ls_less(x, u), ls_equal(u, u), ls_less_equal(u, x));
    all[13] = ls_where(ls_equal(x, ls_abs(x)), ls_sub(u, h), x);
    h = ls_concat(all, 14, 0);
    return ls_add(h, ls_scale_shift(ls_exp(ls_scale_shift(h, 30, 0)), 0, 1));
}

static ls_node *of_tiny(ls_graph *g)
{
    int64_t n = wide(70);
    ls_node *x = ls_scale_shift(floats(g, 1, n, 0, 0), 1e-25, 0);

    x = ls_mul(x, ls_dense(ls_scale_shift(x, 1e-12, 0), n, "a"));
    return ls_scale_shift(ls_dense(ls_softmax(ls_scale_shift(x, 1e37, 0)), 20,
                                   "b"), 1e20, 0);
}

/* ------ images ------ */

static ls_node *of_image(ls_graph *g)
{
    ls_node *x = floats(g, 3, 9, 10, 4);
    ls_conv_options o = ls_conv_defaults();
    ls_norm_options norm = ls_norm_defaults();

    x = ls_relu(ls_conv2d(x, wide(6), (ls_window){3, 3, 1, 1, LS_SAME},
                          "conv1"));
    x = ls_max_pool(x, (ls_window){.height = 2, .width = 3, .stride_y = 2,
                                   .stride_x = 2, .padding = LS_SAME});
    o.groups = 2;
    o.dilation_y = 2;
    o.padding = LS_SAME;
    norm.two_passes = true;
    x = ls_group_norm_with(ls_conv2d_with(x, 8, 3, 2, &o, "conv2"), 2, &norm,
                           "norm");
    o = ls_conv_defaults();
    o.groups = 8;
    o.padding = LS_EXPLICIT;
    o.top = o.left = o.right = 1;
    x = ls_batch_norm(ls_conv2d_with(x, 8, 3, 3, &o, "conv3"), 1e-5, "batch");
    x = ls_avg_pool(x, (ls_window){.height = 2, .width = 2,
                                   .padding = LS_VALID});
    return ls_dense(ls_flatten(x), 7, "out");
}

/* ------ sequences ------ */

static ls_node *of_steps(ls_graph *g)
{
    ls_node *x = floats(g, 2, 7, 3, 0), *last, *h;
    ls_recurrent_options o = ls_recurrent_defaults();
    ls_norm_options norm = ls_norm_defaults();

    o.last = &last;
    h = ls_lstm_with(x, wide(20), &o, "lstm");
    norm.epsilon = 0.25;
    norm.two_passes = true;
    h = ls_layer_norm_with(ls_layer_norm(h, "norm"), &norm, "norm_2");
    h = ls_gru(h, wide(10), "gru");
    o = ls_recurrent_defaults();
    o.two_biases = true;
    h = ls_gru_with(h, wide(6), &o, "two");
    o.bidirectional = true;
    h = ls_gru_with(h, 5, &o, "both");
    return ls_concat((ls_node *[]){ls_flatten(h), ls_flatten(last)}, 2, 0);
}

static ls_node *of_tokens(ls_graph *g)
{
    ls_node *x = indices(g, 6);

    x = ls_position(ls_embed(x, 11, wide(24), "table"), "position");
    x = ls_add(x, ls_self_attention(ls_layer_norm(x, "n1"), 4, true, "mix"));
    x = ls_add(x, ls_self_attention(ls_rms_norm(x, 1e-6, "rms"), 2, false,
                                    "all"));
    x = ls_log_softmax(ls_gelu(ls_dense(x, wide(40), "ff")));
    OK(ls_tie(g, "head.kernel", "table.embedding", true));
    return no_bias(ls_dense(x, wide(24), "back"), 11, "head");
}

static ls_node *of_shapes(ls_graph *g)
{
    ls_node *x = floats(g, 2, 6, 4, 0), *h;

    h = ls_concat((ls_node *[]){ls_dense(x, 4, "d"), x}, 2, 0);
    h = ls_matmul(h, ls_parameter(g, "mix", 2, (int64_t[]){4, 4}));
    OK(ls_init_params(g, "mix", &(ls_init){.kind = LS_INIT_RANDOM,
                                           .distribution = LS_NORMAL,
                                           .scale = 1}));
    h = ls_reshape(ls_slice(h, 0, 3, 6), 2, (int64_t[]){4, 6});
    h = ls_transpose(h, NULL);
    x = ls_sum_over(h, 1, (int[]){0});
    h = ls_add(h, ls_broadcast_to(x, 2, (int64_t[]){6, 4}));
    h = ls_matmul(h, ls_transpose(h, NULL));
    return ls_add(ls_max_over(h, 1, (int[]){1}),
                  ls_sum_over(h, 1, (int[]){1}));
}

static ls_node *of_bags(ls_graph *g)
{
    ls_node *x = indices(g, 5), *h;

    h = ls_add(ls_embed_bag(x, LS_BAG_SUM, 600, 20, "sum"),
               ls_embed_bag(x, LS_BAG_MEAN, 600, 20, "mean"));
    h = ls_add(h, ls_sparse_dense(x, NULL, 600, 20, "ones"));
    return ls_softmax(ls_dense(h, 9, "out"));
}

/* Two inputs of numbers and one of indices, which are lengths too. */
static ls_node *of_several(ls_graph *g)
{
    ls_node *x = floats(g, 2, 7, 6, 0), *last, *h;
    ls_node *n = ls_input(g, "int", LS_I32, 0, NULL);
    ls_recurrent_options o = ls_recurrent_defaults();

    o.lengths = n;
    o.bidirectional = true;
    h = ls_lstm_with(ls_rotary(x, 3, 100), 5, &o, "both");
    o = ls_recurrent_defaults();
    o.lengths = n;
    o.state = ls_dense(ls_input(g, "y", LS_F32, 1, (int64_t[]){3}), 4,
                       "first");
    o.last = &last;
    h = ls_gru_with(ls_reverse(h, n), 4, &o, "gru");
    return ls_concat((ls_node *[]){ls_gather(h, n), last}, 2, 0);
}

/* Poolings of all sorts. */
static ls_node *of_pools(ls_graph *g)
{
    ls_node *x = floats(g, 3, 9, 8, 3);
    ls_pooling_options o = ls_pooling_defaults();

    o.padding = LS_EXPLICIT;
    o.top = o.left = o.right = o.bottom = 1;
    o.dilation_y = 2;
    x = ls_max_pool_with(x, 2, 3, &o);
    o.dilation_y = 1;
    o.stride_x = 2;
    x = ls_avg_pool_with(x, 3, 2, &o);
    o.ceil_mode = true;
    o.stride_y = 3;
    x = ls_avg_pool_with(x, 3, 2, &o);
    o.exclude_padding = true;
    return ls_dense(ls_flatten(ls_avg_pool_with(x, 2, 2, &o)), 9, "out");
}

static ls_node *norm(ls_node *x, const char *name)
{
    ls_batch_norm_options o = ls_batch_norm_defaults();

    return ls_batch_norm_with(x, &o, name);
}

/* A block of `lockstep-train resnet` and layers that make it large again, with
 * norms that train by the rows; save() trains it. */
static ls_node *of_residual(ls_graph *g)
{
    ls_node *x = floats(g, 3, 7, 6, 3), *y, *both[2];
    ls_window w = {3, 2, 2, 2, LS_SAME};
    ls_conv_options o = ls_conv_defaults();

    o.no_bias = true;
    o.stride_y = o.stride_x = 2;
    y = ls_relu(norm(ls_conv2d_with(x, 6, 3, 3, &o, "conv1"), "norm1"));
    o.stride_y = o.stride_x = 1;
    y = norm(ls_conv2d_with(y, 6, 3, 3, &o, "conv2"), "norm2");
    both[0] = ls_max_pool(x, (ls_window){1, 1, 2, 2, LS_VALID});
    both[1] = ls_scale_shift(both[0], 0, 0);
    x = ls_relu(ls_add(y, ls_concat(both, 2, 2)));
    x = ls_relu(norm(ls_conv2d_transpose(x, 4, w, "up"), "norm3"));
    x = ls_upsample(x, 2, 3);
    return ls_dense(ls_mean_over(x, 2, (int[]){0, 1}), 9, "out");
}

/* What `lockstep-train table` builds of numbers, in small. */
static ls_node *of_table(ls_graph *g)
{
    ls_attention_options o = ls_attention_defaults();
    ls_node *x = floats(g, 2, 6, 4, 0), *h;

    h = ls_parameter(g, "scale", 2, (int64_t[]){6, 4});
    OK(ls_init_params(g, "scale", &(ls_init){.kind = LS_INIT_RANDOM,
                                             .distribution = LS_NORMAL,
                                             .scale = 1}));
    h = ls_mul(ls_cos(ls_dense(ls_mul(x, h), 4, "waves")), x);
    o.qkv_bias = o.out_bias = true;
    o.rotary_base = 1e4;
    o.kv_heads = 1;
    h = ls_attention_with(h, 2, &o, "mix");
    return ls_dense(ls_flatten(ls_cross_attention_with(
                        h, x, NULL, 2, &(ls_attention_options){
                            .size = sizeof o, .qkv_bias = true}, "other")),
                    1, "out");
}

static const struct {
    const char *name;
    ls_node *(*build)(ls_graph *g);
    int below; /* of indices: numbers from -1 or 0 up to this */
    int from;
} kinds[] = {{"mlp", of_mlp, 0, 0},       {"terms", of_terms, 0, 0},
             {"tiny", of_tiny, 0, 0},     {"image", of_image, 0, 0},
             {"steps", of_steps, 0, 0},   {"tokens", of_tokens, 11, 0},
             {"shapes", of_shapes, 0, 0}, {"bags", of_bags, 600, -1},
             {"pools", of_pools, 0, 0},   {"table", of_table, 0, 0},
             {"several", of_several, 7, 0},
             {"residual", of_residual, 0, 0}};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* ------ saving, compiling ------ */

/* What begins with zeros gets numbers. */
static void set_bias(ls_trainer *t, const char *name)
{
    float x[4096], *by = normals(3, 4096);
    int64_t shape[LS_MAX_RANK], n = 0;

    for (int i = 0; i < ls_trainer_params(t); i++)
        if (!strcmp(ls_trainer_param_name(t, i), name))
            n = ls_trainer_param_shape(t, i, shape) == 1 ? shape[0] : 0;
    for (int64_t i = 0; i < n; i++)
        x[i] = !strcmp(name, "far") ? INFINITY
               : strstr(name, "var") ? by[i] * by[i] : by[i] / 4;
    if (n)
        OK(ls_trainer_set(t, name, n, x));
    free(by);
}

/* Three steps on rows of `size` numbers, so that averages are kept of them. */
static void train(const run *r, int64_t size)
{
    enum { N = 32 };
    float *x = normals(5, N * size), before[4], after[4];
    ls_result result;

    OK(ls_batch_set(r->batch, "x", LS_F32, x, N));
    OK(ls_trainer_get(r->trainer, "norm3.mean", 4, before));
    for (int i = 0; i < 3; i++)
        OK(ls_step(r->trainer, r->batch, &result));
    OK(ls_trainer_get(r->trainer, "norm3.mean", 4, after));
    for (int i = 0; i < 4; i++)
        ck_assert(before[i] != after[i]);
    free(x);
}

static void save(ls_node *(*build)(ls_graph *g), const char *path)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_graph *g = empty_graph();
    run r;
    ls_node *y = build(g);

    ck_assert_msg(y != NULL, "%s", ls_errmsg());
    OK(ls_output(g, y, "y"));
    OK(ls_loss(g, ls_mean_loss(ls_sum_over(ls_square(y), 0, NULL), NULL)));
    r = open_run_on(1, 1, g, &o);
    for (int i = 0; i < ls_trainer_params(r.trainer); i++)
        set_bias(r.trainer, ls_trainer_param_name(r.trainer, i));
    if (build == of_residual)
        train(&r, 7 * 6 * 3);
    OK(ls_trainer_save_model(r.trainer, path));
    close_run(&r);
}

/* Is there a compiler? */
static const char *compiler(void)
{
    const char *cc = getenv("CC");

    cc = cc && *cc ? cc : "cc";
    return cc;
}

typedef void predict_fn(const void *x, float *y, void *scratch);
typedef void rows_fn(long rows, const void *x, float *y, void *scratch);
typedef void predict_3(const void *a, const void *b, const void *c, float *y,
                       void *scratch);
typedef void rows_3(long rows, const void *a, const void *b, const void *c,
                    float *y, void *scratch);

/* Source `c` as a library that is open; by name its functions. */
static void *compiled(const char *c, const char *flags)
{
    char command[1024], so[300];
    void *library;

    snprintf(so, sizeof so, "%s.%s.so", c, flags);
    snprintf(command, sizeof command, "%s -std=c99 -Wall -Wextra -Werror "
             "-Wno-unknown-pragmas -shared -fPIC %s -o '%s' '%s'", compiler(),
             flags, so, c);
    ck_assert_msg(system(command) == 0, "%s", command);
    library = dlopen(so, RTLD_NOW);
    ck_assert_msg(library != NULL, "%s", dlerror());
    return library;
}

static void *symbol(void *library, const char *name)
{
    void *at = dlsym(library, name);

    ck_assert_msg(at != NULL, "%s", name);
    return at;
}

/* ------ the same bytes ------ */

enum { INPUTS = 3 };

typedef struct sample {
    int inputs; /* 1, or 3 */
    ls_array_spec in[INPUTS], out;
    int64_t in_size[INPUTS], out_size;
    void *x[INPUTS];
    float *y; /* the predictor's */
} sample;

static int64_t size_of(const ls_array_spec *spec)
{
    int64_t n = 1;

    for (int i = 0; i < spec->rank; i++)
        n *= spec->shape[i];
    return n;
}

static void *make_x(const ls_array_spec *in, int kind)
{
    int64_t n = ROWS * size_of(in);
    int32_t *i32;

    if (in->dtype == LS_F32) {
        float *x = normals(7, n);

        for (int64_t i = 0; i < n; i += 3) /* as behind relu */
            x[i] = 0;
        return x;
    }
    i32 = integers(7, kinds[kind].below - kinds[kind].from, n);
    for (int64_t i = 0; i < n; i++)
        i32[i] += kinds[kind].from;
    return i32;
}

static sample open_sample(const char *model, int kind)
{
    ls_predictor *p;
    ls_context *c;
    sample s = {0};

    OK(ls_predictor_load(&p, model));
    OK(ls_context_open(&c, p, NULL));
    ck_assert(ls_predictor_output(p, 0, &s.out));
    s.out_size = size_of(&s.out);
    s.y = malloc((size_t)(ROWS * s.out_size) * sizeof *s.y);
    ck_assert_ptr_nonnull(s.y);
    for (int k = 0; k < INPUTS && ls_predictor_input(p, k, &s.in[k]); k++) {
        s.in_size[k] = size_of(&s.in[k]);
        s.x[k] = make_x(&s.in[k], kind);
        OK(ls_context_set(c, s.in[k].name, s.in[k].dtype, s.x[k], ROWS));
        s.inputs++;
    }
    OK(ls_context_predict(c, s.out.name, ROWS * s.out_size, s.y));
    ls_context_close(c);
    ls_predictor_close(p);
    return s;
}

static void close_sample(sample *s)
{
    for (int k = 0; k < s->inputs; k++)
        free(s->x[k]);
    free(s->y);
}

static const void *row_of(const sample *s, int k, int64_t i)
{
    return (const char *)s->x[k] + i * s->in_size[k] * 4;
}

/* Call what was compiled, for row i, or (rows > 0) for rows. */
static void call(const sample *s, void *library, int64_t i, int64_t rows,
                 float *y, void *scratch)
{
    void *of = symbol(library, rows ? "net_predict_rows" : "net_predict");

    if (s->inputs == 1 && rows)
        ((rows_fn *)of)((long)rows, s->x[0], y, scratch);
    else if (s->inputs == 1)
        ((predict_fn *)of)(row_of(s, 0, i), y, scratch);
    else if (rows)
        ((rows_3 *)of)((long)rows, s->x[0], s->x[1], s->x[2], y, scratch);
    else
        ((predict_3 *)of)(row_of(s, 0, i), row_of(s, 1, i), row_of(s, 2, i), y,
                          scratch);
}

static void check_bytes(const sample *s, const char *c, const char *flags,
                        int64_t n)
{
    size_t scratch_room = 1 << 24;
    void *library = compiled(c, flags), *scratch = malloc(scratch_room);
    float *y = malloc((size_t)(ROWS * s->out_size) * sizeof *y);

    ck_assert(y && scratch && (s->inputs == 1 || s->inputs == INPUTS));
    memset(y, 1, (size_t)(ROWS * s->out_size) * sizeof *y);
    for (int64_t i = 0; i < n; i += 3) {
        call(s, library, i, 0, y + i * s->out_size, scratch);
        for (int64_t j = i * s->out_size; j < (i + 1) * s->out_size; j++)
            ck_assert_msg(!memcmp(y + j, s->y + j, 4),
                          "%s: row %ld, output %ld: %a, not %a", flags, (long)i,
                          (long)(j % s->out_size), (double)y[j],
                          (double)s->y[j]);
    }
    memset(y, 1, (size_t)(ROWS * s->out_size) * sizeof *y);
    call(s, library, 0, n, y, scratch);
    ck_assert_mem_eq(y, s->y, (size_t)(n * s->out_size) * sizeof *y);
    free(y);
    free(scratch);
    dlclose(library);
}

/* ------ for other compilers and processors ------ */

static void fill_rows(const ls_array_spec *in, int kind, asking *a, void *x)
{
    for (int64_t i = 0; i < ASKED * size_of(in); i++)
        if (in->dtype == LS_F32)
            ((float *)x)[i] = draw_float(a);
        else
            ((int32_t *)x)[i] = draw_index(a, kinds[kind].from,
                                           kinds[kind].below);
}

/* The hash of a predictor's outputs for the rows of csource_rows.c; the types
 * of the inputs in types[]. */
static uint64_t predicted(const char *model, int kind, int64_t rows,
                          bool floats[INPUTS], int *inputs)
{
    asking a = first_asking;
    ls_array_spec in, out;
    ls_predictor *p;
    ls_context *c;
    void *x[INPUTS] = {NULL};
    float *y;

    OK(ls_predictor_load(&p, model));
    OK(ls_context_open(&c, p, NULL));
    ck_assert(ls_predictor_output(p, 0, &out));
    y = malloc((size_t)(ASKED * size_of(&out)) * sizeof *y);
    ck_assert_ptr_nonnull(y);
    for (*inputs = 0; ls_predictor_input(p, *inputs, &in); ++*inputs) {
        ck_assert_int_lt(*inputs, INPUTS);
        floats[*inputs] = in.dtype == LS_F32;
        x[*inputs] = malloc((size_t)(ASKED * size_of(&in)) * 4);
        ck_assert_ptr_nonnull(x[*inputs]);
    }
    for (int64_t i = 0; i < rows; i += ASKED) {
        for (int k = 0; ls_predictor_input(p, k, &in); k++) {
            fill_rows(&in, kind, &a, x[k]);
            OK(ls_context_set(c, in.name, in.dtype, x[k], ASKED));
        }
        OK(ls_context_predict(c, out.name, ASKED * size_of(&out), y));
        for (int64_t j = 0; j < ASKED * size_of(&out); j++)
            take_output(&a, y[j]);
    }
    for (int k = 0; k < *inputs; k++)
        free(x[k]);
    free(y);
    ls_context_close(c);
    ls_predictor_close(p);
    return a.hash;
}

/* No test: writes the source of each kind to the folder LS_CSOURCE_TO, what
 * csource_rows.c must know of its inputs, and the hash of ROWS rows. */
LOOP_TEST(write_kinds, 0, getenv("LS_CSOURCE_TO") != NULL)
{
    const char *to = getenv("LS_CSOURCE_TO");
    int64_t rows = atoll(getenv("ROWS"));
    char path[4096];

    folder_open();
    for (int k = 0; k < KINDS; k++) {
        bool floats[INPUTS];
        int inputs = 0;
        uint64_t hash;
        FILE *f;

        save(kinds[k].build, in_folder("model"));
        snprintf(path, sizeof path, "%s/%s.c", to, kinds[k].name);
        OK(ls_csource_save(in_folder("model"), path, NULL));
        hash = predicted(in_folder("model"), k, rows, floats, &inputs);
        snprintf(path, sizeof path, "%s/%s.hash", to, kinds[k].name);
        ck_assert_ptr_nonnull(f = fopen(path, "w"));
        fprintf(f, "%016" PRIx64 "\n", hash);
        ck_assert_int_eq(fclose(f), 0);
        snprintf(path, sizeof path, "%s/%s.inputs", to, kinds[k].name);
        ck_assert_ptr_nonnull(f = fopen(path, "w"));
        for (int i = 0; i < inputs; i++)
            fprintf(f, "#define T%d %s\n", i, floats[i] ? "float" : "int32_t");
        fprintf(f, "#define FROM %d\n#define BELOW %d\n", kinds[k].from,
                kinds[k].below ? kinds[k].below : 1);
        ck_assert_int_eq(fclose(f), 0);
    }
    folder_close();
}

LOOP_TEST(test_bytes, 0, KINDS)
{
    sample s;

    folder_open();
    save(kinds[_i].build, in_folder("model"));
    OK(ls_csource_save(in_folder("model"), in_folder("net.c"), NULL));
    s = open_sample(in_folder("model"), _i);
    if (!UNDER_SANITIZER) /* net.c is compiled without one */
        check_bytes(&s, in_folder("net.c"), "-O0", 40);
    check_bytes(&s, in_folder("net.c"), "-O2", ROWS);
#if defined __x86_64__ /* vectors of the CPU */
    check_bytes(&s, in_folder("net.c"), "-O2 -march=native", ROWS);
#endif
    close_sample(&s);
    folder_close();
}

/* ------ bytes ------ */

/* Source of whole numbers, too, has one meaning, whatever the compiler: those
 * of one row and of many, at -O0 and -O2; and it is near the predictor. */
static void check_int8(sample *s, const char *c)
{
    float *y = malloc((size_t)(ROWS * s->out_size) * sizeof *y);
    void *scratch = malloc(1 << 24), *library = compiled(c, "-O0");
    double off = 0, size = 0;

    ck_assert(y && scratch);
    for (int64_t i = 0; i < 40; i++)
        call(s, library, i, 0, y + i * s->out_size, scratch);
    for (int64_t i = 0; i < 40 * s->out_size; i++) {
        if (!isfinite(y[i]) || !isfinite(s->y[i]))
            continue; /* a power, or its exponential */
        off += fabs((double)y[i] - (double)s->y[i]);
        size += fabs((double)s->y[i]);
    }
    ck_assert_msg(off <= 0.1 * size, "off by %g of %g", off, size);
    memcpy(s->y, y, (size_t)(40 * s->out_size) * sizeof *y);
    check_bytes(s, c, "-O2", 40);
    free(y);
    free(scratch);
    dlclose(library);
}

LOOP_TEST(test_int8, 0, KINDS)
{
    ls_csource_options o = ls_csource_defaults();
    sample s;

    folder_open();
    o.int8 = true;
    save(kinds[_i].build, in_folder("model"));
    OK(ls_csource_save(in_folder("model"), in_folder("net.c"), &o));
    s = open_sample(in_folder("model"), _i);
    check_int8(&s, in_folder("net.c"));
    close_sample(&s);
    folder_close();
}

/* y (n) = x (k) w, as docs/csource.md defines it. */
static void whole_product(int k, int n, const float *x, const float *w,
                          float *y)
{
    float most = 0;

    for (int i = 0; i < k; i++)
        most = fmaxf(most, fabsf(x[i]));
    for (int j = 0; j < n; j++) {
        float top = 0;
        int32_t sum = 0;

        for (int i = 0; i < k; i++)
            top = fmaxf(top, fabsf(w[i * n + j]));
        for (int i = 0; i < k; i++)
            sum += (int32_t)rintf(x[i] * (127 / most)) *
                   (int32_t)rintf(w[i * n + j] / (top / 127));
        y[j] = (float)sum * (most / 127 * (top / 127));
    }
}

enum { K = 333, N = 37 };

static ls_node *of_product(ls_graph *g)
{
    return no_bias(floats(g, 1, K, 0, 0), N, "w");
}

TEST(test_contract)
{
    ls_csource_options o = ls_csource_defaults();
    static float scratch[1 << 16], w[K * N], y[N], want[N];
    void *library;
    sample s;
    ls_archive *a;

    folder_open();
    o.int8 = true;
    save(of_product, in_folder("model"));
    OK(ls_csource_save(in_folder("model"), in_folder("net.c"), &o));
    OK(ls_archive_open(&a, in_folder("model")));
    OK(ls_archive_read(a, 0, K * N, w));
    ls_archive_close(a);
    s = open_sample(in_folder("model"), 0);
    library = compiled(in_folder("net.c"), "-O2");
    for (int64_t i = 0; i < ROWS; i++) {
        call(&s, library, i, 0, y, scratch);
        whole_product(K, N, row_of(&s, 0, i), w, want);
        ck_assert_mem_eq(y, want, sizeof y);
    }
    close_sample(&s);
    dlclose(library);
    folder_close();
}

/* ------ what is refused ------ */

/* Every operator but losses, which no prediction needs, is written. */
TEST(test_operators)
{
    for (const ls__op *const *op = ls__ops; *op; op++)
        ck_assert_msg((ls__crow_of((*op)->name) != NULL) == !(*op)->is_loss,
                      "%s", (*op)->name);
}

static ls_node *of_infinite(ls_graph *g)
{
    ls_node *x = floats(g, 1, 4, 0, 0);

    return ls_add(x, ls_parameter(g, "far", 1, (int64_t[]){4}));
}

TEST(test_refused)
{
    folder_open();
    save(of_infinite, in_folder("model"));
    FAILS(ls_csource_save(in_folder("model"), in_folder("net.c"), NULL),
          LS_ENONFINITE, "\"far\"");
    ck_assert_int_ne(access(in_folder("net.c"), F_OK), 0);
    ck_assert_int_ne(access(in_folder("net.h"), F_OK), 0);
    folder_close();
}

TEST(test_names)
{
    static const char *const wrong[] = {"net", "net.h", "9.c", "a b.c",
                                        "a\"b.c"};
    ls_csource_options o = ls_csource_defaults();

    folder_open();
    save(of_mlp, in_folder("model"));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_int_eq(ls_csource_save(in_folder("model"),
                                         in_folder(wrong[i]), NULL),
                         LS_EINVAL);
    o.name = "no name";
    ck_assert_int_eq(ls_csource_save(in_folder("model"), in_folder("a.c"), &o),
                     LS_EINVAL);
    o.name = "other";
    OK(ls_csource_save(in_folder("model"), in_folder("net-1.c"), &o));
    dlclose(compiled(in_folder("net-1.c"), "-O0"));
    folder_close();
}

#if OWN_MALLOC
/* Each allocation fails in turn: a status, and what was there stays, or all
 * that replaces it is there. */
TEST(test_shortage)
{
    int status = -1;
    size_t whole;

    folder_open();
    save(of_bags, in_folder("model"));
    OK(ls_csource_save(in_folder("model"), in_folder("net.c"), NULL));
    free(get_file(in_folder("net.c"), &whole));
    put_file(in_folder("net.c"), "old", 3);
    for (int n = 1; status < 0; n++) {
        size_t size;

        fail_memory = OUR_MEMORY;
        watch_from(n);
        status = ls_csource_save(in_folder("model"), in_folder("net.c"), NULL);
        atomic_store(&watching, false);
        fail_memory = NO_MEMORY;
        ck_assert_msg(status == 0 || status == LS_ENOMEM, "%d: %s", n,
                      ls_errmsg());
        free(get_file(in_folder("net.c"), &size));
        ck_assert(size == whole || (status < 0 && size == 3));
        ck_assert_int_lt(n, 4000);
    }
    folder_close();
}
#endif

int main(void)
{
    if (getenv("LS_CSOURCE_TO"))
        setenv("CK_RUN_CASE", "write_kinds", 1);
    return RUN_TESTS(.timeout = 3600);
}
