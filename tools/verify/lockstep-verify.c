/* SPDX-License-Identifier: BSD-3-Clause */
/* lockstep-verify: is a published training what its transcript says?
 *
 * Three questions are kept apart: are these the published bytes (files), is the
 * state in a checkpoint the committed one (state), and does training again give
 * the same lines (replay).  Each gets a line, "same", "differs: .." or "not
 * asked". */
#define _GNU_SOURCE
#include "opt/opt.h"
#include "verify/answers.h"
#include "verify/attest.h"
#include "verify/dispute.h"
#include "verify/files.h"
#include "verify/one_checkpoint.h"
#include "verify/retrain.h"
#include "verify/segments.h"
#include "verify/step_record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char opt_program_name[] = "lockstep-verify";

typedef struct settings {
    const char *data, *weights, *checkpoint, *beacon, *attest, *workers;
    const char *dispute, *referee, *trainer, *record;
    double wait;
    bool trace_bits;
    int64_t from, sample;
    bool only_bytes, only_state, json;
} settings;

#define AT(member) offsetof(settings, member)

/* Marks: what an option has a part in, besides the training of one run. */
enum {
    TRACE = 1, RECORD = 2, DISPUTE = 4, TWO = 8, BYTES = 16, STATES = 32
};

/* clang-format off */
static const opt options[] = {
    { OPT_ROW("data", "PATH", OPT_TEXT, AT(data), NULL, "",
              "the file that the run read, or the folder of several"),
      .marks = RECORD | DISPUTE | BYTES | STATES },
    { OPT_ROW("weights", "FILE", OPT_TEXT, AT(weights), NULL, "",
              "the model that the run saved"), .marks = BYTES },
    { OPT_ROW("checkpoint", "DIR", OPT_TEXT, AT(checkpoint), NULL, "",
              "the run's checkpoints"), .marks = STATES },
    { OPT_ROW("from", "STEP", OPT_COUNT, AT(from), NULL, "",
              "train from the checkpoint of so many batches"),
      .needs = "checkpoint", .marks = STATES },
    { OPT_ROW("sample", "K", OPT_COUNT, AT(sample), NULL, "",
              "train K of the parts between checkpoints"),
      .needs = "checkpoint", .not_with = "from" },
    { OPT_ROW("beacon", "HEX", OPT_TEXT, AT(beacon), NULL, "",
              "what draws them: public, and younger than the transcript"),
      .needs = "sample" },
    { OPT_ROW("only-bytes", NULL, OPT_FLAG, AT(only_bytes), NULL, "",
              "compare files; train nothing"), .not_with = "only-state",
      .marks = BYTES },
    { OPT_ROW("only-state", NULL, OPT_FLAG, AT(only_state), NULL, "",
              "compare the states of the checkpoints; train nothing"),
      .needs = "checkpoint", .marks = STATES },
    { OPT_ROW("attest", "FILE.json", OPT_TEXT, AT(attest), NULL, "",
              "write what was found as an in-toto statement, to sign"),
      .marks = BYTES | STATES },
    { OPT_ROW("dispute", "DIR", OPT_TEXT, AT(dispute), NULL, "",
              "answer for this side; with two files, for both"),
      .marks = DISPUTE },
    { OPT_ROW("wait", "S", OPT_REAL, AT(wait), NULL, "3600",
              "seconds that the other side may take for an answer"),
      .needs = "dispute", .marks = DISPUTE },
    { OPT_ROW("referee", "PROGRAM", OPT_TEXT, AT(referee), NULL, "",
              "who judges the evidence: referee/referee.c, compiled"),
      .needs = "dispute", .marks = DISPUTE },
    { OPT_ROW("record", "STEP[:DEVICE]", OPT_TEXT, AT(record), NULL, "",
              "train again up to a step and write its record to the other "
              "file (.lsr)"),
      .not_with = "dispute", .marks = RECORD },
    { OPT_ROW("trainer", "PROGRAM", OPT_TEXT, AT(trainer), NULL, "",
              "who trains again (the lockstep-train beside this program)"),
      .marks = RECORD | DISPUTE | STATES },
    { OPT_ROW("trace-bits", NULL, OPT_FLAG, AT(trace_bits), NULL, "",
              "of two records (.lsr), the first operator that differs"),
      .not_with = "dispute", .marks = TRACE },
    { OPT_ROW("workers", "N", OPT_TEXT, AT(workers), NULL, "",
              "threads; never changes a result (min(devices, cores))"),
      .marks = RECORD | DISPUTE | STATES },
    { OPT_ROW("json", NULL, OPT_FLAG, AT(json), NULL, "",
              "one object of JSON"), .marks = TWO | BYTES | STATES },
};
/* clang-format on */

static const opt_model only = {
    .name = "",
    .about = "Train a published run again and compare every line of its "
             "transcript;\nof two transcripts, the first line that differs.",
    .note = "Exit status: 0 the same; 1 it could not be done; 2 wrong usage; "
            "3 files,\n4 a state, 5 the training differ.",
};
static const opt_model *const models[] = {&only};

