/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that a record that somebody made up does no harm: of a step of each
 * model one line, field, attribute, option or number is changed, or taken
 * away, all hashes are made right again, and evidence of what is near is asked
 * for.  It is given, or refused by a status and a message. */
#define _GNU_SOURCE
#include "folder.h"
#include "models.h"
#include "record/evidence.h"
#include "record/record_compare.h"
#include "record/record_file.h"
#include "record_batches.h"

#include <lockstep/record.h>

/* A line of a record, and the numbers of an array. */
typedef struct item {
    ls__entry_kind kind;
    json_t *line;
    uint32_t *x;
    int64_t n;
} item;

typedef struct record {
    item *of;
    int count;
} record;

/* ------ reading and writing ------ */

static void read_numbers(ls__record_reader *r, int64_t floats, item *to)
{
    uint32_t value[LS__LEAF];
    int64_t n;

    to->x = calloc((size_t)floats + 1, sizeof *to->x);
    ck_assert_ptr_nonnull(to->x);
    while ((n = ls__record_leaf(r, value)) > 0) {
        memcpy(to->x + to->n, value, (size_t)n * sizeof *value);
        to->n += n;
    }
    ck_assert_int_eq(to->n, floats);
}

static record read_record(const char *path)
{
    record all = {0};
    ls__record_reader r;
    ls__entry e = {0};

    OK(ls__record_open(&r, path));
    do {
        ls__entry_release(&e);
        OK(ls__record_next(&r, &e));
        all.of = realloc(all.of, (size_t)(all.count + 1) * sizeof *all.of);
        ck_assert_ptr_nonnull(all.of);
        all.of[all.count] = (item){e.kind, json_deep_copy(e.line), NULL, 0};
        if (e.kind == LS__ARRAY_ENTRY)
            read_numbers(&r, e.floats, &all.of[all.count]);
        all.count += e.kind != LS__CLOSE_ENTRY;
    } while (e.kind != LS__CLOSE_ENTRY);
    json_decref(all.of[all.count].line);
    ls__entry_release(&e);
    ls__record_shut(&r);
    return all;
}

static void free_record(record *all)
{
    for (int i = 0; i < all->count; i++) {
        json_decref(all->of[i].line);
        free(all->of[i].x);
    }
    free(all->of);
}

/* An item without a line is left out. */
static void write_record(const record *all, const char *path)
{
    ls__record_file f;

    OK(ls__record_create(&f, path, true));
    for (int i = 0; i < all->count; i++) {
        const item *it = &all->of[i];
        ls__where w = ls__record_place(it->line);

        if (!it->line)
            continue;
        if (it->kind == LS__ARRAY_ENTRY) {
            OK(ls__record_array(&f, &w, it->x, it->n, true));
            continue;
        }
        json_object_set_new(it->line, "prev", json_string(f.chain.prev));
        OK(ls__record_line(&f, json_incref(it->line)));
    }
    OK(ls__record_close(&f, true));
}

/* ------ damage ------ */

static const int64_t odd_counts[] = {
    0, 1, 2, 3, 31, 32, 1000003, INT64_C(1) << 31, INT64_C(1) << 40,
    (INT64_C(1) << 53) - 1};

static const char *const odd_texts[] = {
    "", "0", "-1", "1", "2", "3", "7", "64", "4096", "2147483648", "-4096",
    "1099511627776", "9223372036854775807", "-9223372036854775808", "1x1",
    "2x3", "-1x2", "3x-1", "4x0x3", "99x99x99", "1x1x1x1x1x1x1x1x1x1", "9.5",
    "nan", "x"};

static const uint32_t odd_words[] = {0, 1, 4, 31, 0x7fffffff, 0x80000000,
                                     0xffffffff, 0x7f800000, 0x3f800000};

#define ANY(r, of) \
    ((of)[between(r, 0, (int64_t)(sizeof(of) / sizeof *(of)) - 1)])

/* What the same field of some other line has, or what is odd. */
static const char *text_for(const record *all, const char *name, uint32_t *r)
{
    const char *text =
        json_string_value(json_object_get(
            all->of[between(r, 0, all->count - 1)].line, name));

    return text && between(r, 0, 1) ? text : ANY(r, odd_texts);
}

static json_t *count_for(int64_t was, uint32_t *r)
{
    int64_t is = between(r, 0, 1) ? ANY(r, odd_counts)
                                  : was + between(r, -2, 2);

    return json_integer(is < 0 ? 0 : is);
}

