/* SPDX-License-Identifier: BSD-3-Clause */
/* Every operator of the table, on shapes with ones, primes and 2^n +- 1.
 *
 * An operator runs alone, through an ls__run, and is compared
 *     to reference.h, in double: values and gradients;
 *     that reference to central differences of itself, 200 times and more;
 *     to itself, byte for byte: with and without addends, with dx written over
 *     what its struct allows, rows cut in two where it says that they may be,
 *     on every instruction level and on BLIS.
 * Arrays end where memory ends and begin as NaN; what the operator says that it
 * does not read is NaN too.  An array that is nearly all zeros fails, except
 * where mathematics wants it so (vanishes).  Each operator gets 200 shapes and
 * more (op_samples.h). */
#include "base/fpmode.h"
#include "op_runs.h"
#include "plan/traffic.h"

#include <stdio.h>

/* ------ The checks of one problem ------ */

static void check_modes(const problem *p, const machine *m, const outputs *base)
{
    const ls__op *op = p->node->op;
    outputs addend = *base, other;

    if (!op->is_loss) {
        addend = run(p, m, (mode){.addend = true});
        check_addend(p, base, &addend);
    }
    if (op->plan.over & LS__OVER_ADDEND) {
        other = run(p, m, (mode){.addend = true, .place = OVER_ADDEND});
        check_equal(p, &addend, &other);
    }
    if (op->plan.over & LS__OVER_DY) {
        other = run(p, m, (mode){.addend = true, .place = OVER_DY});
        check_equal(p, &addend, &other);
    }
    if (op->plan.over & LS__OVER_X) {
        other = run(p, m, (mode){.place = OVER_X});
        check_equal(p, base, &other);
    }
    other = run(p, m, (mode){.add = true});
    check_added(p, &other);
    if (op->run.cuts) {
        other = run(p, m, (mode){.cut = true});
        check_equal(p, base, &other);
    }
    if (p->node->params || op->inputs > 1) { /* others do nothing else */
        other = run(p, m, (mode){.no_dx = true});
        check_equal(p, base, &other);
    }
}

static void check_machine(const problem *p, const machine *m,
                          const outputs *base)
{
    outputs o = run(p, m, (mode){0});

    check_values(p, &o);
    check_equal(p, base, &o);
}

static void check_machines(const problem *p, bool products, const outputs *base)
{
    machine blis = {ls__kernels(), ls__backend_blis};

    for (int i = 0; i < levels(); i++)
        if (level(i)) {
            machine m = machine_of(level(i));

            check_machine(p, &m, base);
        }
    if (products && ls__blis_check() == 0)
        check_machine(p, &blis, base);
}

/* Fused kinds that are no functions of their own have nothing to differentiate,
 * nor have indices, and rounding is all corners. */
static bool has_slope(const problem *p)
{
    const ls__op *op = p->node->op;

    return !p->through_slope && !is_pre(p) &&
           op != &ls__op_round_bf16 && op != &ls__op_one_hot;
}

/* Was the gradient held against differences, and the value not nearly all
 * zeros? */
static bool check_sample(const row *o, const sample *s, int kind)
{
    bool told = false;
    problem p = make_problem(o, s, kind);
    machine m = machine_of(ls__kernels());
    outputs base;

    make_right(&p);
    base = run(&p, &m, (mode){0});
    check_values(&p, &base);
    check_modes(&p, &m, &base);
    check_machines(&p, o->products, &base);
    if (has_slope(&p)) /* last: it moves the reference's value */
        told = check_reference(&p) &&
               (o->op->is_loss || !mostly_zero(p.ny, base.y));
    free_problem(&p);
    return told;
}

/* An operator's values and gradients are right on every shape it takes, and the
 * same bytes wherever and however it runs. */
LOOP_TEST(test_operator, 0, ROWS)
{
    const row *o = &rows[_i];
    /* prime to the counts of kinds, which take turns */
    int every = emulated("six of seven shapes") ? 7 : UNDER_SANITIZER ? 5 : 1;
    int told = 0;

    ls__fpmode_set();
    for (int i = 0; i < SAMPLES; i += every)
        for (int kind = 0; fits(o, &samples[i]) && kind < o->kinds; kind++) {
            const sample *s = &samples[i];

            if (!has_turn(i, kind, o->kinds))
                continue;
            if (getenv("LS_TEST_TALK"))
                fprintf(stderr,
                        "%s kind %d: %lld rows of rank %d (%lld,%lld,"
                        "%lld)\n",
                        o->op->name, kind, (long long)s->rows, s->rank,
                        (long long)s->dim[0], (long long)s->dim[1],
                        (long long)s->dim[2]);
            told += check_sample(o, s, kind);
        }
    if (every == 1 && o->op != &ls__op_round_bf16 &&
        o->op != &ls__op_one_hot && !is_choice(o->op))
        ck_assert_msg(told >= 200, "%s: the gradients of %d shapes were held "
                      "against differences, not of 200", o->op->name, told);
}