typedef struct run {
    opt_program program;
    settings set;
    opt_line line;
    published of;
    answers answers;
    int replayed, segments;
    int differs; /* the exit status that says what does; 0: nothing */
} run;

/* ------ the questions ------ */

static int ask_files(run *r)
{
    answer *a = &r->answers.of[FILES];

    a->is_asked = true;
    return files_compare(&r->of, r->set.data, r->set.weights, &a->same,
                         a->text);
}

/* Train from one place to another. */
static int replay_part(run *r, int64_t first, int64_t last, answer *a)
{
    replay part = {.of = &r->of, .data = r->set.data,
                   .workers = r->set.workers, .trainer = r->set.trainer,
                   .unknown = r->answers.unknown, .first = first,
                   .until = last < published_batches(&r->of) || !last
                                ? last
                                : -1};
    bool folder = first || published_part(&r->of, last) >
                               published_part(&r->of, first);
    one_checkpoint from;
    int status = folder ? one_checkpoint_open(&from, r->set.checkpoint, first)
                        : OPT_GO;

    if (status != OPT_GO)
        return status;
    part.checkpoint = folder ? from.folder : NULL;
    if (!r->of.facts.is_whole)
        part.until = last;
    status = replay_run(&part, last, &a->same, a->text);
    r->answers.trained = true;
    if (folder)
        one_checkpoint_close(&from);
    return status;
}

/* A state is compared where a run that goes on from it begins. */
static int ask_state(run *r)
{
    answer *a = &r->answers.of[STATE];
    segments all;
    int status = segments_find(&all, r->set.checkpoint,
                               published_batches(&r->of) + 1);
    int known = 0;
    char root[65];

    a->is_asked = a->same = true;
    for (int i = 0; i < all.count && status == OPT_GO && a->same; i++) {
        int64_t at = all.of[i].first;

        if (at == 0 || (r->set.from && at != r->set.from) ||
            ls_transcript_root_at(r->of.path, at, root) < 0)
            continue;
        known++;
        status = replay_part(r, at, at, a);
    }
    if (status == OPT_GO && a->same && known)
        snprintf(a->text, sizeof a->text, "%d checkpoint%s %s the committed "
                 "state", known, known > 1 ? "s" : "", known > 1 ? "have"
                                                                : "has");
    else if (status == OPT_GO && a->same)
        status = opt_fail(OPT_FAILED, "%s: no checkpoint there is of a batch "
                          "whose state %s has", r->set.checkpoint, r->of.path);
    segments_free(&all);
    return status;
}

static int ask_sample(run *r, answer *a)
{
    segments all;
    int status = segments_find(&all, r->set.checkpoint,
                               published_batches(&r->of));
    int k = r->set.sample < all.count ? (int)r->set.sample : all.count;

    if (status == OPT_GO)
        status = segments_draw(&all, k, r->set.beacon, r->of.facts.file);
    a->same = true;
    for (int i = 0; i < k && status == OPT_GO && a->same; i++)
        status = replay_part(r, all.of[i].first, all.of[i].last, a);
    r->replayed = k;
    r->segments = all.count;
    if (status == OPT_GO && a->same)
        snprintf(a->text, sizeof a->text, "%d of %d segments, drawn by "
                 "SHA-256(beacon, digest of the file); if one segment is wrong "
                 "it went unseen with probability %.3g, if ten are, %.3g", k,
                 all.count, segments_unseen(&all, k, 1),
                 segments_unseen(&all, k, 10));
    segments_free(&all);
    return status;
}

static int ask_replay(run *r)
{
    answer *a = &r->answers.of[REPLAY];

    a->is_asked = true;
    if (r->set.sample)
        return ask_sample(r, a);
    r->replayed = !r->set.from;
    r->segments = 1;
    return replay_part(r, r->set.from, published_batches(&r->of), a);
}

/* ------ the answers ------ */

static void give_answers(run *r)
{
    answers_give(&r->answers, published_text(&r->of, "source"), r->set.json);
    for (int i = QUESTIONS - 1; i >= 0; i--)
        if (r->answers.of[i].is_asked && !r->answers.of[i].same)
            r->differs = FIRST_STATUS + i;
}

/* ------ */

static int verify_one(run *r)
{
    const settings *set = &r->set;
    int status = published_open(&r->of, r->line.path[0]);

    if (status == OPT_GO && !set->only_state)
        status = ask_files(r);
    if (status == OPT_GO && set->checkpoint && !set->only_bytes)
        status = ask_state(r);
    if (status == OPT_GO && !set->only_bytes && !set->only_state &&
        r->answers.of[FILES].same)
        status = ask_replay(r);
    if (status == OPT_GO)
        give_answers(r);
    if (status == OPT_GO && !r->of.facts.is_whole)
        fprintf(stderr, "note: %s has no end: the run was stopped, or still "
                "runs\n", r->of.path);
    if (status == OPT_GO && set->attest && !r->differs)
        status = attest_write(set->attest, &r->of,
                              set->weights ? set->weights : "model",
                              r->replayed, r->segments);
    published_close(&r->of);
    return status;
}

