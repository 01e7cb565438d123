/* SPDX-License-Identifier: BSD-3-Clause */
/* See transcript.h. */
#include "transcript.h"
#include "numbers.h"
#include "step.h"
#include "verdict.h"

#include <stdlib.h>

transcript transcripts[2];

/* ------ heads ------ */

static const char *option_in(const transcript *t, const char *name)
{
    for (int i = 0; i < t->options; i++)
        if (!strcmp(t->option[i][0], name))
            return t->option[i][1];
    return NULL;
}

static const char *const of_heads[] = {"bits", "devices", "layout", "maker",
                                       "micro", "plan"};

/* The first that two heads do not share; NULL: there is none. */
static const char *other_in(const json *a, const json *b)
{
    for (size_t i = 0; i < sizeof of_heads / sizeof *of_heads; i++)
        if (!json_same(json_get(a, of_heads[i]), json_get(b, of_heads[i])))
            return of_heads[i];
    return NULL;
}

const char *head_differs(const transcript *t, const record *r)
{
    const json *graph = json_get(r->head, "graph");
    const json *options = json_get(r->head, "options");
    const char *claim = json_text(t->head, "graph");
    uint8_t hash[HASH];
    sha s;

    if (other_in(t->head, r->head))
        return text_of("\"%s\" of its record's head is not that of its "
                       "transcript", other_in(t->head, r->head));
    sha_begin(&s);
    if (graph)
        sha_add(&s, graph->from, (size_t)(graph->to - graph->from));
    sha_end(&s, hash);
    if (!claim || !sha_is(hash, claim))
        return "its record is of another graph than its transcript";
    for (const json *j = options ? options->first : NULL; j; j = j->next)
        if (j->type != JSON_TEXT || !option_in(t, j->key) ||
            strcmp(option_in(t, j->key), j->text))
            return text_of("option \"%.100s\" of its record is not that of its "
                           "transcript", j->key ? j->key : "");
    return NULL;
}

int transcripts_match(const transcript *a, const transcript *b)
{
    if (other_in(a->head, b->head))
        return 0;
    for (int i = 0; i < a->options; i++) {
        const char *other = option_in(b, a->option[i][0]);

        if (a->option[i][1] && (!other || strcmp(a->option[i][1], other)))
            return 0;
    }
    for (int i = 0; i < b->options; i++)
        if (b->option[i][1] && !option_in(a, b->option[i][0]))
            return 0;
    return json_same(json_get(a->head, "graph"), json_get(b->head, "graph")) &&
           json_same(json_get(a->head, "source"), json_get(b->head, "source"));
}

/* ------ states ------ */

static int add_controls(sha *s, const json *list)
{
    int64_t n = 0;

    for (const json *j = list ? list->first : NULL; j; j = j->next)
        n++;
    sha_number(s, (uint64_t)n);
    for (const json *j = n ? list->first : NULL; j; j = j->next) {
        const json *name = j->type == JSON_LIST ? j->first : NULL;
        const json *bits = name ? name->next : NULL;

        if (!bits || name->type != JSON_TEXT || bits->type != JSON_TEXT ||
            strlen(bits->text) != 16)
            return 0;
        sha_add(s, name->text, strlen(name->text) + 1);
        sha_number(s, strtoull(bits->text, NULL, 16));
    }
    return n > 0;
}

/* The root of the state in a record; 0: it has no controls. */
static int state_root(record *r, const char *phase, char hex[65])
{
    const json *state = json_get(json_get(r->head, "state"), phase);
    int64_t count = 0;
    uint8_t hash[HASH];
    sha s;
    int known;

    for (int64_t i = 0; i < r->entries; i++)
        count += !strcmp(r->arrays[i].phase, phase);
    sha_begin(&s);
    sha_add(&s, "lockstep state 1", 17);
    sha_number(&s, (uint64_t)json_whole(state, "updates", -1));
    sha_number(&s, (uint64_t)json_whole(state, "batches", -1));
    sha_number(&s, (uint64_t)count);
    for (int64_t i = 0; i < r->entries; i++) {
        const array *k = &r->arrays[i];
        const char *name = strcmp(k->what, "parameters") ? k->what : "";

        if (strcmp(k->phase, phase))
            continue;
        sha_add(&s, name, strlen(name) + 1);
        sha_number(&s, (uint64_t)k->n);
        record_root(r, k, hash);
        sha_add(&s, hash, HASH);
    }
    known = add_controls(&s, json_get(state, "controls"));
    sha_add(&s, "\2", 1);
    sha_end(&s, hash);
    sha_hex(hash, hex);
    return known;
}

bool has_controls(const record *r, const char *phase)
{
    const json *state = json_get(json_get(r->head, "state"), phase);
    const json *list = json_get(state, "controls");

    return list && list->first;
}

static const char *state_differs(record *r, const char *phase,
                                 const char *claim, const char **missing)
{
    char hex[65];
    int known = claim && state_root(r, phase, hex);

    if (claim && !known && has_controls(&records[r == records], phase))
        return text_of("its record has no controls %s the step, of which the "
                       "root in its transcript is made", phase);
    if (!known) {
        *missing = text_of("%s has no %s %s the step", r->path,
                           claim ? "controls" : "state line in its transcript",
                           phase);
        return NULL;
    }
    return strcmp(claim, hex)
               ? text_of("the state %s the step in its record has root %s, and "
                         "its transcript says %s", phase, hex, claim) : NULL;
}