/* Every operator of the library has its row here and its reference, no row is
 * of an operator that is gone, and the shapes are many. */
TEST(test_table)
{
    int found = 0;

    for (int i = 0; ls__ops[i]; i++, found++) {
        int o = 0, shapes = 0;

        while (o < ROWS && rows[o].op != ls__ops[i])
            o++;
        ck_assert_msg(o < ROWS && reference_of(ls__ops[i]),
                      "operator %s is not tested", ls__ops[i]->name);
        for (int s = 0; s < SAMPLES; s++)
            shapes += fits(&rows[o], &samples[s]);
        ck_assert_int_ge(shapes, 200);
    }
    ck_assert_int_eq(found, ROWS);
}

/* Everything that an operator may be asked for: all gradients, each added to
 * another. */
static ls__instr whole_instr(const problem *p)
{
    const ls__op *op = p->node->op;
    ls__run r = {.node = p->node, .rows = p->rows, .param = {p->param[0]},
                 .backend = &ls__kernels()->native[LS_F32_LAYERS]};
    alone a = alone_of(p->node);
    ls__instr in;

    if (p->made)
        memcpy(a.in.made, p->made, op->plan.made);
    alone_start(&a, &r);
    in = a.in;
    in.y = 1;
    in.stash = in.kept ? 2 : -1;
    in.dy = op->is_loss ? -1 : 3;

    for (int k = 0; k < LS__MAX_INPUTS; k++) {
        bool wanted = k < p->inputs && p->node->in[k]->dtype == LS_F32;

        in.x[k] = (ls__location){.input = -1, .offset = 4 + k};
        in.dx[k] = wanted ? 20 + k : -1;
        in.addend[k] = wanted ? 40 + k : -1;
    }
    return in;
}

/* Bytes that any operator must read and write at the least: of its value, and
 * of the gradients and what they are added to; and at the most: each array
 * there is forward once, and backward four times. */
static void check_traffic(const problem *p)
{
    const ls_node *n = p->node;
    ls__param params[LS__MAX_PARAMS] = {0};
    ls__plan plan = {.param = params};
    ls__instr in = whole_instr(p);
    double least = n->op->is_loss ? 0 : 4.0 * (double)n->size;
    double back = 0, most = least, of_params = 0;
    ls__traffic t;

    for (int k = 0; k < n->params; k++) {
        params[n->param[k]].size = p->np[k];
        of_params += 4.0 * (double)p->np[k];
    }
    for (int k = 0; k < p->inputs; k++) {
        most += 4.0 * (double)n->in[k]->size;
        back += in.dx[k] < 0 ? 0 : 8.0 * (double)n->in[k]->size;
    }
    most += 4.0 * (double)in.kept;
    if (n->op->run.picks)
        most += 4.0 * (double)n->op->run.picks(n);
    t = ls__instr_traffic(&plan, &in);
    ck_assert_msg(t.forward >= least + !!p->inputs && t.forward <= most,
                  "%s: %g bytes forward, not above %g, to %g", n->op->name,
                  t.forward, least, most);
    ck_assert_msg(t.backward >= back && t.backward <= 4 * most,
                  "%s: %g bytes backward, not %g to %g", n->op->name,
                  t.backward, back, 4 * most);
    ck_assert(t.chunk_forward <= of_params);
    ck_assert(t.chunk_forward + t.chunk_backward <= 3 * of_params);
    ck_assert_msg(!n->params || n->op->run.picks || t.chunk_backward > 0,
                  "%s: no bytes of its parameters", n->op->name);
}

/* No operator is without its bytes. */
LOOP_TEST(test_traffic, 0, ROWS)
{
    const row *o = &rows[_i];

    for (int i = 0; i < CHOSEN; i++)
        for (int kind = 0; fits(o, &samples[i]) && kind < o->kinds; kind++) {
            problem p = make_problem(o, &samples[i], kind);

            check_traffic(&p);
            free_problem(&p);
        }
}