static const char *any_name(const json_t *object, uint32_t *r)
{
    int64_t most = (int64_t)json_object_size(object) - 1;
    int64_t left = most < 0 ? 0 : between(r, 0, most);
    const char *name;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t)object, name, value)
        if (left-- == 0)
            return name;
    return NULL;
}

/* Change a text of an object of texts, or take it away. */
static void damage_texts(json_t *of, uint32_t *r)
{
    const char *name = any_name(of, r);

    if (!name)
        return;
    if (between(r, 0, 3))
        json_object_set_new(of, name, json_string(ANY(r, odd_texts)));
    else
        json_object_del(of, name);
}

static void damage_field(const record *all, item *it, uint32_t *r)
{
    const char *name = any_name(it->line, r);
    json_t *was = json_object_get(it->line, name);

    if (!strcmp(name, "kind") || !strcmp(name, "version"))
        return;
    if (json_is_object(was))
        damage_texts(was, r);
    else if (json_is_integer(was))
        json_object_set_new(it->line, name,
                            count_for(json_integer_value(was), r));
    else if (strcmp(name, "bits"))
        json_object_set_new(it->line, name,
                            json_string(text_for(all, name, r)));
}

static void damage_numbers(item *it, uint32_t *r)
{
    int64_t n = it->n, few = between(r, 1, 4);

    for (int64_t i = 0; i < few && n; i++)
        it->x[between(r, 0, n - 1)] = ANY(r, odd_words);
    if (between(r, 0, 3) == 0)
        it->n = n ? between(r, 0, n - 1) : 0;
}

/* Half of those that are damaged are nodes, which rules go by. */
static int pick(const record *all, uint32_t *r)
{
    static const ls__entry_kind kinds[] = {
        LS__HEAD_ENTRY, LS__SLOT_ENTRY, LS__NUMBER_ENTRY, LS__ARRAY_ENTRY,
        LS__NODE_ENTRY, LS__NODE_ENTRY, LS__NODE_ENTRY, LS__NODE_ENTRY};
    ls__entry_kind kind = ANY(r, kinds);
    int i = (int)between(r, 0, all->count - 1);

    while (all->of[i].kind != kind)
        i = (i + 1) % all->count;
    return i;
}

/* Damage what rules go by most: numbers of an array, what a node is made of,
 * options.  False: it has none of these. */
static bool damage_most(item *it, uint32_t *r)
{
    switch (it->kind) {
    case LS__ARRAY_ENTRY: damage_numbers(it, r); return true;
    case LS__HEAD_ENTRY:
        damage_texts(json_object_get(it->line, "options"), r);
        return true;
    case LS__NODE_ENTRY:
        damage_texts(json_object_get(it->line,
                                     between(r, 0, 2) ? "of" : "inputs"), r);
        return true;
    default: return false;
    }
}

/* Replace an item by a damaged copy; returns what it was. */
static item damage(record *all, int i, uint32_t *r)
{
    item was = all->of[i], *it = &all->of[i];
    int64_t how;

    it->line = json_deep_copy(was.line);
    if (was.x) {
        it->x = malloc((size_t)(was.n + 1) * sizeof *it->x);
        ck_assert_ptr_nonnull(it->x);
        memcpy(it->x, was.x, (size_t)was.n * sizeof *it->x);
    }
    how = between(r, 0, 5);
    if (how == 0 && it->kind != LS__HEAD_ENTRY) {
        json_decref(it->line);
        it->line = NULL;
    } else if (how > 2 || (how > 0 && !damage_most(it, r))) {
        damage_field(all, it, r);
    }
    return was;
}

static void mend(record *all, int i, item was)
{
    json_decref(all->of[i].line);
    free(all->of[i].x);
    all->of[i] = was;
}

/* ------ asking ------ */

/* Only arrays and numbers have places to ask for. */
static bool has_place(const item *it)
{
    return it->line &&
           (it->kind == LS__ARRAY_ENTRY || it->kind == LS__NUMBER_ENTRY);
}

/* May the damage show there?  That of a node or an array does in the next
 * nodes, an option's in what no operator made. */
static bool is_near(const item *it, const item *bad)
{
    ls__where at = ls__record_place(it->line);
    ls__where from = ls__record_place(bad->line);

    if (!has_place(it))
        return false;
    if (bad->kind == LS__NODE_ENTRY || bad->kind == LS__ARRAY_ENTRY)
        return at.node >= from.node && at.node <= from.node + 2;
    return bad->kind != LS__HEAD_ENTRY || !at.op || !*at.op;
}

