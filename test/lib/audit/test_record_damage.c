/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that a record that somebody made up does no harm: of a step of each
 * model a part of the head, an entry of the index, a name, words or a size is
 * changed or taken away, and all hashes are made right again.  It is compared,
 * and its numbers are asked for: it is refused by a status and a message, or
 * its numbers are given.  A byte of the tail that is changed is always seen. */
#define _GNU_SOURCE
#include "folder.h"
#include "models.h"
#include "audit/record_read.h"
#include "file/line.h"
#include "record_batches.h"
#include "record_bytes.h"

#include <lockstep/record.h>

/* A record in memory. */
typedef struct record {
    uint8_t *file;
    size_t n;
    ls__record_header h;
    json_t *head;
    ls__record_entry *entry; /* as the file has them */
    char *names;
} record;

/* ------ reading and writing ------ */

static void *copied(const void *from, size_t n)
{
    void *to = malloc(n + 1);

    ck_assert_ptr_nonnull(to);
    memcpy(to, from, n);
    return to;
}

static record read_record(const char *path)
{
    record r = {0};
    const char *at;

    r.file = read_bytes(path, &r.n);
    r.h = header_of(r.file);
    at = (const char *)r.file + r.h.tail_at;
    r.head = json_loadb(at, r.h.head_bytes, 0, NULL);
    ck_assert_ptr_nonnull(r.head);
    at += r.h.head_bytes;
    r.entry = copied(at, r.h.entries * sizeof *r.entry);
    r.names = copied(at + r.h.entries * sizeof *r.entry, r.h.names_bytes);
    return r;
}

static record copy_record(const record *of)
{
    record r = *of;

    r.file = copied(of->file, of->n);
    r.head = json_deep_copy(of->head);
    r.entry = copied(of->entry, of->h.entries * sizeof *r.entry);
    r.names = copied(of->names, of->h.names_bytes);
    return r;
}

static void free_record(record *r)
{
    free(r->file);
    json_decref(r->head);
    free(r->entry);
    free(r->names);
}

/* Write it with the sizes of its parts, and a seal. */
static void write_record(const record *r, const char *path)
{
    char *head = ls__line_write(r->head);
    size_t tail = (size_t)r->h.tail_at, index = r->h.entries * sizeof *r->entry;
    size_t bytes = strlen(head), n = tail + bytes + index + r->h.names_bytes;
    uint8_t *file = calloc(n + SEAL, 1);
    FILE *f = fopen(path, "w");

    ck_assert(file && f);
    memcpy(file, r->file, tail);
    memcpy(file + tail, head, bytes);
    memcpy(file + tail + bytes, r->entry, index);
    memcpy(file + tail + bytes + index, r->names, r->h.names_bytes);
    put_header(file, r->h);
    ck_assert(reseal_record(file, n + SEAL));
    ck_assert_uint_eq(fwrite(file, 1, n + SEAL, f), n + SEAL);
    ck_assert_int_eq(fclose(f), 0);
    free(file);
    free(head);
}

/* ------ damage ------ */

static const int64_t odd_counts[] = {
    -1, 0, 1, 2, 3, 63, 64, 4096, 4097, 1000003, INT64_C(1) << 31,
    INT64_C(1) << 40, INT64_C(1) << 53, INT64_C(1) << 56, INT64_C(1) << 62,
    INT64_MAX, INT64_MIN};

static const char *const odd_texts[] = {
    "", "0", "-1", "1", "64", "2147483648", "-4096", "9223372036854775807",
    "1x1", "2x3", "-1x2", "3x-1", "4x0x3", "99x99x99", "1x1x1x1x1x1x1x1x1x1",
    "9.5", "nan", "x", "0123456789abcdef"};

#define ANY(r, of) \
    ((of)[between(r, 0, (int64_t)(sizeof(of) / sizeof *(of)) - 1)])

static json_t *odd(uint32_t *r)
{
    switch (between(r, 0, 4)) {
    case 0: return json_string(ANY(r, odd_texts));
    case 1: return json_array();
    case 2: return json_object();
    case 3: return json_null();
    default: return json_integer(ANY(r, odd_counts));
    }
}

