/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens a transcript (an append-only log), goes on with one, closes it. */
#include "base/error.h"
#include "base/little.h"
#include "base/memory.h"
#include "base/sha.h"
#include "base/sized.h"
#include "file/changes.h"
#include "file/seek.h"
#include "state/over_ranks.h"
#include "audit/transcript.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A model of fewer FLOP a batch has steps below a millisecond. */
static const double SHORT = 1e8;

/* FLOP of steps that pay for a byte of a root: roots are to take a quarter of a
 * percent of the time where a core computes 250 GFLOP/s (as fast as any in f32)
 * and hashes 1 GB/s.  A step of no FLOP takes as long as STEP_FLOPS do, and a
 * root of no bytes as long as ROOT_BYTES. */
static const double PER_BYTE = 1e5, STEP_FLOPS = 4e5, ROOT_BYTES = 8192;
static const int64_t MOST_EVERY = 1 << 20;

/* ------ notes of checkpoints ------ */

/* A note of records that have no line yet: the hash so far, the block that
 * waits, the words of the last step, and the number of bytes. */
enum { WAY_WORDS = 8 + 16 + LS__RECORD_WORDS + 2, WAY = 8 * WAY_WORDS + 1 };

typedef struct way {
    uint32_t word[8], block[16], before[LS__RECORD_WORDS], size[2];
} way;

_Static_assert(sizeof(way) == 4 * WAY_WORDS, "a way is its words");
_Static_assert((int)WAY <= (int)LS_TRANSCRIPT_NOTE, "a way fits a note");

static void write_way(const ls_transcript *r, char text[WAY])
{
    uint64_t size = r->records.size;
    uint32_t all[WAY_WORDS];
    way w = {.size = {(uint32_t)size, (uint32_t)(size >> 32)}};

    memcpy(w.word, r->records.word, sizeof w.word);
    memcpy(w.block, r->records.block, size % 64);
    ls__little(w.block, 16, sizeof *w.block);
    memcpy(w.before, r->before, sizeof w.before);
    memcpy(all, &w, sizeof all);
    for (int i = 0; i < WAY_WORDS; i++)
        snprintf(text + 8 * i, 9, "%08" PRIx32, all[i]);
}

static bool read_way(ls_transcript *r, const char *text)
{
    uint32_t all[WAY_WORDS];
    way w;

    if (strlen(text) != WAY - 1 ||
        strspn(text, "0123456789abcdef") != WAY - 1)
        return false;
    for (int i = 0; i < WAY_WORDS; i++)
        sscanf(text + 8 * i, "%8" SCNx32, &all[i]);
    memcpy(&w, all, sizeof w);
    ls__little(w.block, 16, sizeof *w.block);
    memcpy(r->records.word, w.word, sizeof w.word);
    memcpy(r->records.block, w.block, sizeof w.block);
    memcpy(r->before, w.before, sizeof w.before);
    r->records.size = w.size[0] | (uint64_t)w.size[1] << 32;
    return true;
}

int ls_transcript_note(ls_transcript *r, char note[LS_TRANSCRIPT_NOTE])
{
    LS__NEED_AS(r, "transcript", LS_EINVAL);
    LS__NEED(note);

    int64_t at = r->is_first ? ls__chain_sync(&r->chain) : 0;
    char records[WAY];

    *note = 0;
    if (at < 0)
        return (int)at;
    write_way(r, records);
    snprintf(note, LS_TRANSCRIPT_NOTE, "%lld %lld %lld %lld %lld %lld %s %s %s "
             "%d %d",
             (long long)at, (long long)r->chain.lines, (long long)r->has.every,
             (long long)r->batches, (long long)r->stated, (long long)r->first,
             r->chain.prev, records, *r->root ? r->root : "-",
             r->has.rows, r->has.gradient);
    return 0;
}

/* A note may be anybody's: a checkpoint's seal is no signature. */
static int read_note(ls_transcript *r, const char *note, const char *path)
{
    long long at, lines, every, batches, stated, first;
    char prev[LS__HEX], records[WAY];
    int rows, gradient;

    if (sscanf(note, "%lld %lld %lld %lld %lld %lld %64s %256s %64s %d %d",
               &at, &lines, &every, &batches, &stated, &first, prev, records,
               r->root, &rows, &gradient) != 11 ||
        at < 0 || lines < 1 || every < 1 || batches < 0 || stated > batches ||
        first < 0 || first > batches || !ls__is_digest(prev) ||
        !read_way(r, records) || !ls__is_digest(r->root))
        return ls__fail(LS_EFORMAT, "%s: the checkpoint's note of the "
                        "transcript is not one that lockstep writes", path);
    r->has = (ls__extent){.every = every, .rows = rows == 1,
                          .gradient = gradient == 1};
    r->batches = batches;
    r->stated = stated;
    r->first = first;
    return r->is_first ? ls__chain_go_on(&r->chain, path, at, lines,
                                         prev, r->options)
                       : 0;
}

/* ------ opening ------ */

/* Read on to the state of so many batches, behind the head that was read. */
static int seek(ls_transcript *r, const ls_transcript_options *o)
{
    json_t *now = ls__head_all_options(r->trainer, o);
    int status = now ? ls__seek(&r->chain, o->from, r->options, now)
                     : ls__no_memory("a transcript's options", 0);

    json_decref(now);
    return status;
}

