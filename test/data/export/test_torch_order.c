/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves the order that PyTorch's weights are read in: a transposed convolution
 * and what stands behind a flatten put out what PyTorch's definition makes of
 * the file; where the graph or the file does not tell the order, the parameter
 * is refused by name, and nothing has changed. */
#define _GNU_SOURCE /* nftw */
#include "folder.h"
#include "layers.h"
#include "models.h"
#include <lockstep/torch.h>

#include <math.h>

enum { H = 2, W = 3, C = 2, ALL = H * W * C, OUT = 3 };

/* Number i of a tensor, by its name's first letter, too. */
static float number(const char *name, int64_t i)
{
    return (float)((i * 7 + *name) % 23 - 11) / 8 + (float)i / 64;
}

/* Write "FOLDER/m" with the tensors of a text "name:2,3 other:4". */
static const char *put_tensors(const char *text)
{
    char head[2048], *file = calloc(1, 1 << 16);
    int used = snprintf(head, sizeof head, "{");
    float *data = calloc(4096, sizeof *data);
    int64_t at = 0, n;
    uint64_t length;

    for (const char *end; *text; text = end + strspn(end, " ")) {
        int colon = (int)strcspn(text, ":"), count;
        const char *shape = text + colon + 1;

        end = shape + strcspn(shape, " ");
        n = 1;
        for (const char *s = shape; s < end; s += count + 1) {
            n *= strtol(s, NULL, 10);
            count = (int)strcspn(s, ", ");
        }
        for (int64_t i = 0; i < n; i++)
            data[at + i] = number(text, i);
        used += snprintf(head + used, sizeof head - (size_t)used,
                         "%s\"%.*s\":{\"dtype\":\"F32\",\"shape\":[%.*s],"
                         "\"data_offsets\":[%d,%d]}", at ? "," : "", colon,
                         text, (int)(end - shape), shape, (int)(4 * at),
                         (int)(4 * (at + n)));
        at += n;
    }
    used += snprintf(head + used, sizeof head - (size_t)used, "}");
    length = (uint64_t)used;
    memcpy(file, &length, 8);
    memcpy(file + 8, head, (size_t)used);
    memcpy(file + 8 + used, data, 4 * (size_t)at);
    put_file(in_folder("m"), file, (size_t)(8 + used + 4 * at));
    free(data);
    free(file);
    return in_folder("m");
}

/* ------ what stands behind a flatten ------ */

typedef ls_node *layers_fn(ls_node *x);

static ls_node *plain(ls_node *x) { return ls_flatten(x); }

static ls_node *as_shape(ls_node *x)
{
    return ls_reshape(x, 1, (int64_t[]){ALL});
}

static ls_node *summed(ls_node *x)
{
    return ls_add(ls_flatten(x), ls_relu(ls_flatten(x)));
}

static ls_node *layer(ls_node *x)
{
    return ls_relu(ls_layer_norm(ls_flatten(x), "a"));
}

static ls_node *rms(ls_node *x)
{
    return ls_rms_norm(ls_flatten(x), 1e-6, "a");
}

static ls_node *batch(ls_node *x)
{
    return ls_batch_norm(ls_flatten(x), 1e-5, "a");
}

static double identity(double x) { return x; }
static double with_relu(double x) { return x + fmax(x, 0); }

/* What PyTorch makes of a vector v, in place. */
static void torch_norm(layers_fn *layers, double *v)
{
    double mean = 0, square = 0, r;

    for (int k = 0; k < ALL; k++)
        mean += v[k] / ALL;
    for (int k = 0; k < ALL; k++)
        square += (layers == rms ? v[k] * v[k]
                                 : (v[k] - mean) * (v[k] - mean)) / ALL;
    for (int k = 0; k < ALL; k++) {
        double scale = (double)number("a", k), shift = (double)number("a", k);

        if (layers == batch) {
            mean = (double)number("a", k);
            square = fabs(mean); /* the variance is set so */
        }
        r = 1 / sqrt(square + (layers == batch ? 1e-5 : 1e-6));
        v[k] = layers == rms ? v[k] * r * scale
                             : (v[k] - mean) * r * scale + shift;
        if (layers == layer)
            v[k] = fmax(v[k], 0);
    }
}

