/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks: the cut of devices, the transport between threads and its faults, and
 * the exchange of gradients, whose bytes are those of one machine's tree. */
#define _GNU_SOURCE /* nftw */
#include "base/memory.h"
#include "comma.h"
#include "ranks/agree.h"
#include "ranks/exchange.h"
#include "ranks/link.h"
#include "on_ranks.h"
#include "reduce/reduce.h"

enum { DEVICES = 12 };

static int check(const ls_transport *t, void *user)
{
    (void)user;
    return ls_transport_check(t);
}

/* ------ The cut ------ */

/* Every device has one rank, no rank more than the rest of an even cut, and
 * the parts are those of each rank's span, in order. */
TEST(test_cut)
{
    for (int devices = 1; devices <= 40; devices++)
        for (int ranks = 1; ranks <= devices; ranks++) {
            int most = (devices + ranks - 1) / ranks, at = 0;
            ls__cut c;

            OK(ls__cut_open(&c, ranks, devices));
            ck_assert_int_eq(c.border[0], 0);
            ck_assert_int_eq(c.border[ranks], devices);
            for (int r = 0; r < ranks; r++) {
                ck_assert_int_gt(c.border[r + 1], c.border[r]);
                ck_assert_int_le(c.border[r + 1] - c.border[r], most);
                ck_assert_int_eq(c.part[c.first[r]].first, c.border[r]);
            }
            for (int k = 0; k < c.parts; k++) {
                ck_assert_int_eq(c.part[k].first, at);
                at += ls__subtree_items(c.part[k], devices);
            }
            ck_assert_int_eq(at, devices);
            ls__cut_close(&c);
        }
}

/* Where an even cut would send more partial sums than another one, that one is
 * taken; more ranks than devices are refused. */
TEST(test_fewest)
{
    static const struct {
        int devices, ranks, parts;
    } row[] = {{6, 4, 4}, {8, 3, 5}, {12, 5, 7}, {6, 3, 3}, {8, 2, 2},
               {12, 3, 3}, {64, 5, 17}, {5, 5, 5}, {7, 1, 1}};
    ls__cut c;

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        OK(ls__cut_open(&c, row[i].ranks, row[i].devices));
        ck_assert_msg(c.parts <= row[i].parts, "%d devices, %d ranks: %d parts",
                      row[i].devices, row[i].ranks, c.parts);
        ls__cut_close(&c);
    }
    FAILS(ls__cut_open(&c, 3, 2), LS_EINVAL, "3 ranks are more than 2 devices");
    ls__cut_close(&c);
    OK(ls__cut_open(&c, 1000, 65536)); /* cut evenly, in no time */
    ck_assert_int_eq(c.border[1], 65);
    ls__cut_close(&c);
}

/* ------ The transport ------ */

/* What ranks send arrives, with delays and overtaking and slow lines too. */
TEST(test_transport)
{
    static const ranks_options row[] = {
        {0}, {.delay = 1e-3}, {.bandwidth = 1e6},
        {.delay = 1e-3, .shuffle = 7, .bandwidth = 1e7}};
    ranks_here *all;

    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        for (int n = 1; n <= RANKS; n += 1 + n / 4) {
            OK(ranks_open(&all, n, &row[i]));
            all_succeed(all, n, check, NULL);
            ck_assert_ptr_null(ranks_transport(all, n));
            ck_assert_ptr_null(ranks_transport(all, -1));
            ranks_close(all);
        }
}

/* A transport that changes a bit is found, by the rank that received it. */
TEST(test_lie)
{
    ranks_options o = {.fault = RANK_LIES, .rank = 1};
    rank_body out[RANKS];
    ranks_here *all;

    OK(ranks_open(&all, 3, &o));
    on_ranks(all, 3, check, NULL, out);
    ck_assert_int_eq(out[1].status, 0);
    for (int r = 0; r < 3; r += 2) {
        ck_assert_int_eq(out[r].status, LS_EIO);
        ck_assert_ptr_nonnull(strstr(out[r].message,
                                     "changed what rank 1 sent"));
    }
    ranks_close(all);
}

/* A rank that dies, or that is silent for longer than the transport's
 * patience, is named by all others. */
