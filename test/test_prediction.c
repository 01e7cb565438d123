/* SPDX-License-Identifier: BSD-3-Clause */
/* Predictions of lockstep-scale: what a description comes to, what so many
 * workers stand on there, and that the terms of a step follow from given
 * measurements and add up. */
#include "calls.h"
#include "../tools/opt/opt.h"
#include "../tools/scale/prediction.h"

const char opt_program_name[] = "test";

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ------ Machines ------ */

/* Proves what is counted of described machines, of all cores and of the first
 * few. */
START_TEST(machines)
{
    static const struct {
        const char *text;
        int cores, workers;
        used_parts all, first;
    } of[] = {
        {"core:4", 4, 2, {1, 1, 1}, {1, 1, 1}},
        {"pack:2 numa:4 core:24", 192, 25, {1, 8, 2}, {1, 2, 1}},
        {"pack:2 core:96 pu:2", 192, 97, {1, 1, 2}, {1, 1, 2}},
        {"pack:2 numa:1 l3:12(size=32MB) core:8", 192, 17, {24, 2, 2},
         {3, 1, 1}},
        {"pack:2 numa:2 l3:1 core:28 pu:2", 112, 57, {4, 4, 2}, {3, 3, 2}},
    };

    for (size_t i = 0; i < COUNT(of); i++) {
        described d;
        used_parts all, first;

        ck_assert_int_eq(described_open(&d, of[i].text, NULL), OPT_GO);
        all = described_spread(&d, d.cores);
        first = described_spread(&d, of[i].workers);
        ck_assert_int_eq(d.cores, of[i].cores);
        ck_assert_int_eq(all.caches, of[i].all.caches);
        ck_assert_int_eq(all.nodes, of[i].all.nodes);
        ck_assert_int_eq(all.packages, of[i].all.packages);
        ck_assert_int_eq(first.caches, of[i].first.caches);
        ck_assert_int_eq(first.nodes, of[i].first.nodes);
        ck_assert_int_eq(first.packages, of[i].first.packages);
        described_close(&d);
    }
}
END_TEST

/* Proves that what is no machine, or too large a one, is refused by a
 * sentence. */
START_TEST(hostile)
{
    static const struct {
        const char *text, *says;
        int status;
    } of[] = {
        {"pack:2 numa:4 core:100000", "more than 4096 PUs", OPT_WRONG},
        {"pack:99999999999999999999 core:2", "more than 4096 PUs", OPT_WRONG},
        {"many", "not a hwloc synthetic description", OPT_WRONG},
        {"", "not a hwloc synthetic description", OPT_WRONG},
        {"core:-1", "not a hwloc synthetic description", OPT_WRONG},
        {"core:2 (", "not a hwloc synthetic description", OPT_WRONG},
        {"/none/m.xml", "No such file", OPT_FAILED},
    };

    for (size_t i = 0; i < COUNT(of); i++) {
        described d;

        ck_assert_int_eq(described_open(&d, of[i].text, NULL), of[i].status);
        ck_assert_msg(strstr(opt_said(), of[i].says), "%s", opt_said());
        described_close(&d);
    }
}
END_TEST

START_TEST(assumptions)
{
    static const char *const bad[] = {"", "core", "core=", "core=0", "core=-1",
                                      "core=1x", "core=1e7", "clock=3",
                                      "core=1,", "core=nan", "core=inf",
                                      "core=1,core=1"};
    assumed a;

    for (size_t i = 0; i < COUNT(bad); i++)
        ck_assert_int_eq(assumed_read(&a, bad[i]), OPT_WRONG);
    ck_assert_int_eq(assumed_read(&a, NULL), OPT_GO);
    ck_assert(a.core == 0 && a.node == 0 && a.link == 0);
    ck_assert_int_eq(assumed_read(&a, "node=115,core=118.5"), OPT_GO);
    ck_assert_double_eq(a.core, 118.5e9);
    ck_assert_double_eq(a.node, 115e9);
    ck_assert_double_eq(a.link, 0);
}
END_TEST

/* ------ Predictions ------ */

typedef struct made {
    scaling s;
    scaling_point point[2];
    findings r;
} made;

/* 8 devices on 1 worker: 8 s of gradients, .8 of reduction, .16 of update, .04
 * of waiting; a core computes 100 and copies 10 GB, two of them 15. */
static void make(made *m)
{
    *m = (made){.s = {.cut = 1, .info = {.devices = 8, .work = {
                    .reduce_bytes = 9e9, .update_bytes = 1e9,
                    .row_bytes = 1e6, .chunk_bytes = 1e9, .chunk_rows = 2,
                    .shards = 8}}, .points = 2, .point = m->point},
                .r = {.scaling = &m->s, .points = 2, .point = m->point,
                      .unit = {"ms", 1e3}, .model = "made"}};
    m->point[0] = (scaling_point){
        .workers = 1, .ranks = 1, .verified = true, .rows = 32, .seconds = 9,
        .max = {8, .8, .16, .04}, .flops_roof = 100e9, .copy_roof = 10e9};
    m->point[1] = m->point[0];
    m->point[1].workers = 2;
    m->point[1].seconds = 4.6;
    m->point[1].copy_roof = 15e9;
    m->r.info = m->s.info;
}