static void expect_status(int status, const char *place)
{
    ck_assert_msg(status >= 0 || status == LS_ENOTSUP ||
                      status == LS_EFORMAT || status == LS_ENOTFOUND ||
                      (status == LS_EINVAL && !strcmp(place, "compared")),
                  "%s: %d, %s", place, status, ls_errmsg());
    ck_assert_msg(status >= 0 || *ls_errmsg(), "%s", place);
}

static void ask(const record *all, int bad, const item *was, const char *path,
                uint32_t *r)
{
    static uint32_t leaf[LS__LEAF];
    char place[LS_RECORD_TEXT];
    const item *it;
    int i = (int)between(r, 0, all->count - 1);
    int64_t n, element;
    ls__where w;

    for (int k = 0; k < all->count; k++, i = (i + 1) % all->count)
        if (is_near(&all->of[i], was))
            break;
    it = &all->of[i];
    if (between(r, 0, 2) == 0 && has_place(&all->of[bad]))
        it = &all->of[bad];
    if (!has_place(it))
        return;
    w = ls__record_place(it->line);
    ls__where_text(&w, place);
    n = it->n ? it->n : 1;
    element = between(r, 0, 1) ? between(r, 0, n - 1) : n - 1;
    expect_status(ls_record_evidence(path, place, element, 0, 1,
                                     in_folder("evidence")), place);
    if (between(r, 0, 3) == 0)
        expect_status(ls_record_leaf(path, place, 0, leaf), place);
}

/* ------ tests ------ */

enum {
    FEW = 5, /* rows, since the record is read again and again */
    DAMAGES = UNDER_SANITIZER ? 8 : 24
};

static void make_record(model m, uint32_t seed, const char *path)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_record_options of = ls_record_defaults();
    ls_pool *pool = open_pool(2, 1);
    ls_graph *g = graph_of(m, seed), *same = graph_of(m, seed);
    data d = data_of(same, seed);
    ls_group group = ls_group_no_decay();
    ls_result result;
    run at;

    o.optimizer = ls_adamw(0.01);
    o.optimizer.lazy = seed % 2;
    o.clip_norm = 0.5;
    o.precision = seed % 4 ? LS_F32_LAYERS : LS_BF16_LAYERS;
    o.mean = m == NORMS ? LS_MEAN_EXACT : (ls_mean)(seed % 3);
    o.accumulate = 2;
    o.groups = &group;
    o.n_groups = 1;
    o.dropout_schedule = ls_schedule_defaults(LS_COSLOG);
    o.dropout_schedule.decay_steps = 5;
    o.schedule = o.decay_schedule = o.dropout_schedule;
    at = open_run(pool, g, &o);
    set_batch(&at, &d, 0, seed, FEW);
    of.path = path;
    of.values = true;
    OK(ls_trainer_record(at.trainer, at.batch, &of, &result));
    close_run(&at);
    ls_pool_close(pool);
    free_data(&d);
    ls_graph_free(same);
}

START_TEST(test_damage)
{
    uint32_t seed = 40 + (uint32_t)_i, r = 11 + seed;
    char good[256], bad[256];
    ls_record_difference d;
    record all;

    folder_open();
    make_record((model)_i, seed,
                strcpy(good, in_folder("good.lsr")));
    strcpy(bad, in_folder("bad.lsr"));
    all = read_record(good);
    write_record(&all, bad);
    OK(ls_record_compare(good, bad, &d));
    ck_assert_msg(d.same, "%s", d.text);
    for (int k = 0; k < (long_run() ? 1000 : DAMAGES); k++) {
        int i = pick(&all, &r);
        item was = damage(&all, i, &r);

        write_record(&all, bad);
        ask(&all, i, &was, bad, &r);
        ask(&all, i, &was, bad, &r);
        if (k % 8 == 0)
            expect_status(ls_record_compare(good, bad, &d), "compared");
        mend(&all, i, was);
    }
    free_record(&all);
    folder_close();
}
END_TEST

static Suite *damage_suite(void)
{
    Suite *s = suite_create("damaged records");
    TCase *t = tcase_create("damage");

    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, test_damage, 0, MODELS);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_suite(damage_suite());
}