TEST(test_dead)
{
    static const struct {
        rank_fault fault;
        const char *words;
    } row[] = {{RANK_DIES, "rank 2 has died"},
               {RANK_STALLS, "rank 2 did not answer for 1 seconds"}};
    rank_body out[RANKS];
    ranks_here *all;

    for (int i = 0; i < 2; i++) {
        ranks_options o = {.fault = row[i].fault, .rank = 2, .posts = 2,
                              .patience = 1};

        OK(ranks_open(&all, 4, &o));
        on_ranks(all, 4, check, NULL, out);
        for (int r = 1; r < 4; r++) {
            ck_assert_int_eq(out[r].status, LS_EIO);
            if (r != 2)
                ck_assert_msg(strstr(out[r].message, row[i].words), "%s",
                              out[r].message);
        }
        ranks_close(all);
    }
}

static int end_or_wait(const ls_transport *t, void *user)
{
    char byte;

    (void)user;
    if (t->rank == 1) {
        t->abort(t->user, "the disk is full");
        return 0;
    }
    ls__link_receive(t, 1, &byte, 1);
    return ls__link_wait(t);
}

/* The others of a rank that gives up fail with its words. */
TEST(test_abort)
{
    rank_body out[RANKS];
    ranks_here *all;

    OK(ranks_open(&all, 3, NULL));
    on_ranks(all, 3, end_or_wait, NULL, out);
    ck_assert_int_eq(out[0].status, LS_EIO);
    ck_assert_ptr_nonnull(strstr(out[0].message,
                                 "rank 1 ended the run: the disk is full"));
    ranks_close(all);
}

static int send_short(const ls_transport *t, void *user)
{
    char bytes[8] = {0};
    int status = t->rank ? ls__link_send(t, 0, bytes, 4)
                         : ls__link_receive(t, 1, bytes, 8);

    (void)user;
    return status < 0 ? status : ls__link_wait(t);
}

/* Two ends that do not agree on a size find out. */
TEST(test_sizes)
{
    ranks_options o = {.patience = 1};
    rank_body out[RANKS];
    ranks_here *all;

    OK(ranks_open(&all, 2, &o));
    on_ranks(all, 2, send_short, NULL, out);
    ck_assert_int_eq(out[0].status, LS_EIO);
    ck_assert_ptr_nonnull(strstr(out[0].message,
                                 "of 4 bytes where 8 were wanted"));
    ranks_close(all);
}

/* What cannot be is refused before anything is made. */
TEST(test_refused)
{
    const ranks_options slow = {.delay = -1}, other = {.rank = 2};
    ls_transport t = {.ranks = 2, .rank = 2};
    ranks_here *all;

    FAILS(ranks_open(&all, 0, NULL), LS_EINVAL, "0 ranks");
    FAILS(ranks_open(&all, 1025, NULL), LS_EINVAL, "1 to 1024");
    FAILS(ls_transport_sums(1, INT32_MAX), LS_EINVAL, "2147483647 devices");
    ck_assert_int_eq(ls_transport_sums(1, 1 << 29), 1);
    FAILS(ranks_open(&all, 2, &slow), LS_EINVAL, "delay -1");
    FAILS(ranks_open(&all, 2, &other), LS_EINVAL, "rank 2 of 2");
    FAILS(ls_transport_check(NULL), LS_EINVAL, "NULL");
    FAILS(ls_transport_check(&t), LS_EINVAL, "rank 2 of 2");
    t.rank = 1;
    FAILS(ls_transport_check(&t), LS_EINVAL, "lacks a function");
    ranks_close(NULL);
}

/* ------ The exchange ------ */

enum {
    N = 3 * 4096 + 48,
    LONG = 170 * 4096 + 48 /* of several sections, on up to 5 ranks */
};

typedef struct sum {
    int devices;
    int64_t n;
    float scale;
    float *gradient[DEVICES]; /* of all devices; copied by each rank */
    float *expected;
} sum;