static const char *any_name(json_t *object, uint32_t *r)
{
    int64_t left = between(r, 0, (int64_t)json_object_size(object) - 1);
    const char *name;
    json_t *value;

    json_object_foreach (object, name, value)
        if (left-- == 0)
            return name;
    return NULL;
}

/* Change one value of the head, or take it away, however deep it lies. */
static void damage_json(json_t *of, uint32_t *r)
{
    size_t n = json_is_array(of) ? json_array_size(of) : 0, i;
    const char *name = NULL;
    json_t *value;

    if (json_object_size(of))
        name = any_name(of, r);
    else if (n == 0)
        return;
    i = n ? (size_t)between(r, 0, (int64_t)n - 1) : 0;
    value = name ? json_object_get(of, name) : json_array_get(of, i);
    if (between(r, 0, 3) && (json_is_array(value) || json_is_object(value))) {
        damage_json(value, r);
    } else if (name && between(r, 0, 2) == 0) {
        json_object_del(of, name);
    } else if (name) {
        json_object_set_new(of, name, odd(r));
    } else if (between(r, 0, 2) == 0) {
        json_array_remove(of, i);
    } else {
        json_array_set_new(of, i, odd(r));
    }
}

static void damage_entry(record *at, uint32_t *r)
{
    ls__record_entry *e =
        &at->entry[between(r, 0, (int64_t)at->h.entries - 1)];
    int64_t field = between(r, 0, 16), was, is = ANY(r, odd_counts);
    uint32_t small;

    if (field < 10) {
        memcpy(&small, (char *)e + 4 * field, sizeof small);
        small = between(r, 0, 1) ? (uint32_t)is : small + (uint32_t)is % 8;
        memcpy((char *)e + 4 * field, &small, sizeof small);
        return;
    }
    memcpy(&was, (char *)&e->first + 8 * (field - 10), sizeof was);
    if (between(r, 0, 1))
        is = was + between(r, -2, 2) * 32;
    memcpy((char *)&e->first + 8 * (field - 10), &is, sizeof is);
}

static void damage_words(record *at, uint32_t *r)
{
    for (int i = 0; i < 4; i++)
        at->file[between(r, sizeof at->h, (int64_t)at->h.tail_at - 1)] ^=
            (uint8_t)(1 << between(r, 0, 7));
}

static void damage_sizes(record *at, uint32_t *r)
{
    switch (between(r, 0, 3)) {
    case 0: at->h.entries -= at->h.entries > 0; break;
    case 1: at->h.names_bytes -= 1; break;
    case 2: at->h.tail_at -= 64; break;
    default: at->h.zero = (uint64_t)ANY(r, odd_counts); break;
    }
}

static void damage(record *at, uint32_t *r)
{
    switch (between(r, 0, 7)) {
    case 0:
    case 1:
    case 2: damage_json(at->head, r); break;
    case 3:
    case 4: damage_entry(at, r); break;
    case 5: damage_words(at, r); break;
    case 6: damage_sizes(at, r); break;
    default:
        at->names[between(r, 0, (int64_t)at->h.names_bytes - 1)] ^=
            (char)between(r, 1, 255);
    }
}

/* ------ asking ------ */

static void expect_status(int status, const char *of)
{
    ck_assert_msg(status >= 0 || status == LS_ENOTSUP || status == LS_EFORMAT ||
                      status == LS_EINVAL || status == LS_ENOTFOUND,
                  "%s: %d, %s", of, status, ls_errmsg());
    ck_assert_msg(status >= 0 || *ls_errmsg(), "%s", of);
}

/* Ask for the numbers of an array, and for what one is made of. */
static void ask(const char *path, uint32_t *draws)
{
    uint32_t leaf[LS__LEAF];
    ls__record r;
    int status = ls__record_open(&r, path);

    expect_status(status, "opened");
    for (int i = 0; i < 4 && status == 0 && r.entries; i++) {
        const ls__record_entry *e =
            &r.entry[between(draws, 0, r.entries - 1)];
        ls__where w = ls__record_where(&r, e);
        char place[LS_RECORD_TEXT];

        ls__where_text(&w, place);
        if (r.values && e->words)
            expect_status((int)ls__record_words_of(&r, e, 0, leaf), place);
    }
    ls__record_shut(&r);
}

