/* SPDX-License-Identifier: BSD-3-Clause */
/* Which lines a training has, and when. */
#include <lockstep/transcript.h>
#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"
#include "together/spread.h"
#include "transcript/lines.h"
#include "transcript/head.h"
#include "transcript/line.h"
#include "transcript/root.h"
#include "base/sha.h"

#include <stdlib.h>
#include <string.h>

struct ls_transcript {
    ls_trainer *trainer;
    ls__chain chain;   /* of the first rank; closed on the others */
    bool is_first;
    int64_t every;
    int64_t batches;   /* taken */
    int64_t stated;    /* at the last state line; -1: there was none */
    char root[LS__HEX]; /* on it */
    int64_t same;      /* comparing: at the last state that was equal */
    bool is_short;     /* steps take a line together */
    int64_t first;     /* of them */
    char records[LS__HEX]; /* the hash of their records, one after the other */
};

/* A model of fewer FLOP a batch has steps below a millisecond. */
static const double SHORT = 1e8;

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

/* Write a line, or compare it; the other ranks have none.  Whether the model's
 * file is the same is another question than whether the training is. */
static int put(ls_transcript *r, const char *text)
{
    static const char *const passed[] = {"model", NULL};

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

static int put_step(ls_transcript *r, const ls_result *of)
{
    char text[LS__LINE_STEP];

    snprintf(text, sizeof text, "{\"kind\":\"step\",\"loss\":\"%08x\",\"lr\":"
             "\"%08x\",\"n\":%lld,\"norm\":\"%08x\",\"prev\":\"%s\","
             "\"updated\":%d,\"weight\":\"%016llx\"}", float_bits(of->loss),
             float_bits(of->lr), (long long)r->batches,
             float_bits(of->grad_norm), r->chain.prev, of->updated,
             (unsigned long long)double_bits(of->weight));
    return put(r, text);
}

/* The line of the short steps since the last one. */
static int put_steps(ls_transcript *r)
{
    char text[LS__LINE_STEP];

    if (!r->is_short || r->first == r->batches)
        return 0;
    snprintf(text, sizeof text, "{\"first\":%lld,\"kind\":\"steps\",\"last\":"
             "%lld,\"prev\":\"%s\",\"root\":\"%s\"}", (long long)r->first,
             (long long)r->batches - 1, r->chain.prev, r->records);
    r->first = r->batches;
    memset(r->records, '0', LS__HEX - 1);
    return put(r, text);
}

/* ------ short steps ------ */

static uint8_t *append(uint8_t *at, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *at++ = (uint8_t)(x >> 8 * i);
    return at;
}

/* A record of 32 bytes, hashed behind the hash of those before it. */
static void add_record(ls_transcript *r, const ls_result *of)
{
    uint8_t record[32], *at = record;
    ls__sha256 sha;

    at = append(at, (uint64_t)r->batches, 8);
    at = append(at, float_bits(of->lr), 4);
    at = append(at, float_bits(of->loss), 4);
    at = append(at, double_bits(of->weight), 8);
    at = append(at, float_bits(of->grad_norm), 4);
    append(at, of->updated, 4);
    ls__sha256_init(&sha);
    ls__sha256_update(&sha, r->records, LS__HEX - 1);
    ls__sha256_update(&sha, record, sizeof record);
    ls__sha256_hex(&sha, r->records);
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

static int state(ls_transcript *r, int n, const ls_control *control)
{
    char root[LS__HEX];
    int status = ls_trainer_root(r->trainer, r->batches, n, control, root);

    return status < 0 ? status : put_root(r, root);
}

bool ls_transcript_is_due(const ls_transcript *r)
{
    LS__NEED_AS(r, "transcript", false);
    return r->batches % r->every == 0 && r->stated != r->batches;
}

int ls_transcript_state(ls_transcript *r, int n, const ls_control *control)
{
    LS__NEED_AS(r, "transcript", LS_EINVAL);

    int status = ls__controls_check(__func__, n, control);

    if (status < 0 || r->stated == r->batches)
        return status;
    return state(r, n, control);
}

/* ------ steps and events ------ */

int ls_transcript_step(ls_transcript *r, int64_t batch,
                       const ls_result *result)
{
    LS__NEED_AS(r, "transcript", LS_EINVAL);
    LS__NEED(result);

    int status = 0;

    if (batch != r->batches)
        return ls__fail(LS_EINVAL, "batch %lld: the transcript's next one is "
                        "%lld", (long long)batch, (long long)r->batches);
    if (r->is_short)
        add_record(r, result);
    else
        status = put_step(r, result);
    r->batches++;
    return status;
}

static json_t *event_line(const ls_transcript *r, const char *what, int n,
                          const ls_setting *value)
{
    json_t *line = json_pack("{s:s,s:I,s:s,s:s}", "kind", "event", "n",
                             (json_int_t)r->batches, "prev", r->chain.prev,
                             "what", what);

    for (int i = 0; line && i < n; i++)
        if (json_object_set_new(line, value[i].name,
                                json_string(value[i].value)) < 0) {
            json_decref(line);
            line = NULL;
        }
    return line;
}

static int check_values(const char *function, const char *called, int n,
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
        for (int k = 0; taken[k]; k++)
            if (strcmp(value[i].name, taken[k]) == 0)
                return ls__fail(LS_EINVAL, "value \"%s\": is a field that "
                                "every event has", value[i].name);
    }
    return 0;
}

int ls_transcript_event(ls_transcript *r, const char *what, int n,
                        const ls_setting *value)
{
    LS__NEED_AS(r, "transcript", LS_EINVAL);
    LS__NEED(what);

    int status = check_values(__func__, "values", n, value);
    json_t *line = NULL;
    char *text = NULL;

    if (status == 0)
        status = put_steps(r);
    if (status < 0)
        return status;
    line = event_line(r, what, n, value);
    text = line ? ls__line_write(line) : NULL;
    status = text ? put(r, text) : ls__no_memory("an event", 0);
    free(text);
    json_decref(line);
    return status;
}

/* ------ the end ------ */

static int put_end(ls_transcript *r, const char *hash, const char *model)
{
    char text[LS__LINE_STEP];

    snprintf(text, sizeof text, "{\"kind\":\"end\",\"lines\":%lld,\"model\":"
             "\"%s\",\"n\":%lld,\"prev\":\"%s\",\"root\":\"%s\",\"state\":"
             "\"%s\"}", (long long)r->chain.lines + 1, model,
             (long long)r->batches, r->chain.prev, r->root, hash);
    return put(r, text);
}

/* The state at the end, which may be another than the last line's though no
 * batch came between: the best weights, say, were taken. */
static int last_state(ls_transcript *r, int n, const ls_control *control)
{
    char root[LS__HEX];
    int status = ls_trainer_root(r->trainer, r->batches, n, control, root);

    if (status < 0 || (r->stated == r->batches && strcmp(root, r->root) == 0))
        return status;
    return put_root(r, root);
}

int ls_transcript_end(ls_transcript *r, int n, const ls_control *control,
                      const char *model)
{
    LS__NEED_AS(r, "transcript", LS_EINVAL);

    char hash[LS__HEX], digest[LS__HEX] = "";
    int64_t bytes;
    int status = ls__controls_check(__func__, n, control);

    if (status == 0)
        status = last_state(r, n, control);

    if (status < 0)
        return status;
    ls_trainer_hash(r->trainer, hash);
    if (!*hash)
        status = LS_ENOMEM;
    if (status == 0 && model && r->is_first)
        status = ls_file_digest(model, &bytes, digest);
    if (status == 0)
        status = put_end(r, hash, digest);
    return ls__spread_agree(r->trainer, status);
}

int64_t ls_transcript_same(const ls_transcript *r)
{
    LS__NEED_AS(r, "transcript", LS_EINVAL);
    return r->same;
}

/* ------ notes of checkpoints ------ */

int ls_transcript_note(ls_transcript *r, char note[LS_TRANSCRIPT_NOTE])
{
    LS__NEED_AS(r, "transcript", LS_EINVAL);
    LS__NEED(note);

    int64_t at = r->is_first ? ls__chain_sync(&r->chain) : 0;

    *note = 0;
    if (at < 0)
        return (int)at;
    snprintf(note, LS_TRANSCRIPT_NOTE, "%lld %lld %lld %lld %lld %lld %s %s %s",
             (long long)at, (long long)r->chain.lines, (long long)r->every,
             (long long)r->batches, (long long)r->stated, (long long)r->first,
             r->chain.prev, r->records, *r->root ? r->root : "-");
    return 0;
}

/* A note may be anybody's: a checkpoint's seal is no signature. */
static int read_note(ls_transcript *r, const char *note, const char *path)
{
    long long at, lines, every, batches, stated, first;
    char prev[LS__HEX];

    if (sscanf(note, "%lld %lld %lld %lld %lld %lld %64s %64s %64s", &at,
               &lines, &every, &batches, &stated, &first, prev, r->records,
               r->root) != 9 ||
        at < 0 || lines < 1 || every < 1 || batches < 0 || stated > batches ||
        first < 0 || first > batches || !ls__is_digest(prev) ||
        !ls__is_digest(r->records) || !ls__is_digest(r->root))
        return ls__fail(LS_EFORMAT, "%s: the checkpoint's note of the "
                        "transcript is not one that lockstep writes", path);
    r->every = every;
    r->batches = batches;
    r->stated = stated;
    r->first = first;
    return r->is_first ? ls__chain_go_on(&r->chain, path, at, lines, prev) : 0;
}

/* ------ opening ------ */

/* What the first rank's file says goes for all. */
static int tell_every(ls_transcript *r)
{
    return ls__spread_is(r->trainer)
               ? ls__spread_tell(r->trainer, &r->every, sizeof r->every)
               : 0;
}

static int begin(ls_transcript *r, const ls_transcript_options *o, int n,
                 const ls_control *control)
{
    int status = 0;

    if (r->is_first)
        status = o->compare ? ls__chain_open(&r->chain, o->path)
                            : ls__chain_create(&r->chain, o->path);
    if (status == 0 && r->is_first)
        status = ls__head_put(&r->chain, r->trainer, o, &r->every);
    status = ls__spread_agree(r->trainer, status);
    if (status == 0)
        status = tell_every(r);
    r->stated = -1;
    return status < 0 ? status : state(r, n, control);
}

/* Read on to the state line of so many batches, and compare it. */
static int begin_at(ls_transcript *r, const ls_transcript_options *o, int n,
                    const ls_control *control)
{
    int status = 0;

    if (r->is_first) {
        status = ls__chain_open(&r->chain, o->path);
        if (status == 0)
            status = ls__head_put(&r->chain, r->trainer, o, &r->every);
        if (status == 0)
            status = ls__head_seek(&r->chain, o->from);
    }
    status = ls__spread_agree(r->trainer, status);
    if (status == 0)
        status = tell_every(r);
    r->batches = r->first = o->from;
    r->stated = -1;
    return status < 0 ? status : state(r, n, control);
}

static int open_any(ls_transcript *r, const ls_transcript_options *o, int n,
                    const ls_control *control)
{
    if (o->resume)
        return ls__spread_agree(r->trainer, read_note(r, o->resume, o->path));
    if (o->compare && o->from >= 0)
        return begin_at(r, o, n, control);
    r->batches = r->first = 0;
    return begin(r, o, n, control);
}

static int take_options(ls_transcript_options *o,
                        const ls_transcript_options *from)
{
    int status;

    *o = ls_transcript_defaults();
    status = ls__sized_take("transcript", o, sizeof *o, from);

    if (status < 0)
        return status;
    if (!o->path || !o->program)
        return ls__fail(LS_EINVAL, "ls_transcript_open: options.%s is NULL",
                        o->path ? "program" : "path");
    if (o->every < 0 || o->n_files < 0 || (o->n_files && !o->files))
        return ls__fail(LS_EINVAL, "ls_transcript_open: every %lld, %d "
                        "settings, %d files", (long long)o->every,
                        o->n_settings, o->n_files);
    if (o->compare && o->resume)
        return ls__fail(LS_EINVAL, "ls_transcript_open: a comparison does not "
                        "go on: options.from says where it begins");
    return check_values("ls_transcript_open", "options.settings",
                        o->n_settings, o->settings);
}

int ls_transcript_open(ls_transcript **out, ls_trainer *t,
                       const ls_transcript_options *options, int n,
                       const ls_control *control)
{
    LS__NEED_AS(out, "transcript", LS_EINVAL);
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(options);

    ls_transcript_options o;
    ls_transcript *r;
    int status = ls__controls_check(__func__, n, control);

    *out = NULL;
    if (status == 0)
        status = take_options(&o, options);
    if (status < 0)
        return status;
    if (!(r = ls__new(1, sizeof *r, "a transcript")))
        return LS_ENOMEM;
    r->trainer = t;
    r->is_first = ls__spread_first(t);
    r->is_short = o.step_flops > 0 && o.step_flops < SHORT;
    r->every = o.every ? o.every : ls_transcript_every(t, o.step_flops);
    r->same = -1;
    memset(r->records, '0', LS__HEX - 1);
    status = open_any(r, &o, n, control);
    if (status < 0)
        ls_transcript_close(r);
    else
        *out = r;
    return status;
}

int ls_transcript_close(ls_transcript *r)
{
    int status = r ? ls__chain_close(&r->chain) : 0;

    free(r);
    return status;
}

/* ------ */

void ls_transcript_defaults_bytes(ls_transcript_options *options, size_t size)
{
    LS__NEED_OR(options, );

    ls_transcript_options o = {.from = -1};

    ls__sized_defaults(options, size, &o, sizeof o);
}

int64_t ls_transcript_every(const ls_trainer *t, double step_flops)
{
    LS__NEED_AS(t, "trainer", 0);

    double bytes = 4. * (double)t->model.params.floats *
                   (1 + t->moments);
    int64_t every = 1;

    if (!(step_flops > 0))
        return 256;
    while (every < 4096 && (double)every < 12000 * bytes / step_flops)
        every *= 2;
    return every;
}