static const struct {
    layers_fn *layers;
    const char *tensors;
    double (*each)(double x); /* NULL: torch_norm */
} behind[] = {
    {plain, "", identity},
    {as_shape, "", identity},
    {summed, "", with_relu},
    {layer, "a.weight:12 a.bias:12", NULL},
    {rms, "a.weight:12", NULL},
    {batch, "a.weight:12 a.bias:12 a.running_mean:12 a.running_var:12", NULL},
};

static ls_graph *graph; /* that layers are built in */

static ls_node *dense(ls_node *x) { return ls_dense(x, OUT, "d"); }

/* An image through layers, and the last one, to "y". */
static ls_graph *graph_of(layers_fn *layers, layers_fn *last)
{
    ls_node *y;

    OK(ls_graph_new(&graph));
    y = layers(ls_input(graph, "x", LS_F32, 3, (int64_t[]){H, W, C}));
    y = last ? last(y) : y;
    OK(ls_output(graph, y, "y"));
    OK(ls_loss(graph, ls_mean_loss(y, NULL)));
    return graph;
}

/* Proves that the output is that of PyTorch's definition, which sees the image
 * as (C,H,W). */
START_TEST(vectors)
{
    ls_pool *pool = open_pool(1, 1);
    run r = open_run(pool, graph_of(behind[_i].layers, dense), NULL);
    float x[ALL], y[OUT], var[ALL];
    double v[ALL];
    char text[256];

    folder_open();
    snprintf(text, sizeof text, "d.weight:3,12 d.bias:3 %s",
             behind[_i].tensors);
    OK(ls_trainer_load_torch(r.trainer, put_tensors(text), NULL, NULL));
    if (behind[_i].layers == batch) { /* a variance is not below 0 */
        OK(ls_trainer_get(r.trainer, "a.var", ALL, var));
        for (int k = 0; k < ALL; k++)
            var[k] = fabsf(var[k]);
        OK(ls_trainer_set(r.trainer, "a.var", ALL, var));
    }
    for (int k = 0; k < ALL; k++)
        x[k] = number("x", k);
    for (int c = 0; c < C; c++)
        for (int p = 0; p < H * W; p++)
            v[c * H * W + p] = (double)x[p * C + c];
    for (int k = 0; behind[_i].each && k < ALL; k++)
        v[k] = behind[_i].each(v[k]);
    if (!behind[_i].each)
        torch_norm(behind[_i].layers, v);
    OK(ls_batch_set(r.batch, "x", LS_F32, x, 1));
    OK(ls_predict(r.trainer, r.batch, "y", OUT, y));
    for (int n = 0; n < OUT; n++) {
        double want = (double)number("d", n);

        for (int k = 0; k < ALL; k++)
            want += v[k] * (double)number("d", n * ALL + k);
        ck_assert_double_eq_tol((double)y[n], want, 1e-4);
    }
    folder_close();
    close_run(&r);
    ls_pool_close(pool);
}
END_TEST

/* ------ transposed convolutions ------ */

static const ls_window up_window[] = {{3, 2, 2, 1, LS_VALID},
                                      {2, 3, 1, 1, LS_VALID},
                                      {3, 3, 3, 2, LS_VALID}};

/* Proves the same of ConvTranspose2d, of as many channels as it puts out, and
 * of more: y[i s + k] gets x[i] w[c,n,k]. */