/* A row without elements is refused where it would come in. */
TEST(test_empty)
{
    static const int64_t shapes[][3] = {{0, 3, 5}, {3, 0, 5}, {3, 5, 0}};

    for (int i = 0; i < 9; i++) {
        ls_graph *g;

        ck_assert_int_eq(ls_graph_new(&g), 0);
        if (i % 3 < 1 + i / 3) { /* the first 1 + i / 3 axes hold the zero */
            ck_assert_ptr_null(ls_input(g, "x", i % 2 ? LS_F32 : LS_I32,
                                        1 + i / 3, shapes[i % 3]));
            ck_assert_ptr_nonnull(strstr(ls_errmsg(), "no shape of a row"));
        }
        ls_graph_free(g);
    }
}

/* ------ JAX's numbers ------ */

/* Values of one sample: the value, and the gradients of two inputs (NULL:
 * none). */
typedef struct golden {
    const char *op;
    int kind;
    sample sample;
    const float *y, *dx[2];
} golden;

#include "golden/ops.h"

enum { GOLDENS = sizeof goldens / sizeof *goldens };

static const row *row_named(const char *name)
{
    for (int i = 0; i < ROWS; i++)
        if (!strcmp(rows[i].op->name, name))
            return &rows[i];
    ck_abort_msg("no operator %s", name);
}

/* The place of a shape among the samples says which axis it tries. */
static const sample *sample_like(const sample *s)
{
    for (int i = 0; i < SAMPLES; i++)
        if (samples[i].rows == s->rows && samples[i].rank == s->rank &&
            !memcmp(samples[i].dim, s->dim, sizeof s->dim))
            return &samples[i];
    return s;
}

static void check_golden(const char *op, const char *what, int64_t n,
                         const float *got, const float *right)
{
    double *want = doubles(n, right, LS_F32);
    double error = max_relative(n, got, want);

    ck_assert_msg(error <= 1e-6, "%s: %s differs by %g", op, what, error);
    free(want);
}

/* Values and gradients are JAX's, to its last digits. */
LOOP_TEST(test_golden, 0, GOLDENS)
{
    const golden *w = &goldens[_i];
    problem p = make_problem(row_named(w->op), sample_like(&w->sample),
                             w->kind);
    machine m = machine_of(ls__kernels());
    outputs o;

    ls__fpmode_set();
    o = run(&p, &m, (mode){0});
    check_golden(w->op, "value", p.ny, o.y, w->y);
    for (int k = 0; k < 2; k++)
        if (w->dx[k])
            check_golden(w->op, "gradient", p.nx[k], o.dx[k], w->dx[k]);
    free_problem(&p);
}

/* Rows of softmax longer than the 4096 entries that are summed at once, which
 * no attention here has: against double, the same bytes on every level, and
 * nothing written beyond each row's entries. */
LOOP_TEST(test_long_softmax, 0, 5)
{
    static const int64_t sizes[] = {4095, 4096, 4097, 8193, 10000};
    int64_t n = sizes[_i], stride = n + 3;
    float *x = uniform(1, 2 * stride), *dp = uniform(2, 2 * stride);
    double *want = doubles(2 * stride, x, LS_F32);
    double *dwant = doubles(2 * stride, dp, LS_F32);
    const float *first = NULL, *dfirst = NULL;

    ls__fpmode_set();
    for (int64_t r = 0; r < 2 * stride; r += stride) {
        double sum = log_sum(n, want + r), mean;

        for (int64_t j = 0; j < n; j++)
            want[r + j] = exp(want[r + j] - sum);
        mean = dot(n, want + r, dwant + r);
        for (int64_t j = 0; j < n; j++)
            dwant[r + j] = want[r + j] * (dwant[r + j] - mean);
    }
    for (int i = 0; i < levels(); i++) {
        float *p = copy_of(2 * stride, x), *ds = copy_of(2 * stride, dp);

        if (!level(i))
            continue;
        level(i)->softmax(2, n, stride, p);
        level(i)->softmax_grad(2, n, stride, p, ds);
        for (int64_t r = 0; r < 2 * stride; r += stride) {
            ck_assert(max_relative(n, p + r, want + r) <= 1e-5);
            ck_assert(max_relative(n, ds + r, dwant + r) <= 1e-5);
            ck_assert_mem_eq(p + r + n, x + r + n, 3 * sizeof *x);
            ck_assert_mem_eq(ds + r + n, dp + r + n, 3 * sizeof *x);
        }
        if (first) {
            check_same("softmax", 2 * stride, p, first);
            check_same("softmax gradient", 2 * stride, ds, dfirst);
        }
        first = p;
        dfirst = ds;
    }
    free(want);
    free(dwant);
    fences_free();
}

int main(void)
{
    make_samples();
    return RUN_TESTS();
}