/* The definition, in place in a copy. */
static void define(sum *s)
{
    float *g[DEVICES];

    for (int d = 0; d < s->devices; d++) {
        g[d] = ls__block((size_t)s->n * sizeof **g, "copy");
        memcpy(g[d], s->gradient[d], (size_t)s->n * sizeof **g);
    }
    for (int k = 1; k < s->devices; k *= 2)
        for (int d = 0; d + k < s->devices; d += 2 * k)
            for (int64_t i = 0; i < s->n; i++)
                g[d][i] += g[d + k][i];
    for (int64_t i = 0; i < s->n; i++)
        s->expected[i] = s->scale * g[0][i];
    for (int d = 0; d < s->devices; d++)
        ls__block_free(g[d]);
}

/* Numbers of very different sizes, so that another order shows. */
static void make_sum(sum *s, int64_t n)
{
    *s = (sum){.n = n, .scale = 0.3f};
    s->expected = ls__block((size_t)n * sizeof(float), "sum");
    for (int d = 0; d < DEVICES; d++) {
        s->gradient[d] = ls__block((size_t)n * sizeof(float), "gradient");
        ls_random_uniform(ls_key_new(d), 0, n, -1, 1, s->gradient[d]);
        for (int64_t i = 0; i < n; i++)
            s->gradient[d][i] *= (float)(1 << ((i * 7 + d * 5) % 16));
    }
}

static void free_sum(sum *s)
{
    for (int d = 0; d < DEVICES; d++)
        ls__block_free(s->gradient[d]);
    ls__block_free(s->expected);
}

/* Sum the parts of two workers, one after the other. */
static void sum_parts(const ls__exchange *x, float *const *grad)
{
    ls__range half = {0, x->n / 2}, rest = {x->n / 2, x->n};

    ls__reduce_partials(grad, ls__exchange_devices(x), half);
    ls__reduce_partials(grad, ls__exchange_devices(x), rest);
}

static int exchange(ls__exchange *x, float *const *grad, float scale)
{
    ls__reduction r = {.buffer = x->partial, .count = x->cut.parts,
                       .part = x->cut.part, .of = x->cut.devices,
                       .factor = scale, .out = grad[0],
                       .here = ls__exchange_parts(x)};
    int sections = ls__sections(x->n, x->link->ranks), status = 0;

    sum_parts(x, grad);
    for (int k = sections - 1; k >= 0 && status == 0; k--)
        status = ls__exchange_expect(x, k);
    for (int k = sections - 1; k >= 0 && status == 0; k--)
        status = ls__exchange_leave(x, grad, k);
    if (status < 0 || (status = ls__link_wait(x->link)) < 0)
        return status;
    for (ls__stretch s = {0}; ls__owned_next(&x->own, &s);) {
        r.shift = s.at - s.range.first;
        ls__reduce(&r, s.range);
    }
    for (int k = 0; k < sections && status == 0; k++)
        status = ls__exchange_give(x, grad[0], k);
    return status < 0 ? status : ls__link_wait(x->link);
}

static int sum_over_ranks(const ls_transport *t, void *user)
{
    const sum *s = user;
    float *grad[DEVICES] = {NULL};
    size_t bytes = (size_t)s->n * sizeof **grad;
    ls__exchange x;
    int status = ls__exchange_open(&x, t, s->devices);
    ls__span mine = ls__exchange_devices(&x);

    for (int d = 0; d < mine.count; d++) {
        grad[d] = ls__block(bytes, "gradient");
        memcpy(grad[d], s->gradient[mine.first + d], bytes);
    }
    if (status == 0)
        status = ls__exchange_size(&x, NULL, s->n);
    if (status == 0)
        status = exchange(&x, grad, s->scale);
    if (status == 0 && memcmp(grad[0], s->expected, bytes))
        status = 1;
    for (int d = 0; d < mine.count; d++)
        ls__block_free(grad[d]);
    ls__exchange_close(&x);
    return status;
}

/* Every rank ends with the bytes of one machine's tree, for 1 to 12 devices on
 * 1 to 5 ranks, aligned or not, and with fewer elements than ranks. */