START_TEST(transposed)
{
    const ls_window w = up_window[_i / 2];
    const int n = _i % 2 ? C : C + 1;
    const int high = (H - 1) * (int)w.stride_y + (int)w.height;
    const int wide = (W - 1) * (int)w.stride_x + (int)w.width;
    int size = high * wide * n;
    ls_pool *pool = open_pool(1, 1);
    double *want = calloc((size_t)size, sizeof *want);
    float x[ALL], *y = calloc((size_t)size, sizeof *y);
    char text[80];
    ls_graph *g;
    ls_node *up;
    run r;

    folder_open();
    OK(ls_graph_new(&g));
    up = ls_input(g, "x", LS_F32, 3, (int64_t[]){H, W, C});
    up = ls_conv2d_transpose(up, n, w, "d");
    OK(ls_output(g, up, "y"));
    OK(ls_loss(g, ls_mean_loss(up, NULL)));
    r = open_run(pool, g, NULL);
    snprintf(text, sizeof text, "d.weight:%d,%d,%d,%d d.bias:%d", C, n,
             (int)w.height, (int)w.width, n);
    OK(ls_trainer_load_torch(r.trainer, put_tensors(text), NULL, NULL));
    for (int k = 0; k < ALL; k++)
        x[k] = number("x", k);
    for (int i = 0; i < size; i++)
        want[i] = (double)number("d", i % n);
    for (int k = 0; k < ALL * n * (int)(w.height * w.width); k++) {
        int kx = k % (int)w.width, ky = k / (int)w.width % (int)w.height;
        int o = k / (int)(w.width * w.height) % n;
        int from = k / (int)(w.width * w.height) / n, c = from % C;
        int j = from / C % W, i = from / C / W;
        int at = ((c * n + o) * (int)w.height + ky) * (int)w.width + kx;
        int to = (i * (int)w.stride_y + ky) * wide + j * (int)w.stride_x + kx;

        want[to * n + o] += (double)x[from] * (double)number("d", at);
    }
    OK(ls_batch_set(r.batch, "x", LS_F32, x, 1));
    OK(ls_predict(r.trainer, r.batch, "y", size, y));
    for (int i = 0; i < size; i++)
        ck_assert_double_eq_tol((double)y[i], want[i], 1e-4);
    folder_close();
    close_run(&r);
    ls_pool_close(pool);
    free(want);
    free(y);
}
END_TEST

/* ------ what is not told ------ */

static const ls_window two = {2, 2, 1, 1, LS_SAME};

static ls_node *conv(ls_node *x) { return ls_conv2d(x, 2, two, "d"); }

static ls_node *with_others(ls_node *x)
{
    ls_node *more = ls_reshape(ls_slice(x, 0, 0, 1), 2, (int64_t[]){W, C});

    more = ls_sum_over(more, 1, (int[]){0});
    return ls_concat((ls_node *[]){ls_flatten(x), more}, 2, 0);
}

static ls_node *times_own(ls_node *x)
{
    return ls_mul(ls_flatten(x),
                  ls_parameter(graph, "p", 1, (int64_t[]){ALL}));
}

static ls_node *turned(ls_node *x) { return ls_reverse(ls_flatten(x), NULL); }

static ls_node *of_rows(ls_node *x)
{
    return ls_reshape(x, 2, (int64_t[]){H, W * C});
}

static ls_node *channels_last(ls_node *x)
{
    return ls_flatten(ls_relu(ls_dense(x, C, "e")));
}

static ls_node *normed_last(ls_node *x)
{
    return ls_flatten(ls_layer_norm(x, "e"));
}

static ls_node *groups(ls_node *x)
{
    return ls_group_norm(ls_flatten(x), 2, "d");
}

static ls_node *steps(ls_node *x)
{
    x = ls_sum_over(x, 1, (int[]){0});
    return ls_flatten(ls_conv1d(x, 2, 2, 1, LS_SAME, "e"));
}

static ls_node *made(ls_node *x)
{
    x = ls_dense(ls_mean_over(x, 2, (int[]){0, 1}), ALL, "e");
    return ls_relu(ls_reshape(x, 3, (int64_t[]){H, W, C}));
}

static ls_node *made_larger(ls_node *x)
{
    return ls_conv2d_transpose(made(x), 2, two, "d");
}

