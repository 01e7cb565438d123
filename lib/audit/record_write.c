/* SPDX-License-Identifier: BSD-3-Clause */
/* A record while its step is made; see recording.h. */
#include "audit/recording.h"
#include "audit/head.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/json.h"
#include "base/least.h"
#include "model/graph_json.h"
#include "state/root.h"
#include "trainer/facts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ------ the head ------ */

static json_t *slots_of(const ls__params *p)
{
    json_t *all = json_array();
    char shape[LS__SIZES_TEXT];

    for (const ls__slot *s = p->slot; s < p->slot + p->count; s++)
        all = ls__json_and(
            all, json_pack("{s:I,s:I,s:s,s:s}", "at", (json_int_t)s->offset,
                           "floats", (json_int_t)s->size, "name", s->name,
                           "shape", ls__sizes_text(shape, s->rank, s->shape)));
    return all;
}

static json_t *control(const char *name, uint64_t bits)
{
    char text[20];

    snprintf(text, sizeof text, "%016" PRIx64, bits);
    return json_pack("[s,s]", name, text);
}

/* A state's root is of these, too, beside its arrays; without controls where
 * batches are below 0, as nobody said any. */
static json_t *side(const ls_trainer *t, int64_t batches, int n,
                    const ls_control *of)
{
    const ls__state is = ls__state_of(t);
    json_t *controls = json_array();
    uint64_t lr;

    memcpy(&lr, &is.lr, sizeof lr);
    if (batches >= 0)
        controls = ls__json_and(controls, control("lr", lr));
    for (int i = 0; i < n && batches >= 0; i++)
        controls = ls__json_and(controls, control(of[i].name, of[i].bits));
    return json_pack("{s:o,s:I,s:I}", "controls", controls, "batches",
                     (json_int_t)(batches < 0 ? 0 : batches), "updates",
                     (json_int_t)is.step);
}

/* All but the state after the step. */
static json_t *head_of(const ls__recording *r)
{
    const ls_record_options *o = r->options;
    const ls_trainer *t = r->step.trainer;
    const ls__state is = ls__state_of(t);
    json_t *all = ls__head_said(t, "record", ls__facts_of_run(t),
                                r->own.plan->chunk_rows);

    all = ls__json_with(all, "device", o->device < 0 ? json_string("all")
                                                     : json_integer(o->device));
    all = ls__json_with(all, "graph", ls__graph_as_filed(is.graph));
    all = ls__json_with(all, "slots", slots_of(is.layout));
    all = ls__json_with(all, "state",
                        json_pack("{s:o}", "before",
                                  side(t, o->batches, o->n_controls,
                                       o->controls)));
    all = ls__json_with(all, "step", json_integer(is.step));
    all = ls__json_with(all, "values", json_integer(o->values));
    all = ls__json_with(all, "version", json_integer(LS__RECORD_VERSION));
    return o->source ? ls__json_with(all, "rows",
                                     ls__record_rows_said(&r->rows, o))
                     : all;
}

/* ------ the arrays ------ */

int ls__recording_begin(ls__recording *r)
{
    const ls_trainer *t = r->step.trainer;
    const ls_record_options *o = r->options;
    int status;

    if (!o->path)
        return 0;
    if (!(r->record = ls__new(1, sizeof *r->record, "a record")))
        return LS_ENOMEM;
    r->record->trainer = t;
    if ((status = ls__record_rows_open(&r->rows, o)) < 0)
        return status;
    if (!(r->record->head = head_of(r)))
        return ls__no_memory("a record's head", 0);
    return ls__record_create(r->record, o->path, ls__state_of(t).layout,
                             o->values);
}

void ls__recording_array(ls__recording *r, const ls__where *w,
                         const void *words, int64_t n, ls__word_kind kind)
{
    if (r->status == 0 && r->touch)
        r->touch(r->user, w, (void *)(uintptr_t)words, n);
    if (r->status == 0 && r->record)
        r->status = ls__record_array(r->record, w, words, n, kind);
}

/* Show the number of each row of the batch, two words, low first; -1 fills it
 * up. */
static void show_numbers(ls__recording *r, int64_t rows)
{
    ls__where at = {.phase = "batch", .what = "numbers of rows", .rows = rows};
    uint32_t *word = ls__new((size_t)rows, 2 * sizeof *word, "rows of a batch");

    if (!word)
        r->status = LS_ENOMEM;
    for (int64_t i = 0; word && i < rows; i++) {
        int64_t row = i < r->rows.real ? r->rows.row[i] : -1;

        word[2 * i] = (uint32_t)row;
        word[2 * i + 1] = (uint32_t)((uint64_t)row >> 32);
    }
    if (word)
        ls__recording_array(r, &at, word, 2 * rows, LS__INTEGERS);
    free(word);
}

/* Show a leaf, whose words they are, and its way. */
static void show_leaf(ls__recording *r, int64_t leaf, const uint32_t *words)
{
    ls__where at = {.phase = "batch", .what = "leaf of the data",
                    .first = leaf};
    ls__digest way[LS__WAY];
    int n = ls__record_rows_way(&r->rows, leaf, way);
    uint32_t word[8 * LS__WAY];

    LS__ASSERT(n >= 0 && n <= LS__WAY);
    for (int k = 0; k < 8 * n; k++) {
        const uint8_t *b = &way[k / 8].byte[4 * (k % 8)];

        word[k] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 |
                  (uint32_t)b[2] << 8 | b[3];
    }
    ls__recording_array(
        r, &at, words,
        ls__least(LS__LEAF, r->rows.tree.words - leaf * LS__LEAF),
        LS__INTEGERS);
    at.what = "way of the data";
    ls__recording_array(r, &at, word, 8 * n, LS__INTEGERS);
}

void ls__recording_numbers(ls__recording *r, int64_t rows)
{
    const ls__row_tree *t = &r->rows.tree;
    const uint32_t *words = t->kept;

    if (r->rows.real == 0 || r->status < 0)
        return;
    if (rows < r->rows.real) {
        r->status = ls__fail(LS_EINVAL, "a record: the batch has %lld rows, of "
                             "which the source gives %lld", (long long)rows,
                             (long long)r->rows.real);
        return;
    }
    show_numbers(r, rows);
    for (int64_t leaf = 0; leaf < t->done; leaf++)
        if (t->wanted[leaf]) {
            show_leaf(r, leaf, words);
            words += LS__LEAF;
        }
}

/* ------ the end ------ */

int ls_record_end(ls_record *r, int64_t batches, int n,
                  const ls_control *controls)
{
    LS__NEED_AS(r, "record", LS_EINVAL);

    int status = ls__controls_check(__func__, n, controls);

    if (status == 0 &&
        json_object_set_new(json_object_get(r->head, "state"), "after",
                            side(r->trainer, batches, n, controls)) < 0)
        status = ls__no_memory("a record's head", 0);
    if (status == 0)
        status = ls__record_finish(r);
    ls__record_drop(r);
    return status;
}
