/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that the referee, which shares no line with the library, makes the
 * library's numbers: every number of a training step of two devices and two
 * chunks each (values, gradients of devices, their mean, the norm, clipping and
 * the update), every elementwise term with its gradients and every optimizer on
 * random operands, at every instruction level. */
#define REFEREE_IS_TESTED
#include "../referee/referee.c"
#include "base/fpmode.h"
#include "kernel/kernel.h"
#include "fixture.h"
#include "support.h"

#include <math.h>

/* ------ a training step ------ */

enum { ROWS = 600, DEVICES = 2, EACH = 300, CHUNK = 256, IN = 300,
       HIDDEN = UNDER_SANITIZER ? 24 : 96, OUT = 10, STEPS = 3, BLOCK = 4096,
       LARGEST = IN * HIDDEN };

enum { WH, BH, BN, SN, WO, BO, PARAMS };
static const struct {
    const char *name;
    int64_t n;
} param[] = {{"hidden.kernel", IN * HIDDEN}, {"hidden.bias", HIDDEN},
             {"norm.bias", HIDDEN}, {"norm.scale", HIDDEN},
             {"out.kernel", HIDDEN * OUT}, {"out.bias", OUT}};

/* What the last step read and wrote. */
static struct {
    f32 x[ROWS * IN];
    int32_t label[ROWS];
    f32 before[3][PARAMS][LARGEST], after[3][PARAMS][LARGEST];
    f32 device[DEVICES][PARAMS][LARGEST], mean[PARAMS][LARGEST];
    f32 hidden[ROWS * HIDDEN], normed[ROWS * HIDDEN], logits[ROWS * OUT];
    ls_result result;
} seen;

static void get_state(const ls_trainer *t, f32 to[3][PARAMS][LARGEST])
{
    static const char *const of[] = {"", "mu.", "nu."};

    for (int m = 0; m < 3; m++)
        for (int i = 0; i < PARAMS; i++) {
            char name[64];

            snprintf(name, sizeof name, "%s%s", of[m], param[i].name);
            OK(ls_trainer_get(t, name, param[i].n, (float *)to[m][i]));
        }
}

/* Look at gradients between reduction and update. */
static int look(void *user, ls_gradients *g, const ls_result *r)
{
    (void)user, (void)r;
    for (int i = 0; i < PARAMS; i++) {
        for (int d = 0; d < DEVICES; d++)
            OK(ls_gradients_get_device(g, d, param[i].name, param[i].n,
                                       (float *)seen.device[d][i]));
        OK(ls_gradients_get(g, param[i].name, param[i].n,
                            (float *)seen.mean[i]));
    }
    return 0;
}

static ls_graph *step_graph(bool is_open)
{
    ls_graph *g;

    OK(ls_graph_new(&g));
    ls_node *in = ls_input(g, "x", LS_F32, 1, (int64_t[]){IN});
    ls_node *to = ls_input(g, "label", LS_I32, 0, NULL);
    ls_node *h = ls_gelu(ls_dense(in, HIDDEN, "hidden"));
    ls_node *n = ls_layer_norm(h, "norm");
    ls_node *y = ls_dense(n, OUT, "out");

    OK(ls_loss(g, ls_cross_entropy(y, to)));
    if (is_open) { /* fewer operators are folded, and no bit may change */
        OK(ls_output(g, h, "hidden"));
        OK(ls_output(g, n, "norm"));
    }
    OK(ls_output(g, y, "logits"));
    return g;
}

/* Zeros, which kernels may leave out, and labels that count for nothing. */
static void draw_rows(int step)
{
    uint32_t seed = 17 * (uint32_t)step + 1;

    for (int i = 0; i < ROWS * IN; i++) {
        seed = seed * 1664525 + 1013904223;
        seen.x[i] = seed >> 8 & 1 ? 0 : F((float)(int32_t)seed * 0x1p-30f);
    }
    for (int i = 0; i < ROWS; i++)
        seen.label[i] = i % 50 == 7 ? -1 : (int32_t)(seed >> (i % 20)) % OUT;
    for (int i = 0; i < ROWS; i++)
        if (seen.label[i] < -1)
            seen.label[i] = -seen.label[i] % OUT;
}