/* Begin the file, or the comparison with one: from its first state on, or from
 * that of o->from batches. */
static int begin(ls_transcript *r, const ls_transcript_options *o, int n,
                 const ls_control *control)
{
    bool later = o->compare && o->from >= 0;
    int status = 0;

    if (r->is_first)
        status = o->compare ? ls__chain_open(&r->chain, o->path)
                            : ls__chain_create(&r->chain, o->path);
    if (status == 0 && r->is_first)
        status = ls__head_put(&r->chain, r->trainer, o, &r->has, r->options);
    if (status == 0 && r->is_first && later)
        status = seek(r, o);
    status = ls__spread_agree(r->trainer, status);
    if (status == 0 && ls__spread_is(r->trainer))
        status = ls__spread_tell(r->trainer, &r->has, sizeof r->has);
    r->batches = r->first = later ? o->from : 0;
    r->stated = -1;
    return status < 0 ? status : ls__transcript_state(r, n, control);
}

/* The head, which is written, says what files a run reads: none may come or
 * go. */
static int check_files(const json_t *change, const char *path)
{
    static const char file[] = "file --";

    for (int side = 0; side < 2; side++) {
        const char *name;
        json_t *value;

        json_object_foreach (json_object_get(change, side ? "to" : "from"),
                             name, value)
            if (strncmp(name, file, sizeof file - 1) == 0)
                return ls__fail(LS_EINVAL, "%s: its head says which files the "
                                "run reads, %s %s: go on %s it, or without a "
                                "transcript", path,
                                side ? "and has no" : "among them",
                                name + sizeof file - 3,
                                side ? "without" : "with");
    }
    return 0;
}

/* A run that goes on with other options says so. */
static int go_on(ls_transcript *r, const ls_transcript_options *o, int n,
                 const ls_control *control)
{
    json_t *now = NULL, *change = NULL;
    int status = ls__spread_agree(r->trainer, read_note(r, o->resume, o->path));
    bool differs = false;

    if (status == 0 && r->is_first) {
        now = ls__head_all_options(r->trainer, o);
        change = now ? ls__changes_between(r->options, now) : NULL;
        differs = change && !json_equal(r->options, now);
        status = change ? check_files(change, o->path)
                        : ls__no_memory("a transcript's options", 0);
    }
    status = ls__spread_agree(r->trainer, status);
    if (status == 0 && ls__spread_is(r->trainer))
        status = ls__spread_tell(r->trainer, &differs, sizeof differs);
    if (status == 0 && differs)
        status = ls__transcript_change(r, change, n, control);
    json_decref(now);
    json_decref(change);
    return status;
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
    if (o->source && !ls__is_digest(o->source))
        return ls__fail(LS_EINVAL, "ls_transcript_open: options.source "
                        "\"%.80s\" is not 64 hex digits", o->source);
    if (o->compare && o->resume)
        return ls__fail(LS_EINVAL, "ls_transcript_open: a comparison does not "
                        "go on: options.from says where it begins");
    return ls__values_check("ls_transcript_open", "options.settings",
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
    if (status < 0 || !(r = ls__new(1, sizeof *r, "a transcript")))
        return ls__spread_agree(t, status < 0 ? status : LS_ENOMEM);
    r->trainer = t;
    r->is_first = ls__spread_first(t);
    r->has = (ls__extent){
        .every = o.every ? o.every : ls_transcript_every(t, o.step_flops),
        .rows = o.rows, .gradient = o.gradient};
    r->is_short = o.step_flops > 0 && o.step_flops < SHORT;
    r->same = -1;
    ls__sha256_init(&r->records);
    r->sets = ls__state_of(t).sets;
    r->options = json_object();
    status = r->options ? ls__root_room_open(&r->room, t)
                        : ls__no_memory("a transcript's options", 0);
    status = ls__spread_agree(t, status);
    if (status == 0)
        status = o.resume ? go_on(r, &o, n, control)
                          : begin(r, &o, n, control);
    if (status == 0)
        status = ls__spread_agree(t, ls__details_open(&r->details, t,
                                                      r->has.rows,
                                                      r->has.gradient));
    if (status < 0)
        ls_transcript_close(r);
    else
        *out = r;
    return status;
}

int ls_transcript_close(ls_transcript *r)
{
    int status = 0;

    if (!r)
        return 0;
    status = ls__chain_close(&r->chain);
    ls__details_close(&r->details);
    ls__root_room_close(&r->room);
    json_decref(r->options);
    free(r);
    return status;
}

/* ------ */

void ls_transcript_defaults_bytes(ls_transcript_options *options, size_t size)
{
    LS__NEED_OR(options, );

    ls_transcript_options o = {.from = -1, .rows = true};

    ls__sized_defaults(options, size, &o, sizeof o);
}

int64_t ls_transcript_every(const ls_trainer *t, double step_flops)
{
    LS__NEED_AS(t, "trainer", 0);

    const ls__state is = ls__state_of(t);
    double bytes = 4. * (double)is.layout->floats * (1 + is.moments);
    double swift = is.options->precision == LS_F32_LAYERS ? 1 : 4;
    int64_t every = 1;

    if (!(step_flops > 0))
        return 256;
    while (every < MOST_EVERY && (double)every * (step_flops + STEP_FLOPS) <
                                     PER_BYTE * swift * (bytes + ROOT_BYTES))
        every *= 2;
    return every;
}
