/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that the referee, which shares no line with the library, makes the
 * library's numbers: every elementwise term with its gradients and every
 * optimizer on random operands, at every instruction level. */
#include "base/fpmode.h"
#include "kernel/kernel.h"
#include "fixture.h"
#include "support.h"
#include "referee/operators.h"
#include "referee/step.h"

#include <math.h>

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
    const term *by = term_of(kinds[i].name);

    draw(1, a);
    draw(2, b);
    draw(3, d);
    for (int j = 0; j < DRAWN; j += 31)
        b[j] = a[j];
    k->term_value(&t, &r);
    k->term_grad(&t, &r);
    for (int j = 0; j < DRAWN; j++) {
        given g = {a[j], b[j], same_nan(y[j]), d[j], F(t.by[0]), F(t.by[1])};
        f32 got[] = {one_nan(by->y(g)), one_nan(by->a(g)),
                     by->b ? one_nan(by->b(g)) : 0};
        f32 want[] = {same_nan(y[j]), same_nan(da[j]),
                      by->b ? same_nan(db[j]) : 0};

        for (int v = 0; v < 3; v++)
            ck_assert_msg(got[v] == want[v], "%s, %s of %08x and %08x: %08x by "
                          "the referee, %08x on %s", by->name,
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

static void same(const char *what, f32 got, f32 want)
{
    ck_assert_msg(got == want, "%s: %08x by the referee, %08x", what, got,
                  want);
}

START_TEST(all_updates)
{
    static f32 g[DRAWN], p[DRAWN], m[3][DRAWN], was[4][DRAWN];
    static const ls_optimizer_kind each[] = {
        LS_SGD, LS_MOMENTUM, LS_NESTEROV, LS_ADAM, LS_ADAMW, LS_RMSPROP,
        LS_ADAGRAD, LS_LION, LS_AMSGRAD};
    const ls__kernel_table *k = level(_i);
    ls__fpmode mode;

    if (!k)
        return;
    mode = ls__fpmode_set();
    for (int i = 0; update_names[i]; i++) {
        ls_optimizer o = ls_optimizer_defaults(each[i], 0.02);
        ls__rule r = {&o, -0.02f, 0.3f, 1.7f, 1};

        draw(1, g);
        draw(2, p);
        draw(3, m[0]);
        draw(4, m[1]);
        draw(5, m[2]);
        for (int j = 0; j < DRAWN; j++) {
            m[1][j] &= 0x7fffffffu;
            m[2][j] &= 0x7fffffffu;
            if (each[i] == LS_RMSPROP || each[i] == LS_ADAGRAD)
                m[0][j] &= 0x7fffffffu;
        }
        memcpy(was[0], p, sizeof p);
        memcpy(was[1], m[0], sizeof p);
        memcpy(was[2], m[1], sizeof p);
        memcpy(was[3], m[2], sizeof p);
        k->update[each[i]](&r, DRAWN, (float *)g, (float *)p,
                         (float *const[]){(float *)m[0], (float *)m[1],
                                          (float *)m[2]});
        for (int j = 0; j < DRAWN; j++) {
            update u = {
                g[j], F(0.02f), was[0][j], {was[1][j], was[2][j], was[3][j]},
                F(0.3f), F(1.7f), D(o.b1), D(o.b2), D(o.eps), D(o.decay),
                D(o.momentum), setting(D(o.weight_decay))};
            f32 got = update_by(update_names[i], &u);

            same(update_names[i], got, p[j]);
            for (int n = 0; n < 3; n++)
                same(update_names[i], u.m[n], m[n][j]);
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
    tcase_add_loop_test(t, all_terms, 0, levels());
    tcase_add_loop_test(t, all_updates, 0, levels());
    tcase_add_test(t, roots);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_suite(referee_suite());
}