static void predict_all(ls_trainer *t, const ls_batch *b, bool is_open)
{
    OK(ls_predict(t, b, "logits", ROWS * OUT, (float *)seen.logits));
    if (!is_open)
        return;
    OK(ls_predict(t, b, "hidden", ROWS * HIDDEN, (float *)seen.hidden));
    OK(ls_predict(t, b, "norm", ROWS * HIDDEN, (float *)seen.normed));
}

static void train(bool is_open)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_pool *pool = open_pool(DEVICES, 2);
    ls_graph *g = step_graph(is_open);
    ls_gradients *grads;
    ls_trainer *t;
    ls_batch *b;

    o.optimizer = ls_adamw(0.01);
    o.clip_norm = 0.05;
    OK(ls_trainer_open(&t, pool, g, &o));
    OK(ls_batch_open(&b, t));
    OK(ls_gradients_open(&grads, t, 1));
    OK(ls_gradients_between(grads, look, NULL));
    for (int s = 0; s < STEPS; s++) {
        draw_rows(s);
        OK(ls_batch_set(b, "x", LS_F32, seen.x, ROWS));
        OK(ls_batch_set(b, "label", LS_I32, seen.label, ROWS));
        get_state(t, seen.before);
        predict_all(t, b, is_open);
        OK(ls_step(t, b, &seen.result));
    }
    get_state(t, seen.after);
    ls_gradients_close(grads);
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
}

/* ------ the same by the referee ------ */

static f32 pre[ROWS * HIDDEN], hidden[ROWS * HIDDEN], normed[ROWS * HIDDEN];
static f32 logits[ROWS * OUT], dlogits[ROWS * OUT], dnormed[ROWS * HIDDEN];
static f32 dgelu[ROWS * HIDDEN], dhidden[ROWS * HIDDEN], xh[ROWS * HIDDEN];
static f32 stat[ROWS][2], mean[PARAMS][LARGEST];
static double device_loss[DEVICES];
static long terms_of_loss;

static void expect(const char *what, const f32 *got, const f32 *want,
                   int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        ck_assert_msg(got[i] == want[i], "%s, element %lld: %08x by the "
                      "referee, %08x by the library", what, (long long)i,
                      got[i], want[i]);
}

static void row_forward(long i)
{
    f32(*p)[LARGEST] = seen.before[0];
    f32 bits;
    float loss;

    for (long j = 0; j < HIDDEN; j++) {
        f32 y = product(NULL, seen.x + i * IN, 1, p[WH] + j, HIDDEN, IN);

        pre[i * HIDDEN + j] = f_add(y, p[BH][j]);
        hidden[i * HIDDEN + j] = e_gelu(pre[i * HIDDEN + j]);
    }
    norm_stats(hidden + i * HIDDEN, HIDDEN, F(1e-6f), &stat[i][0],
               &stat[i][1]);
    for (long j = 0; j < HIDDEN; j++)
        normed[i * HIDDEN + j] = norm_y(hidden[i * HIDDEN + j], stat[i][0],
                                        stat[i][1], p[SN][j], p[BN][j]);
    for (long j = 0; j < OUT; j++)
        logits[i * OUT + j] = f_add(product(NULL, normed + i * HIDDEN, 1,
                                            p[WO] + j, OUT, HIDDEN), p[BO][j]);
    if (seen.label[i] < 0) {
        memset(dlogits + i * OUT, 0, OUT * sizeof *dlogits);
        return;
    }
    bits = cross_entropy(logits + i * OUT, OUT, seen.label[i], F(1.0f),
                         dlogits + i * OUT);
    memcpy(&loss, &bits, sizeof loss);
    device_loss[i / EACH] += (double)loss;
    terms_of_loss++;
}

static void row_backward(long i)
{
    f32(*p)[LARGEST] = seen.before[0];
    f32 room[2 * HIDDEN];

    for (long k = 0; k < HIDDEN; k++)
        dnormed[i * HIDDEN + k] = product(NULL, dlogits + i * OUT, 1,
                                          p[WO] + k * OUT, 1, OUT);
    norm_dx(hidden + i * HIDDEN, dnormed + i * HIDDEN, p[SN], HIDDEN,
            F(1e-6f), dgelu + i * HIDDEN, room);
    for (long k = 0; k < HIDDEN; k++) {
        long at = i * HIDDEN + k;

        xh[at] = norm_xh(hidden[at], stat[i][0], stat[i][1]);
        dhidden[at] = times_slope(dgelu[at], e_gelu_slope(pre[at]));
    }
}

