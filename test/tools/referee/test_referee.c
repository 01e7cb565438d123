/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that the referee, which shares no line with the library, makes the
 * library's numbers: every elementwise term with its gradients and every
 * optimizer on random operands, at every instruction level. */
#include "base/fpmode.h"
#include "kernel/kernel.h"
#include "op/op_table.h"
#include "fixture.h"
#include "support.h"
#include "referee/operators.h"
#include "referee/step.h"
#include "referee/verdict.h"

#include <math.h>

/* ------ terms ------ */

enum { DRAWN = UNDER_SANITIZER ? 1 << 11 : 1 << 14 };

/* Constants of those that have some; of others they are zeros. */
static const ls__term constants[] = {
    {.kind = LS__SCALE, .by = {0.75f, -0.3f}},
    {.kind = LS__CLAMP, .by = {-0.5f, 0.7f}},
    {.kind = LS__LEAKY_RELU, .by = {0.1f}}, {.kind = LS__ELU, .by = {0.8f}},
    {.kind = LS__POW, .by = {3}}, {.kind = LS__POW, .by = {2.5f}},
    {.kind = LS__POW, .by = {-2}}};
enum { CONSTANTS = sizeof constants / sizeof *constants };

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

/* Operands are at the ends, too, two of them at each of both; of one number
 * also of larger sizes. */
static void draw_ends(f32 *a, f32 *b, int operands)
{
    static const float ends[] = {
        0, -0.0f, INFINITY, -INFINITY, NAN, 0x1p16f, 0x1p-16f,
        -0x1.fffffep15f, 14, -14, 20, 21, 87.5f, -87.5f, 3e38f, -3e38f,
        0x1p-140f, -0x1p-140f, 0x1p-127f};
    enum { ENDS = sizeof ends / sizeof *ends };

    for (int i = 0; operands == 1 && i < DRAWN; i += 2)
        a[i] += (uint32_t)(i % 120) << 23;
    for (int i = 0; i < ENDS * ENDS; i++) {
        a[i] = F(ends[i % ENDS]);
        b[i] = F(ends[i / ENDS]);
    }
}

static void expect_term(const ls__kernel_table *k, const term *by, ls__term t)
{
    static f32 a[DRAWN], b[DRAWN], d[DRAWN];
    static float y[DRAWN], da[DRAWN], db[DRAWN];
    ls__term_run r = {.n = DRAWN, .a = (float *)a, .b = (float *)b, .y = y,
                      .dy = (float *)d, .da = da, .db = db};

    draw(1, a);
    draw(2, b);
    draw(3, d);
    for (int j = 0; j < DRAWN; j += 31)
        b[j] = a[j];
    draw_ends(a, b, ls__term_inputs(t.kind));
    k->term_value(&t, &r);
    k->term_grad(&t, &r);
    for (int j = 0; j < DRAWN; j++) {
        given g = {a[j], b[j], same_nan(y[j]), d[j], F(t.by[0]), F(t.by[1])};
        f32 got[] = {f_recorded(by->y(g)), f_recorded(by->a(g)),
                     by->b ? f_recorded(by->b(g)) : 0};
        f32 want[] = {f_recorded(F(y[j])), f_recorded(F(da[j])),
                      by->b ? f_recorded(F(db[j])) : 0};

        for (int v = 0; v < 3; v++)
            ck_assert_msg(got[v] == want[v], "%s, %s of %08x and %08x: %08x by "
                          "the referee, %08x on %s", by->name,
                          v ? v > 1 ? "by b" : "by a" : "the value", a[j],
                          b[j], got[v], want[v], k->name);
    }
}

LOOP_TEST(all_terms, 0, levels())
{
    const ls__kernel_table *k = level(_i);
    ls__fpmode mode;

    if (!k)
        return;
    mode = ls__fpmode_set();
    for (int i = 0; ls__ops[i]; i++) {
        const term *by = term_of(ls__ops[i]->name);
        int kind = ls__ops[i]->term, known = kind && by;

        for (int c = 0; known && c < CONSTANTS; c++)
            if (constants[c].kind == kind)
                expect_term(k, by, constants[c]);
        if (known)
            expect_term(k, by, (ls__term){.kind = kind});
    }
    ls__fpmode_restore(mode);
}

/* ------ updates ------ */

static void same(const char *what, f32 got, f32 want)
{
    ck_assert_msg(got == want, "%s: %08x by the referee, %08x", what, got,
                  want);
}

LOOP_TEST(all_updates, 0, levels())
{
    static f32 g[DRAWN], p[DRAWN], m[3][DRAWN], was[4][DRAWN];
    static const ls_optimizer_kind each[] = {
        LS_SGD, LS_MOMENTUM, LS_NESTEROV, LS_ADAM, LS_ADAMW, LS_RMSPROP,
        LS_ADAGRAD, LS_LION, LS_AMSGRAD, LS_NADAM};
    const ls__kernel_table *k = level(_i);
    ls__fpmode mode;

    if (!k)
        return;
    mode = ls__fpmode_set();
    for (int i = 0; update_name(i); i++) {
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
            f32 got = update_by(update_name(i), &u);

            same(update_name(i), got, p[j]);
            for (int n = 0; n < 3; n++)
                same(update_name(i), u.m[n], m[n][j]);
        }
    }
    ls__fpmode_restore(mode);
}

/* ------ */

TEST(roots)
{
    static const double ends[] = {0, -0.0, HUGE_VAL, -HUGE_VAL, (double)NAN,
                                  -1};
    uint64_t bits = 1;

    for (int i = 0; i < (UNDER_SANITIZER ? 100000 : 1000000); i++) {
        double x = i < 6 ? ends[i] : (double)(bits >> 11) * 0x1p-40;

        bits = bits * 6364136223846793005u + 1442695040888963407u;
        ck_assert(d_sqrt(D(x)) == (sqrt(x) >= 0 ? D(sqrt(x)) : NAN64));
    }
}

MAIN()
