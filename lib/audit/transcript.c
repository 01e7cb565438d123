/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a training's lines, when they are due, into its transcript. */
#include <lockstep/transcript.h>
#include "base/assert.h"
#include "base/error.h"
#include "base/json.h"
#include "audit/transcript.h"
#include "base/sha.h"
#include "base/utf8.h"
#include "state/over_ranks.h"

#include <stdlib.h>
#include <string.h>

/* ------ numbers as hex ------ */

static uint32_t float_bits(float x)
{
    uint32_t bits;

    if (x != x)
        return 0x7fc00000; /* payloads are no part of the contract */
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint64_t double_bits(double x)
{
    uint64_t bits;

    if (x != x)
        return UINT64_C(0x7ff8000000000000);
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* ------ lines ------ */

_Static_assert(LS__LINE_STEP > 4 * LS__HEX + 128, "roots, words and names");

/* Write a line, or compare it; the other ranks have none.  Whether the model's
 * file is the same is another question than whether the training is. */
static int put(ls_transcript *r, const char *text)
{
    static const char *const passed[] = {"contents", "model", NULL};

    return r->is_first ? ls__chain_put(&r->chain, text, passed) : 0;
}

static int put_state(ls_transcript *r)
{
    char text[LS__LINE_STEP];

    snprintf(text, sizeof text, "{\"kind\":\"state\",\"n\":%lld,\"prev\":"
             "\"%s\",\"root\":\"%s\",\"updates\":%lld}", (long long)r->batches,
             r->chain.prev, r->root, (long long)ls_trainer_step(r->trainer));
    return put(r, text);
}

/* A field of a line, or none where there is no root. */
static void add_root(char field[96], const char *name, const char *root)
{
    *field = 0;
    if (*root)
        snprintf(field, 96, "\"%s\":\"%s\",", name, root);
}

static int put_step(ls_transcript *r, const ls_result *of)
{
    char text[LS__LINE_STEP], root[2][LS__HEX], rows[96], gradient[96];
    int status = ls__details_roots(&r->details, of->updated, root[0], root[1]);

    if (status < 0)
        return status;
    add_root(rows, "rows", root[0]);
    add_root(gradient, "gradient", root[1]);
    snprintf(text, sizeof text, "{%s\"kind\":\"step\",\"loss\":\"%08x\","
             "\"lr\":\"%08x\",\"n\":%lld,\"norm\":\"%08x\",\"prev\":\"%s\",%s"
             "\"updated\":%d,\"weight\":\"%016llx\"}", gradient,
             float_bits(of->loss), float_bits(of->lr), (long long)r->batches,
             float_bits(of->grad_norm), r->chain.prev, rows, of->updated,
             (unsigned long long)double_bits(of->weight));
    return put(r, text);
}

/* Do steps take a line together? */
static bool shares_lines(const ls_transcript *r)
{
    return r->is_short && !r->has.rows && !r->has.gradient;
}

/* The line of the short steps since the last one. */
static int put_steps(ls_transcript *r)
{
    char text[LS__LINE_STEP], root[LS__HEX];

    LS__ASSERT(r->first <= r->batches);
    if (!shares_lines(r) || r->first == r->batches)
        return 0;
    ls__sha256_hex(&r->records, root);
    ls__sha256_init(&r->records);
    memset(r->before, 0, sizeof r->before);
    snprintf(text, sizeof text, "{\"first\":%lld,\"kind\":\"steps\",\"last\":"
             "%lld,\"prev\":\"%s\",\"root\":\"%s\"}", (long long)r->first,
             (long long)r->batches - 1, r->chain.prev, root);
    r->first = r->batches;
    return put(r, text);
}

/* ------ short steps ------ */

/* Hash a step's record, little end first: a bit for each word that differs from
 * the step before, and then these words.  Most steps change two, so that this
 * takes nanoseconds. */
static void add_record(ls_transcript *r, const ls_result *of)
{
    uint64_t weight = double_bits(of->weight);
    uint32_t now[LS__RECORD_WORDS] = {
        float_bits(of->lr), float_bits(of->loss), (uint32_t)weight,
        (uint32_t)(weight >> 32), float_bits(of->grad_norm),
        (uint32_t)of->updated};
    uint32_t record[1 + LS__RECORD_WORDS] = {0};
    int n = 1;

    for (int i = 0; i < LS__RECORD_WORDS; i++)
        if (now[i] != r->before[i]) {
            record[0] |= 1u << i;
            record[n++] = now[i];
        }
    memcpy(r->before, now, sizeof now);
    ls__sha256_words(&r->records, record, (size_t)n);
}

/* ------ states ------ */

/* All ranks: the line of a root. */
static int put_root(ls_transcript *r, const char root[LS__HEX])
{
    int status;

    memcpy(r->root, root, LS__HEX);
    status = put_steps(r);
    if (status == 0)
        status = put_state(r);
    status = ls__spread_agree(r->trainer, status);
    if (status < 0)
        return status;
    r->stated = r->batches;
    if (r->chain.compares)
        r->same = r->batches;
    return 0;
}

int ls__transcript_state(ls_transcript *r, int n, const ls_control *control)
{
    char root[LS__HEX];
    int status = ls__root_text(r->trainer, &r->room, r->batches, n, control,
                               root);

    return status < 0 ? status : put_root(r, root);
}

bool ls_transcript_is_due(const ls_transcript *r)
{
    LS__NEED_AS(r, "transcript", false);
    return r->batches % r->has.every == 0 && r->stated != r->batches;
}

/* ------ steps and events ------ */

static json_t *event_line(const ls_transcript *r, const char *what, int n,
                          const ls_setting *value)
{
    json_t *line = json_pack("{s:s,s:I,s:s,s:s}", "kind", "event", "n",
                             (json_int_t)r->batches, "prev", r->chain.prev,
                             "what", what);

    return ls__json_with_texts(line, n, value);
}

int ls__values_check(const char *function, const char *called, int n,
                     const ls_setting *value)
{
    static const char *const taken[] = {"kind", "n", "prev", "what", NULL};

    if (n < 0)
        return ls__fail(LS_EINVAL, "%s: %d %s", function, n, called);
    if (n > 0 && !value)
        return ls__null(function, called);
    for (int i = 0; i < n; i++) {
        if (!value[i].name || !value[i].value)
            return ls__fail(LS_EINVAL, "value %d: its %s is NULL", i,
                            value[i].name ? "text" : "name");
        if (!ls__utf8_is(value[i].name) || !ls__utf8_is(value[i].value))
            return ls__fail(LS_EINVAL, "value %d: its %s is no UTF-8", i,
                            ls__utf8_is(value[i].name) ? "text" : "name");
        for (int k = 0; taken[k]; k++)
            if (strcmp(value[i].name, taken[k]) == 0)
                return ls__fail(LS_EINVAL, "value \"%s\": is a field that "
                                "every event has", value[i].name);
    }
    return 0;
}

/* Put an event with n texts, and the fields of `more`; NULL: none. */
static int put_event(ls_transcript *r, const char *what, int n,
                     const ls_setting *value, json_t *more)
{
    int status = put_steps(r);
    json_t *line = status == 0 ? event_line(r, what, n, value) : NULL;
    bool good = line && (!more || json_object_update(line, more) == 0);
    char *text = good ? ls__line_write(line) : NULL;

    if (status == 0)
        status = text ? put(r, text) : ls__no_memory("an event", 0);
    free(text);
    json_decref(line);
    return status;
}

/* Writes an event for values that the program set since the last line: only the
 * program itself can repeat it. */
static int tell_sets(ls_transcript *r)
{
    int64_t sets = ls__state_of(r->trainer).sets;
    char times[24];
    ls_setting value = {"times", times};

    if (r->sets == sets)
        return 0;
    snprintf(times, sizeof times, "%lld", (long long)(sets - r->sets));
    r->sets = sets;
    return put_event(r, "set", 1, &value, NULL);
}

int ls_transcript_step(ls_transcript *r, int64_t batch,
                       const ls_result *result)
{
    LS__NEED_AS(r, "transcript", LS_EINVAL);
    LS__NEED(result);

    int status = 0;

    if (batch != r->batches)
        return ls__fail(LS_EINVAL, "batch %lld: the transcript's next one is "
                        "%lld", (long long)batch, (long long)r->batches);
    status = tell_sets(r);
    if (status == 0 && shares_lines(r))
        add_record(r, result);
    else if (status == 0)
        status = put_step(r, result);
    r->batches++;
    return status;
}

int ls_transcript_event(ls_transcript *r, const char *what, int n,
                        const ls_setting *value)
{
    LS__NEED_AS(r, "transcript", LS_EINVAL);
    LS__NEED(what);

    int status = ls__values_check(__func__, "values", n, value);

    if (status == 0)
        status = tell_sets(r);
    if (status == 0)
        status = put_event(r, what, n, value, NULL);
    return status;
}

int ls_transcript_saved(ls_transcript *r)
{
    LS__NEED_AS(r, "transcript", LS_EINVAL);

    char root[LS__HEX];
    ls_setting value = {"root", root};
    int status = ls__weights_root(r->trainer, &r->room, root);

    if (status == 0)
        status = ls_transcript_event(r, "saved", 1, &value);
    return ls__spread_agree(r->trainer, status);
}

void ls_transcript_head(const ls_transcript *r, char sha256[65])
{
    LS__NEED_OR(sha256, );
    *sha256 = 0;
    LS__NEED_AS(r, "transcript", );
    memcpy(sha256, r->chain.head, LS__HEX);
}

int ls__transcript_change(ls_transcript *r, json_t *change, int n,
                          const ls_control *control)
{
    int status = 0;

    if (r->is_first)
        status = put_event(r, "change", 0, NULL, change);
    status = ls__spread_agree(r->trainer, status);
    return status < 0 ? status : ls__transcript_state(r, n, control);
}

int ls_transcript_state(ls_transcript *r, int n, const ls_control *control)
{
    LS__NEED_AS(r, "transcript", LS_EINVAL);

    int status = ls__controls_check(__func__, n, control);

    if (r->stated == r->batches)
        return status;
    status = ls__spread_agree(r->trainer, status < 0 ? status : tell_sets(r));
    return status < 0 ? status : ls__transcript_state(r, n, control);
}

/* ------ the end ------ */

static int put_end(ls_transcript *r, const char *hash, const char *contents,
                   const char *model)
{
    char text[LS__LINE_STEP];

    snprintf(text, sizeof text, "{\"contents\":\"%s\",\"kind\":\"end\","
             "\"lines\":%lld,\"model\":\"%s\",\"n\":%lld,\"prev\":\"%s\","
             "\"root\":\"%s\",\"state\":\"%s\"}", contents,
             (long long)r->chain.lines + 1, model,
             (long long)r->batches, r->chain.prev, r->root, hash);
    return put(r, text);
}

/* The state at the end.  It may be another than the last line's though no batch
 * came between: the best weights, say, were taken. */
static int last_state(ls_transcript *r, int n, const ls_control *control)
{
    char root[LS__HEX];
    int status = ls__root_text(r->trainer, &r->room, r->batches, n, control,
                               root);

    if (status < 0 || (r->stated == r->batches && strcmp(root, r->root) == 0))
        return status;
    return put_root(r, root);
}

int ls_transcript_end(ls_transcript *r, int n, const ls_control *control,
                      const char *model)
{
    LS__NEED_AS(r, "transcript", LS_EINVAL);

    char hash[LS__HEX], digest[LS__HEX] = "", contents[LS__HEX] = "";
    int64_t bytes;
    int status = ls__controls_check(__func__, n, control);

    status = ls__spread_agree(r->trainer, status < 0 ? status : tell_sets(r));
    if (status == 0)
        status = last_state(r, n, control);
    if (status < 0)
        return status;
    ls_trainer_hash(r->trainer, hash);
    if (!*hash)
        status = LS_ENOMEM;
    if (status == 0 && model && r->is_first)
        status = ls_file_digest(model, &bytes, digest);
    if (status == 0 && model && r->is_first)
        status = ls_model_contents(model, contents);
    if (status == 0)
        status = put_end(r, hash, contents, digest);
    return ls__spread_agree(r->trainer, status);
}

int64_t ls_transcript_same(const ls_transcript *r)
{
    LS__NEED_AS(r, "transcript", LS_EINVAL);
    return r->same;
}