/* What a chunk of rows from row i on adds to element `at` of parameter q. */
static f32 chunk_gradient(int q, long at, const f32 *c, long i, long n)
{
    f32 sum;

    switch (q) {
    case WH:
        return product(c, seen.x + i * IN + at / HIDDEN, IN,
                       dhidden + i * HIDDEN + at % HIDDEN, HIDDEN, n);
    case BH: return column(c, dhidden + i * HIDDEN + at, HIDDEN, n);
    case BN: return column(c, dnormed + i * HIDDEN + at, HIDDEN, n);
    case SN:
        sum = chain(dnormed + i * HIDDEN + at, HIDDEN, xh + i * HIDDEN + at,
                    HIDDEN, n);
        return c ? f_add(*c, sum) : sum;
    case WO:
        return product(c, normed + i * HIDDEN + at / OUT, HIDDEN,
                       dlogits + i * OUT + at % OUT, OUT, n);
    default: return column(c, dlogits + i * OUT + at, OUT, n);
    }
}

static f32 gradient(int q, long at, int device)
{
    f32 sum = 0;

    for (long r = 0; r < EACH; r += CHUNK)
        sum = chunk_gradient(q, at, r ? &sum : NULL, device * EACH + r,
                             EACH - r < CHUNK ? EACH - r : CHUNK);
    return sum;
}

static void expect_gradients(void)
{
    f32 factor = f_div(F(1.0f), f_int(terms_of_loss));

    for (int q = 0; q < PARAMS; q++) {
        for (int64_t at = 0; at < param[q].n; at++) {
            f32 g[DEVICES];

            for (int d = 0; d < DEVICES; d++) {
                g[d] = gradient(q, at, d);
                expect(param[q].name, &g[d], &seen.device[d][q][at], 1);
            }
            mean[q][at] = f_mul(tree(g, DEVICES), factor);
        }
        expect("a mean", mean[q], seen.mean[q], param[q].n);
    }
}

/* The norm over the flat layout: by path, each array padded to 16 with
 * zeros. */
static f32 norm_by_blocks(void)
{
    static const int order[] = {BH, WH, BN, SN, BO, WO};
    static f32 flat[2 * LARGEST];
    double sum = 0;
    int64_t n = 0;

    memset(flat, 0, sizeof flat);
    for (int k = 0; k < PARAMS; k++) {
        memcpy(flat + n, mean[order[k]],
               sizeof *flat * (size_t)param[order[k]].n);
        n = (n + param[order[k]].n + 15) / 16 * 16;
    }
    for (int64_t i = 0; i < n; i += BLOCK) {
        f32 s = row_sum(flat + i, flat + i, n - i < BLOCK ? n - i : BLOCK);
        float f;

        memcpy(&f, &s, sizeof f);
        sum += (double)f;
    }
    return f_from(d_sqrt(D(sum)));
}

static void expect_update(f32 norm)
{
    const f32 most = F(0.05f);

    for (int q = 0; q < PARAMS; q++)
        for (int64_t at = 0; at < param[q].n; at++) {
            update u = {mean[q][at], F(0.01f), seen.before[0][q][at],
                        seen.before[1][q][at], seen.before[2][q][at], 0,
                        correction(F(0.9f), STEPS),
                        correction(F(0.999f), STEPS), D(0.9), D(0.999),
                        D(1e-8), 0, 0, option(D(1e-4))};

            if (!f_lt(norm, most))
                u.g = f_mul(f_mul(u.g, f_div(F(1.0f), norm)), most);
            adamw_update(&u);
            expect("a parameter", &u.p, &seen.after[0][q][at], 1);
            expect("mu", &u.m0, &seen.after[1][q][at], 1);
            expect("nu", &u.m1, &seen.after[2][q][at], 1);
        }
}