static ls_node *other_axes(ls_node *x)
{
    return ls_transpose(x, (int[]){2, 0, 1});
}

static const struct {
    layers_fn *layers, *last;
    const char *what;
} unknown[] = {
    {with_others, dense, "\"d.kernel\" of dense \"d\""},
    {times_own, NULL, "\"p\" of parameter"},
    {times_own, dense, "\"p\" of parameter"},
    {turned, dense, "\"d.kernel\""},
    {of_rows, dense, "\"d.kernel\""},
    {channels_last, dense, "\"d.kernel\""},
    {normed_last, dense, "\"d.kernel\""},
    {groups, NULL, "\"d.scale\" of group_norm \"d\""},
    {steps, dense, "\"d.kernel\""},
    {made, conv, "\"d.kernel\" of conv2d \"d\""},
    {made_larger, NULL, "\"d.kernel\" of conv2d \"d\""},
    {other_axes, dense, "\"d.kernel\""},
};

/* How many parameters are refused as unknown; the message of the last. */
static int refusals(layers_fn *layers, layers_fn *last, char message[1024])
{
    ls_pool *pool = open_pool(1, 1);
    run r = open_run(pool, graph_of(layers, last), NULL);
    char before[65], after[65];
    int count = 0;

    put_tensors("none:1");
    ls_trainer_hash(r.trainer, before);
    for (int i = 0; i < ls_trainer_params(r.trainer); i++)
        if (ls_trainer_load_torch(r.trainer, in_folder("m"),
                                  ls_trainer_param_name(r.trainer, i), NULL) ==
            LS_ENOTSUP) {
            snprintf(message, 1024, "%s", ls_errmsg());
            count++;
        }
    ls_trainer_hash(r.trainer, after);
    ck_assert_str_eq(before, after);
    close_run(&r);
    ls_pool_close(pool);
    return count;
}

START_TEST(refused)
{
    char message[1024];

    folder_open();
    ck_assert_int_gt(refusals(unknown[_i].layers, unknown[_i].last, message),
                     0);
    ck_assert_msg(strstr(message, unknown[_i].what), "%s", message);
    ck_assert_ptr_nonnull(strstr(message, "of names \"!"));
    folder_close();
}
END_TEST

static ls_node *residual(ls_node *x)
{
    ls_node *h = ls_batch_norm(ls_conv2d(x, 4, two, "c"), 1e-5, "b");
    ls_node *by = ls_dense(ls_mean_over(h, 2, (int[]){0, 1}), 4, "s");

    by = ls_broadcast_to(ls_sigmoid(by), 3, (int64_t[]){H, W, 4});
    h = ls_add(h, ls_conv2d(ls_mul(ls_relu(h), by), 4, two, "e"));
    h = ls_concat((ls_node *[]){x, ls_upsample(h, 1, 1)}, 2, 2);
    h = ls_conv2d(ls_upsample(h, 2, 1), 3, two, "u");
    return ls_flatten(ls_group_norm(ls_max_pool(h, two), 3, "g"));
}

static ls_node *tokens(ls_node *x)
{
    ls_node *mask = ls_input(graph, "m", LS_F32, 3, (int64_t[]){2, 3, 3}), *h;

    h = ls_position(ls_reshape(ls_conv2d(x, 4, two, "c"), 2,
                               (int64_t[]){H * W, 4}), "p");
    h = ls_self_attention(ls_layer_norm(h, "n"), 2, false, "a");
    h = ls_reshape(ls_slice(ls_swiglu(h, 4, "w"), 0, 0, 1), 1,
                   (int64_t[]){4});
    x = ls_input(graph, "steps", LS_F32, 2, (int64_t[]){3, 4});
    x = ls_conv1d(ls_cross_attention(x, x, mask, 2, "b"), 4, 2, 1, LS_SAME,
                  "k");
    return ls_concat((ls_node *[]){h, ls_mean_over(x, 1, (int[]){0})}, 2, 0);
}