/* ------ tests ------ */

enum {
    FEW = 5, /* rows, since the record is read again and again */
    DAMAGES = UNDER_SANITIZER ? 30 : 100
};

static void make_record(model m, uint32_t seed, const char *path)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_record_options of = ls_record_defaults();
    ls_graph *g = graph_of(m, seed), *same = graph_of(m, seed);
    data d = data_of(same, seed);
    ls_group group = ls_group_no_decay();
    ls_control control = {"cursor", 3};
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
    at = open_run_on(2, 1, g, &o);
    set_batch(&at, &d, 0, seed, FEW);
    of.path = path;
    of.values = true;
    of.batches = 3;
    of.controls = &control;
    of.n_controls = 1;
    OK(ls_trainer_record(at.trainer, at.batch, &of, &result));
    close_run(&at);
    free_data(&d);
    ls_graph_free(same);
}

LOOP_TEST(test_damage, 0, MODELS)
{
    uint32_t seed = 40 + (uint32_t)_i, r = 11 + seed;
    char good[256], bad[256];
    ls_record_difference d;
    record all;

    folder_open();
    make_record((model)_i, seed, strcpy(good, in_folder("good.lsr")));
    strcpy(bad, in_folder("bad.lsr"));
    all = read_record(good);
    write_record(&all, bad);
    OK(ls_record_compare(good, bad, &d));
    ck_assert_msg(d.same, "%s", d.text);
    for (int k = 0; k < (long_run() ? 10000 : DAMAGES); k++) {
        record other = copy_record(&all);

        damage(&other, &r);
        write_record(&other, bad);
        expect_status(ls_record_compare(good, bad, &d), "compared");
        ask(bad, &r);
        free_record(&other);
    }
    free_record(&all);
    folder_close();
}

static void write_bytes(const char *path, const uint8_t *file, size_t n)
{
    FILE *f = fopen(path, "w");

    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(file, 1, n, f), n);
    ck_assert_int_eq(fclose(f), 0);
}

/* Any byte of header, tail or seal that is another, and any end that is cut off
 * or added, is refused; of the arrays a word of the leaf that differs. */
TEST(test_seal)
{
    char good[256], bad[256];
    ls_record_difference d;
    uint32_t r = 7;
    record all;

    folder_open();
    make_record(MLP, 3, strcpy(good, in_folder("good.lsr")));
    strcpy(bad, in_folder("bad.lsr"));
    all = read_record(good);
    for (int k = 0; k < 400; k++) {
        int64_t tail = (int64_t)all.h.tail_at;
        int64_t at = k % 4 ? between(&r, tail, (int64_t)all.n - 1)
                           : between(&r, 0, sizeof all.h - 1);
        uint8_t was = all.file[at];

        all.file[at] ^= (uint8_t)(1 << between(&r, 0, 7));
        write_bytes(bad, all.file, all.n);
        ck_assert_int_lt(ls_record_compare(good, bad, &d), 0);
        expect_status(ls_record_compare(bad, good, &d), "a byte");
        all.file[at] = was;
        write_bytes(bad, all.file, (size_t)at);
        FAILS(ls_record_compare(good, bad, &d), LS_EFORMAT, "bad.lsr");
    }
    all.file[all.n] = 0;
    write_bytes(bad, all.file, all.n + 1);
    FAILS(ls_record_compare(good, bad, &d), LS_EFORMAT, "its parts");
    all.file[sizeof all.h] ^= 1; /* a hash of the first leaf */
    write_bytes(bad, all.file, all.n);
    FAILS(ls_record_compare(good, bad, &d), LS_EFORMAT, "its hash");
    all.file[16]++;
    write_bytes(bad, all.file, all.n);
    FAILS(ls_record_compare(good, bad, &d), LS_ENOTSUP, "version 4");
    free_record(&all);
    folder_close();
}

MAIN()