START_TEST(a_step)
{
    f32 norm, want, loss;

    train(_i);
    memset(device_loss, 0, sizeof device_loss);
    terms_of_loss = 0;
    for (long i = 0; i < ROWS; i++)
        row_forward(i);
    for (long i = 0; i < ROWS; i++)
        row_backward(i);
    if (_i) {
        expect("gelu", hidden, seen.hidden, ROWS * HIDDEN);
        expect("layer norm", normed, seen.normed, ROWS * HIDDEN);
    }
    expect("logits", logits, seen.logits, ROWS * OUT);
    expect_gradients();
    norm = norm_by_blocks();
    want = F(seen.result.grad_norm);
    expect("the norm", &norm, &want, 1);
    loss = F((float)((device_loss[0] + device_loss[1]) /
                     (double)terms_of_loss));
    want = F(seen.result.loss);
    expect("the loss", &loss, &want, 1);
    expect_update(norm);
}
END_TEST

/* ------ terms ------ */

enum { DRAWN = UNDER_SANITIZER ? 1 << 11 : 1 << 14 };

/* Rules by the referee's names. */
static const struct {
    int kind;
    const char *name;
    float p, q;
} kinds[] = {
    {LS__GELU, "gelu", 0, 0}, {LS__RELU, "relu", 0, 0},
    {LS__TANH, "tanh", 0, 0}, {LS__SIGMOID, "sigmoid", 0, 0},
    {LS__ADD, "add", 0, 0}, {LS__SUB, "sub", 0, 0}, {LS__MUL, "mul", 0, 0},
    {LS__DIV, "div", 0, 0}, {LS__MIN, "min", 0, 0}, {LS__MAX, "max", 0, 0},
    {LS__SCALE, "scale", 0.75f, -0.3f}, {LS__SQUARE, "square", 0, 0},
    {LS__SQRT, "sqrt", 0, 0}, {LS__EXP, "exp", 0, 0}, {LS__LOG, "log", 0, 0},
    {LS__ABS, "abs", 0, 0}, {LS__CLAMP, "clamp", -0.5f, 0.7f},
    {LS__LEAKY_RELU, "leaky_relu", 0.1f, 0}, {LS__ELU, "elu", 0.8f, 0},
    {LS__SOFTPLUS, "softplus", 0, 0}, {LS__SILU, "silu", 0, 0},
    {LS__POW, "pow", 3, 0}, {LS__POW, "pow", 2.5f, 0},
    {LS__POW, "pow", -2, 0}, {LS__POW, "pow", 0, 0},
    {LS__BINARY_ENTROPY, "binary_entropy", 0, 0},
    {LS__DIVERGENCE, "divergence", 0, 0}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Numbers of all sizes but the least, whose products may be denormal, where the
 * levels of x86-64 and arm64 differ; some are 0, some equal to each other. */
static void draw(int key, f32 *out)
{
    ls_random_bits(ls_key_new(key), 0, DRAWN, out);
    for (int i = 0; i < DRAWN; i++) {
        uint32_t exponent = 127 - 20 + (out[i] >> 23) % 27;

        out[i] = i % 97 == 5 ? 0
                             : (out[i] & 0x807fffffu) | exponent << 23;
    }
}

static f32 same_nan(float x) { return x != x ? NAN32 : F(x); }

static void expect_term(const ls__kernel_table *k, int i)
{
    static f32 a[DRAWN], b[DRAWN], d[DRAWN];
    static float y[DRAWN], da[DRAWN], db[DRAWN];
    ls__term t = {.kind = kinds[i].kind, .by = {kinds[i].p, kinds[i].q}};
    ls__term_run r = {.n = DRAWN, .a = (float *)a, .b = (float *)b, .y = y,
                      .dy = (float *)d, .da = da, .db = db};
    const struct term *of = &terms[0];

    while (strcmp(of->name, kinds[i].name))
        of++;
    draw(1, a);
    draw(2, b);
    draw(3, d);
    for (int j = 0; j < DRAWN; j += 31)
        b[j] = a[j];
    k->term_value(&t, &r);
    k->term_grad(&t, &r);
    for (int j = 0; j < DRAWN; j++) {
        given g = {a[j], b[j], same_nan(y[j]), d[j], F(t.by[0]), F(t.by[1])};
        f32 got[] = {one_nan(of->y(g)), one_nan(of->a(g)),
                     of->b ? one_nan(of->b(g)) : 0};
        f32 want[] = {same_nan(y[j]), same_nan(da[j]),
                      of->b ? same_nan(db[j]) : 0};

        for (int v = 0; v < 3; v++)
            ck_assert_msg(got[v] == want[v], "%s, %s of %08x and %08x: %08x by "
                          "the referee, %08x on %s", of->name,
                          v ? v > 1 ? "by b" : "by a" : "the value", a[j],
                          b[j], got[v], want[v], k->name);
    }
}

START_TEST(all_terms)
{
    const ls__kernel_table *k = level(_i);
    ls__fpmode mode;

    if (!k)
        return;
    mode = ls__fpmode_set();
    for (int i = 0; i < KINDS; i++)
        expect_term(k, i);
    ls__fpmode_restore(mode);
}
END_TEST

/* ------ updates ------ */

START_TEST(all_updates)
{
    static f32 g[DRAWN], p[DRAWN], m[3][DRAWN], was[4][DRAWN];
    static const ls_optimizer_kind of[] = {
        LS_SGD, LS_MOMENTUM, LS_NESTEROV, LS_ADAM, LS_ADAMW, LS_RMSPROP,
        LS_ADAGRAD, LS_LION, LS_AMSGRAD};
    const ls__kernel_table *k = level(_i);
    ls__fpmode mode;

    if (!k)
        return;
    mode = ls__fpmode_set();
    for (int i = 0; i < UPDATES; i++) {
        ls_optimizer o = ls_optimizer_defaults(of[i], 0.02);
        ls__rule r = {&o, -0.02f, 0.3f, 1.7f, 1};

        draw(1, g);
        draw(2, p);
        draw(3, m[0]);
        draw(4, m[1]);
        draw(5, m[2]);
        for (int j = 0; j < DRAWN; j++) {
            m[1][j] &= 0x7fffffffu;
            m[2][j] &= 0x7fffffffu;
            if (of[i] == LS_RMSPROP || of[i] == LS_ADAGRAD)
                m[0][j] &= 0x7fffffffu;
        }
        memcpy(was[0], p, sizeof p);
        memcpy(was[1], m[0], sizeof p);
        memcpy(was[2], m[1], sizeof p);
        memcpy(was[3], m[2], sizeof p);
        k->update[of[i]](&r, DRAWN, (float *)g, (float *)p,
                         (float *const[]){(float *)m[0], (float *)m[1],
                                          (float *)m[2]});
        for (int j = 0; j < DRAWN; j++) {
            update u = {g[j], F(0.02f), was[0][j], was[1][j], was[2][j],
                        was[3][j], F(0.3f), F(1.7f), D(o.b1), D(o.b2),
                        D(o.eps), D(o.decay), D(o.momentum),
                        option(D(o.weight_decay))};

            updates[i].make(&u);
            expect(updates[i].name, &u.p, &p[j], 1);
            expect(updates[i].name, &u.m0, &m[0][j], 1);
            expect(updates[i].name, &u.m1, &m[1][j], 1);
            expect(updates[i].name, &u.m2, &m[2][j], 1);
        }
    }
    ls__fpmode_restore(mode);
}
END_TEST

/* ------ */

START_TEST(roots)
{
    uint64_t bits = 1;

    for (int i = 0; i < (UNDER_SANITIZER ? 100000 : 1000000); i++) {
        double x;

        bits = bits * 6364136223846793005u + 1442695040888963407u;
        x = (double)(bits >> 11) * 0x1p-40;
        ck_assert(d_sqrt(D(x)) == D(sqrt(x)));
    }
}
END_TEST

static Suite *referee_suite(void)
{
    Suite *s = suite_create("referee");
    TCase *t = tcase_create("all");

    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, a_step, 0, 2);
    tcase_add_loop_test(t, all_terms, 0, levels());
    tcase_add_loop_test(t, all_updates, 0, levels());
    tcase_add_test(t, roots);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    (void)make, (void)print_rules, (void)read_evidence; /* its main's own */
    return run_suite(referee_suite());
}