static void print_two(const ls_transcript_difference *d)
{
    json_t *all = json_pack("{s:b,s:I,s:s}", "same", d->same, "line",
                            (json_int_t)d->line, "text", d->text);

    json_dumpf(all, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(all);
}

static int verify_two(run *r)
{
    ls_transcript_difference d = {.same = true};
    int status = OPT_GO;

    for (int i = 0; i < 2 && status == OPT_GO; i++) {
        status = published_open(&r->of, r->line.path[i]);
        published_close(&r->of);
    }
    if (status == OPT_GO)
        status = opt_check(ls_transcript_compare(r->line.path[0],
                                                 r->line.path[1], &d));
    if (status != OPT_GO)
        return status;
    if (r->set.json)
        print_two(&d);
    else if (d.same)
        printf("same: %lld lines\n", (long long)d.line);
    else
        printf("differs: %s\n", d.text);
    r->differs = d.same ? 0 : FIRST_STATUS + REPLAY;
    return OPT_GO;
}

/* One side. */
static int take_part(run *r, const char *path)
{
    dispute d = {.of = {.of = &r->of, .data = r->set.data,
                        .workers = r->set.workers,
                        .unknown = r->answers.unknown,
                        .trainer = r->set.trainer, .until = -1},
                 .folder = r->set.dispute, .referee = r->set.referee,
                 .seconds = r->set.wait};
    bool same = false;
    int status = published_open(&r->of, path);

    if (status == OPT_GO)
        status = dispute_run(&d, &same);
    published_close(&r->of);
    r->differs = same ? 0 : FIRST_STATUS + REPLAY;
    return status;
}

/* Both sides on one machine: the second in a process of its own. */
static int take_both_parts(run *r)
{
    pid_t child = fork();
    int status, state;

    if (child < 0)
        return opt_fail(OPT_FAILED, "no process");
    if (child == 0) {
        usleep(200000); /* the first file is a */
        if (!freopen("/dev/null", "w", stdout))
            _exit(OPT_FAILED);
        _exit(take_part(r, r->line.path[1]));
    }
    status = take_part(r, r->line.path[0]);
    while (waitpid(child, &state, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static int compare_records(run *r)
{
    bool same = false;
    int status = step_record_compare(&r->line, &same);

    r->differs = same ? 0 : FIRST_STATUS + REPLAY;
    return status;
}

static int write_record(run *r)
{
    replay all = {.of = &r->of, .data = r->set.data, .workers = r->set.workers,
                  .trainer = r->set.trainer};
    int status = r->line.paths ? published_open(&r->of, r->line.path[0])
                               : OPT_GO;

    if (status == OPT_GO)
        status = step_record_write(&all, r->set.record, &r->line);
    published_close(&r->of);
    return status;
}

static int answer_all(run *r)
{
    if (r->set.trace_bits)
        return compare_records(r);
    if (r->set.record)
        return write_record(r);
    if (r->set.dispute)
        return r->line.paths == 2 ? take_both_parts(r)
                                  : take_part(r, r->line.path[0]);
    return r->line.paths == 2 ? verify_two(r) : verify_one(r);
}

/* Refuse options that have no part in what is done. */
static int check_mode(const run *r)
{
    if (r->set.trace_bits)
        return opt_refuse_others(&r->line, TRACE, "--trace-bits");
    if (r->set.record)
        return opt_refuse_others(&r->line, RECORD, "--record");
    if (r->set.dispute)
        return opt_refuse_others(&r->line, DISPUTE, "--dispute");
    if (r->line.paths == 2)
        return opt_refuse_others(&r->line, TWO,
                                 "a comparison of two transcripts");
    if (r->set.only_bytes)
        return opt_refuse_others(&r->line, BYTES, "--only-bytes");
    if (r->set.only_state)
        return opt_refuse_others(&r->line, STATES, "--only-state");
    return OPT_GO;
}

static int check(const run *r)
{
    const char *beacon = r->set.beacon;
    int status = opt_check_together(&r->line);

    if (status != OPT_GO)
        return status;
    if (r->line.paths == 0)
        return opt_fail(OPT_WRONG, "no transcript is named; --help tells how");
    if (r->set.sample && !beacon)
        return opt_fail(OPT_WRONG, "--sample needs --beacon, which draws the "
                        "parts: a public number that is younger than the "
                        "transcript");
    if (beacon && (!*beacon || beacon[strspn(beacon, "0123456789abcdef")]))
        return opt_fail(OPT_WRONG, "--beacon %s: it takes digits from 0 to 9 "
                        "and a to f", beacon);
    return check_mode(r);
}

int main(int argc, char **argv)
{
    static run r;
    int status;

    r.program = (opt_program){.about = only.about, .models = models,
                              .model_count = 1, .paths = 2,
                              .args = "RUN.lst [OTHER.lst]"};
    opt_add(&r.program, (opt_rows)OPT_ROWS(options), &r.set);
    status = opt_parse(&r.program, argc, argv, &r.line);
    if (status == OPT_GO)
        status = check(&r);
    if (status == OPT_GO)
        status = answer_all(&r);
    if (status == OPT_DONE)
        return 0;
    status = status == OPT_GO ? opt_end(OPT_GO) : status;
    return status == OPT_GO ? r.differs : status;
}