static void open_machine(prediction *p, const char *text)
{
    *p = (prediction){0};
    ck_assert_int_eq(described_open(&p->here, "l3:1(size=16MB) core:2", NULL),
                     OPT_GO);
    ck_assert_int_eq(described_open(&p->on, text, NULL), OPT_GO);
}

static double sum(const scaling_guess *g)
{
    return g->compute + g->aid + g->memory + g->reduce + g->update +
           g->barriers + g->serial;
}

#define NEAR(a, b) ck_assert_double_eq_tol(a, b, 1e-9 * (b) + 1e-15)

/* Proves each term: devices are dealt whole, memory is a node's, what lies in
 * another package goes over the link, each barrier costs its lines, of which
 * there is one more where nodes add their own gradients first, and what is
 * serial stays; and that the model's own machine is checked. */
START_TEST(terms)
{
    const assumed a = {.core = 200e9, .node = 20e9, .link = 1e9};
    prediction p;
    made m;

    make(&m);
    open_machine(&p, "pack:2 numa:1 l3:1(size=1MB) core:4");
    prediction_make(&p, &m.r, &a, 1e-6, 8);
    ck_assert_int_eq(p.rows, 4); /* 1 2 4 8 */
    for (int i = 0; i < 4; i++) {
        const scaling_guess *g = &p.row[i].guess;
        int w = p.row[i].workers;

        NEAR(sum(g), g->seconds);
        NEAR(g->compute, 4. / w); /* cores twice as fast */
        NEAR(g->serial, .04);
        NEAR(p.row[i].rows, 32 / g->seconds);
        NEAR(p.row[i].speedup, p.row[0].guess.seconds / g->seconds);
    }
    /* 32 MB and 16 chunks of 1 GB, at 10, 20, 20 and 40 GB/s */
    NEAR(p.row[0].guess.memory, 0);
    NEAR(p.row[2].guess.reduce, .8 * 10e9 / 20e9); /* what one moved */
    NEAR(p.row[3].guess.memory, 0);
    NEAR(p.row[3].guess.reduce, /* half of a sum of each package's */
         .5 * 1e9 / 1e9);
    NEAR(p.row[0].guess.barriers, 0);
    NEAR(p.row[1].guess.barriers, (4 * 3 + 1) * 1e-6);
    NEAR(p.row[2].guess.nodes_barrier, 0); /* all sit on one node */
    NEAR(p.row[3].guess.nodes_barrier, (5 + 2 * 2 * 6) * 1e-6);
    NEAR(p.row[3].guess.barriers, /* groups of 4 below 2 L3 */
         (5 * (5 + 2 * 2 * 6) + 3. / 7 + 6 * 4. / 7) * 1e-6);
    ck_assert_int_eq(p.checks, 2);
    NEAR(p.check[0].predicted, 9);
    NEAR(p.check[1].measured, 4.6);
    prediction_close(&p);
}
END_TEST

/* Proves that devices of the experiment are those that train there, each with
 * the rows that it had here, that workers beyond them share a device, and that
 * nodes meet once more only where each has several. */
START_TEST(devices)
{
    const assumed a = {0};
    prediction p;
    made m;

    make(&m);
    open_machine(&p, "core:32");
    prediction_make(&p, &m.r, &a, 0, 16);
    ck_assert_int_eq(p.rows, 6);
    ck_assert(p.measured.line_is_assumed);
    NEAR(p.row[0].guess.compute, 16);
    NEAR(p.row[0].rows, 64 / p.row[0].guess.seconds);
    NEAR(p.row[4].guess.compute, 1);
    NEAR(p.row[5].guess.compute, .5);
    ck_assert(p.row[5].guess.roof);
    NEAR(p.row[5].guess.nodes_barrier, 0);
    prediction_close(&p);
    open_machine(&p, "numa:4 core:8"); /* in one package */
    prediction_make(&p, &m.r, &a, 1e-6, 32);
    NEAR(p.row[3].guess.nodes_barrier, 0); /* 8 workers on the first */
    NEAR(p.row[4].guess.nodes_barrier, 17e-6);
    NEAR(p.row[4].guess.barriers, (5 * 17 + 1) * 1e-6);
    prediction_close(&p);
    open_machine(&p, "numa:4 core:8"); /* two nodes share each device */
    prediction_make(&p, &m.r, &a, 1e-6, 2);
    NEAR(p.row[5].guess.nodes_barrier, 0);
    prediction_close(&p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("prediction");
    TCase *all = tcase_create("all");

    suite_add_tcase(suite, all);
    tcase_add_test(all, machines);
    tcase_add_test(all, hostile);
    tcase_add_test(all, assumptions);
    tcase_add_test(all, terms);
    tcase_add_test(all, devices);
    return run_suite(suite);
}