TEST(test_exchange)
{
    static const int64_t length[] = {N, 48, 16};
    ranks_here *all;
    sum s;

    for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
        make_sum(&s, length[i]);
        for (s.devices = 1; s.devices <= DEVICES; s.devices++) {
            define(&s);
            for (int r = 1; r <= 5 && r <= s.devices; r++) {
                OK(ranks_open(&all, r, NULL));
                all_succeed(all, r, sum_over_ranks, &s);
                ranks_close(all);
            }
        }
        free_sum(&s);
    }
}

/* Sections follow each other and are whole blocks; each element has one owner,
 * and no rank owns more than a block a section more than another. */
TEST(test_owned)
{
    static const int64_t floats[] = {16, 4096, N, LONG, 838 * 4096, 1 << 26};

    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        for (int ranks = 1; ranks <= 70; ranks += 1 + ranks / 6) {
            int64_t n = floats[i], at = 0, owned = 0, least = n, most = 0;
            int sections = ls__sections(n, ranks);

            ck_assert_int_ge(sections, 1);
            for (int k = 0; k < sections; k++) {
                ls__range s = ls__section(n, ranks, k);

                ck_assert_int_eq(s.first, at);
                ck_assert_int_eq(s.first % LS__REDUCE_BLOCK, 0);
                for (int r = 0; r < ranks; r++) { /* in the section's order */
                    ls__owned o = {n, (r + ranks - k % ranks) % ranks, ranks};
                    ls__range part = ls__owned_part(&o, k);

                    ck_assert_int_eq(part.first, at);
                    ck_assert(part.last == n ||
                              part.last % LS__REDUCE_BLOCK == 0);
                    at = part.last;
                }
                ck_assert_int_eq(s.last, at);
            }
            ck_assert_int_eq(at, n);
            for (int r = 0; r < ranks; r++) {
                ls__owned o = {n, r, ranks};
                int64_t has = ls__owned_floats(&o);

                owned += has;
                least = has < least ? has : least;
                most = has > most ? has : most;
            }
            ck_assert_int_eq(owned, n);
            ck_assert_int_le(most - least, (sections + 1) * LS__REDUCE_BLOCK);
        }
}

/* So do they when there are several sections, and messages overtake each
 * other. */
TEST(test_overtaking)
{
    ranks_options o = {.delay = 2e-4, .shuffle = 3, .bandwidth = 1e9};
    ranks_here *all;
    sum s;

    make_sum(&s, LONG);
    s.devices = DEVICES;
    define(&s);
    for (int r = 2; r < 5; r++) {
        OK(ranks_open(&all, r, NULL));
        all_succeed(all, r, sum_over_ranks, &s);
        ranks_close(all);
    }
    for (; o.shuffle < 6; o.shuffle++) {
        OK(ranks_open(&all, 5, &o));
        all_succeed(all, 5, sum_over_ranks, &s);
        ranks_close(all);
    }
    free_sum(&s);
}

/* Aligned blocks of devices move the least that is possible: 2 N (R-1)/R
 * floats from each rank. */
TEST(test_bytes)
{
    static const struct {
        int devices, ranks;
    } row[] = {{8, 2}, {8, 4}, {12, 3}, {6, 3}, {5, 5}, {8, 8}, {7, 1}};
    ranks_here *all;
    sum s;

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        int ranks = row[i].ranks;
        int64_t n = (int64_t)ranks * 2 * LS__REDUCE_BLOCK;

        make_sum(&s, n);
        s.devices = row[i].devices;
        define(&s);
        OK(ranks_open(&all, ranks, NULL));
        all_succeed(all, ranks, sum_over_ranks, &s);
        for (int r = 0; r < ranks; r++)
            ck_assert_int_eq(ranks_sent(all, r),
                             2 * n * (ranks - 1) / ranks * 4);
        ranks_close(all);
        free_sum(&s);
    }
}