/* ------ the step's line ------ */

/* The word of one of the rule's arrays; false: it has none. */
static bool word_in(record *r, const char *what, f32 *is)
{
    const array *k = array_in(r, "rule", what);
    uint32_t x[LEAF_WORDS];

    if (!k || k->n != 1)
        return false;
    record_leaf(r, k, 0, x);
    *is = f_recorded(x[0]);
    return true;
}

static f32 claimed(const transcript *t, const char *what)
{
    return f_recorded((f32)strtoul(json_text(t->step, what), NULL, 16));
}

/* The root of the rows: a leaf for each device and its micro-batches. */
static int are_rows(record *r, const char *claim)
{
    uint8_t *node = room_of((size_t)(r->entries + 1) * HASH);
    uint32_t x[LEAF_WORDS];
    int64_t n = 0;

    for (int64_t i = 0; i < r->entries;) {
        const array *k = &r->arrays[i];
        int64_t device = k->device, micro = k->micro;
        sha s;

        if (strcmp(k->phase, "rows")) {
            i++;
            continue;
        }
        sha_begin(&s);
        sha_number(&s, (uint64_t)k->rows);
        for (; i < r->entries && !strcmp(r->arrays[i].phase, "rows") &&
               r->arrays[i].device == device && r->arrays[i].micro == micro;
             i++) {
            k = &r->arrays[i];
            for (int64_t l = 0; l < leaves_of(k) &&
                                strncmp(k->what, "key of node", 11); l++) {
                int64_t m = record_leaf(r, k, l, x);

                for (int64_t j = 0; j < m; j++)
                    sha_word(&s, x[j]);
            }
        }
        sha_add(&s, "", 1);
        sha_end(&s, node + HASH * n++);
    }
    if (n != devices_of_step() * micro_of_step())
        return 1; /* of some devices only, or of shards without rows */
    hash_tree(node, n);
    return sha_is(node, claim);
}

static int is_gradient(record *r, const char *claim)
{
    const array *k = array_in(r, "mean", "mean gradient");
    uint8_t hash[HASH];

    if (k)
        record_root(r, k, hash);
    return !k || sha_is(hash, claim);
}

/* The root of a line that has one step: a word that says which of six are none
 * zeros, and these. */
static int is_alone(const transcript *t, record *r)
{
    uint32_t x[7] = {0};
    uint8_t hash[HASH];
    f64 weight;
    int n = 1;
    sha s;

    if (!word_in(r, "-lr", &x[1]) || !word_in(r, "norm", &x[5]) ||
        !loss_of_step(r, &x[2], &weight))
        return 1;
    x[1] = f_neg(x[1]);
    x[3] = (uint32_t)weight;
    x[4] = (uint32_t)(weight >> 32);
    x[6] = 1; /* one that updates nothing has other words */
    for (int i = 1; i < 7; i++)
        if (x[i]) {
            x[0] |= (uint32_t)1 << (i - 1);
            x[n++] = x[i];
        }
    sha_begin(&s);
    for (int i = 0; i < n; i++)
        sha_word(&s, x[i]);
    sha_end(&s, hash);
    return sha_is(hash, t->alone) || !weight;
}

static const char *step_differs(const transcript *t, record *r,
                                const char **missing)
{
    const json *step = t->step;
    const char *rows = json_text(step, "rows");
    const char *gradient = json_text(step, "gradient");
    int64_t updated = json_whole(step, "updated", 0);
    f32 x;
    f64 weight;

    if (!step && !t->alone) {
        *missing = text_of(t->in_many ? "%s has the step in a line of many"
                                      : "%s has no line of the step", t->path);
        return NULL;
    }
    if (t->alone)
        return !r->values || is_alone(t, r)
                   ? NULL : "the step in its record is not that of its "
                            "transcript";
    if (updated != updates_in(r))
        return text_of("its transcript says that the step made %lld updates, "
                       "and its record %lld", (long long)updated,
                       (long long)updates_in(r));
    if (!r->values || !updated)
        return NULL;
    if (word_in(r, "-lr", &x) && f_recorded(f_neg(x)) != claimed(t, "lr"))
        return "the learning rate in its record is not that of its transcript";
    if (word_in(r, "norm", &x) && x != claimed(t, "norm"))
        return "the norm in its record is not that of its transcript";
    if (loss_of_step(r, &x, &weight) &&
        (f_recorded(x) != claimed(t, "loss") ||
         weight != strtoull(json_text(step, "weight"), NULL, 16)))
        return "loss or weight in its record is not that of its transcript";
    if (rows && !are_rows(r, rows))
        return "the rows in its record are not those of its transcript";
    if (gradient && !is_gradient(r, gradient))
        return "the gradient in its record is not that of its transcript";
    return NULL;
}

const char *transcript_differs(const transcript *t, record *r,
                               const char **missing)
{
    const char *why = t->torn;

    if (!why)
        why = state_differs(r, "before", t->before, missing);
    if (!why)
        why = state_differs(r, "after", t->after, missing);
    return why ? why : step_differs(t, r, missing);
}