static ls_node *given(ls_node *x)
{
    x = ls_input(graph, "v", LS_F32, 1, (int64_t[]){H * W});
    x = ls_reshape(x, 3, (int64_t[]){H, W, 1});
    return ls_flatten(ls_conv2d(x, 2, two, "c"));
}

/* Proves that an order that can be followed is. */
START_TEST(followed)
{
    static layers_fn *const all[] = {residual, tokens, given};
    char message[1024] = "";

    folder_open();
    ck_assert_msg(refusals(all[_i], dense, message) == 0, "%s", message);
    folder_close();
}
END_TEST

/* ------ what the shape does not tell ------ */

static ls_node *squares(ls_node *x)
{
    x = ls_dense(ls_mean_over(x, 1, (int[]){0}), C, "m.c_proj");
    return ls_flatten(ls_conv1d(dense_no_bias(x, C, "q"), C, 3, 1, LS_SAME,
                                "k"));
}

static const struct {
    const char *tensors, *names;
    int status;
    const char *what;
} told[] = {
    {"m.c_proj.weight:2,2", "m.c_proj.kernel", LS_ENOTSUP,
     "\"m.c_proj.weight\" is (2,2), which does not tell"},
    {"m.c_proj.weight:2,2 h.c_attn.weight:2,6", "m.c_proj.kernel", LS_ENOTSUP,
     "Conv1D"},
    {"m.c_proj.weight:2,2 h.c_attn.weight:6,2", "m.c_proj.kernel", 0, ""},
    {"m.c_proj.weight:2,2 h.c_attn.weight:6,2", "q.kernel", LS_ENOTFOUND, ""},
    {"q.weight:2,2", "q.kernel", 0, ""},
    {"q.weight:2,2 h.c_attn.weight:2,6", "q.kernel", LS_ENOTSUP, "Conv1D"},
    {"k.weight:2,2,3", "k.kernel", 0, ""},
    {"k.weight:2,2,1,3", "k.kernel", 0, ""},
    {"k.weight:2,3,2", "k.kernel", LS_ESHAPE, "wants (2,2,3)"},
    {"k.weight:2,2,3", "k.*", LS_ENOTFOUND,
     "of names \"!*.bias\" leaves biases as they are"},
    {"k.weight:2,2,3 m.c_proj.weight:2,2 q.weight:2,2 h.c_attn.weight:6,2",
     "!*.bias", 0, ""},
    {"k.weight:2,2,3 m.c_proj.weight:2,2 m.c_proj.bias:2 q.weight:2,2 "
     "h.c_attn.weight:6,2 k.bias:2", NULL, LS_ENOTFOUND,
     "of names, as \"*\", leaves"},
};

START_TEST(shapes)
{
    ls_pool *pool = open_pool(1, 1);
    run r = open_run(pool, graph_of(squares, NULL), NULL);

    folder_open();
    put_tensors(told[_i].tensors);
    if (told[_i].status)
        FAILS(ls_trainer_load_torch(r.trainer, in_folder("m"), told[_i].names,
                                    NULL), told[_i].status, told[_i].what);
    else
        OK(ls_trainer_load_torch(r.trainer, in_folder("m"), told[_i].names,
                                 NULL));
    folder_close();
    close_run(&r);
    ls_pool_close(pool);
}
END_TEST

#define ROWS_OF(table) (int)(sizeof(table) / sizeof *(table))

int main(void)
{
    Suite *s = suite_create("torch order");
    TCase *t = tcase_create("torch order");

    tcase_add_loop_test(t, vectors, 0, ROWS_OF(behind));
    tcase_add_loop_test(t, transposed, 0, 2 * ROWS_OF(up_window));
    tcase_add_loop_test(t, refused, 0, ROWS_OF(unknown));
    tcase_add_loop_test(t, followed, 0, 3);
    tcase_add_loop_test(t, shapes, 0, ROWS_OF(told));
    suite_add_tcase(s, t);
    return run_suite(s);
}