static int gather_records(const ls_transport *t, void *user)
{
    double block[4] = {0}, device[DEVICES] = {0};
    ls__exchange x;
    int status = ls__exchange_open(&x, t, DEVICES);
    ls__span mine = ls__exchange_devices(&x);

    (void)user;
    if (status == 0)
        status = ls__exchange_size(&x, NULL, N);
    for (int d = 0; d < mine.count; d++)
        device[mine.first + d] = mine.first + d + 0.5;
    for (ls__stretch s = {0}; ls__owned_next(&x.own, &s);)
        for (int64_t i = s.range.first; i < s.range.last; i += LS__REDUCE_BLOCK)
            block[i / LS__REDUCE_BLOCK] = (double)i;
    if (status == 0)
        status = ls__exchange_gather_devices(&x, device, sizeof *device,
                                             sizeof device);
    if (status == 0)
        status = ls__exchange_gather_blocks(&x, block, sizeof *block);
    for (int d = 0; d < DEVICES && status == 0; d++)
        status = device[d] != d + 0.5;
    for (int i = 0; i < 4 && status == 0; i++)
        status = block[i] != (double)i * LS__REDUCE_BLOCK;
    ls__exchange_close(&x);
    return status;
}

/* Records of devices and of blocks reach every rank. */
TEST(test_records)
{
    ranks_here *all;

    for (int r = 1; r <= RANKS; r++) {
        OK(ranks_open(&all, r, NULL));
        all_succeed(all, r, gather_records, NULL);
        ranks_close(all);
    }
}

/* ------ What must be equal ------ */

static int agree_and_free(const ls_transport *t, ls__facts *f)
{
    int status = ls__agree(t, f);

    ls__facts_free(f);
    return status;
}

static int agree(const ls_transport *t, void *user)
{
    ls__facts f = {.count = 0};

    ls__facts_put(&f, "version", "1");
    ls__facts_put(&f, "seed", t->rank == *(int *)user ? "5" : "4");
    ls__facts_put(&f, "graph", "a b c");
    return agree_and_free(t, &f);
}

/* All ranks name the same first difference. */
TEST(test_agree)
{
    rank_body out[RANKS];
    ranks_here *all;
    int odd = -1;

    OK(ranks_open(&all, 4, NULL));
    all_succeed(all, 4, agree, &odd);
    odd = 2;
    on_ranks(all, 4, agree, &odd, out);
    for (int r = 0; r < 4; r++) {
        ck_assert_int_eq(out[r].status, LS_EINVAL);
        ck_assert_ptr_nonnull(strstr(out[r].message,
                                     "seed is 5 on rank 2, and 4 on rank 0"));
    }
    ranks_close(all);
}

/* Ranks in other locales have the same facts. */
TEST(test_real_fact)
{
    ls__facts f = {.count = 0};

    folder_open();
    ls__facts_put_real(&f, "lr", 0.1);
    if (set_comma())
        ls__facts_put_real(&f, "lr", 0.1);
    for (int i = 0; i < f.count; i++)
        ck_assert_str_eq(f.fact[i].value, "0.1");
    unset_comma();
    ls__facts_free(&f);
    folder_close();
}

/* Fact number 700 of many, and one that differs past its first 200 characters;
 * and a rank that has one fact more. */
static int agree_on_many(const ls_transport *t, void *user)
{
    int what = *(int *)user, odd = t->rank == 1;
    ls__facts f = {.count = 0};
    char text[300];

    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = 0;
    text[250] = what == 1 && odd ? 'b' : 'a';
    for (int i = 0; i < 699; i++)
        ls__facts_put(&f, "same", "%d", i);
    ls__facts_put(&f, "number 700", "%d", what == 0 && odd);
    ls__facts_put(&f, "long", "%s", text);
    if (what == 2 && odd)
        ls__facts_put(&f, "more", "here");
    return agree_and_free(t, &f);
}

LOOP_TEST(test_many_facts, 0, 3)
{
    static const char *const said[] = {
        "number 700 is 1 on rank 1, and 0 on rank 0", "long is aaa",
        "rank 1 has more here, where rank 0 has nothing"};
    rank_body out[RANKS];
    ranks_here *all;
    int none = 3;

    OK(ranks_open(&all, 3, NULL));
    all_succeed(all, 3, agree_on_many, &none);
    on_ranks(all, 3, agree_on_many, &_i, out);
    for (int r = 0; r < 3; r++) {
        ck_assert_int_eq(out[r].status, LS_EINVAL);
        ck_assert_msg(strstr(out[r].message, said[_i]), "%s", out[r].message);
    }
    ranks_close(all);
}

MAIN()
