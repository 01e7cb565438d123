/* SPDX-License-Identifier: BSD-3-Clause */
/* lockstep-verify: is a published training what its transcript says?
 *
 * Four questions are kept apart: are these the published bytes (files), is the
 * state in a checkpoint the committed one (state), does training again give the
 * same lines (replay), and the same model (model).  Each gets a line, "same",
 * "differs: .." or "not asked". */
#define _GNU_SOURCE
#include "opt/characters.h"
#include "opt/json_parts.h"
#include "opt/opt.h"
#include "run/apart.h"
#include "run/record_option.h"
#include "verify/attest.h"
#include "verify/explained.h"
#include "verify/questions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char opt_program_name[] = "lockstep-verify";

#define AT(member) offsetof(settings, member)

/* Marks: what an option has a part in, besides the training of one run. */
enum {
    RECORD = 1, TWO = 2, BYTES = 4, STATES = 8, EXPLAIN = 16
};

/* clang-format off */
static const opt options[] = {
    { OPT_ROW("data", "PATH", OPT_TEXT, AT(data), NULL, "",
              "the file that the run read, or the folder of several"),
      .marks = RECORD | BYTES | STATES, .use = OPT_READ },
    { OPT_ROW("weights", "FILE", OPT_TEXT, AT(weights), NULL, "",
              "the model that the run saved"), .marks = BYTES,
      .use = OPT_READ },
    { OPT_ROW("checkpoint", "DIR", OPT_TEXT, AT(checkpoint), NULL, "",
              "the run's checkpoints"), .marks = STATES, .use = OPT_READ },
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
    { OPT_ROW("explain", NULL, OPT_FLAG, AT(explain), NULL, "",
              "say in sentences what the transcript says; compare nothing"),
      .marks = EXPLAIN },
    { OPT_ROW("attest", "FILE.json", OPT_TEXT, AT(attest), NULL, "",
              "write what was found as an in-toto statement, to sign"),
      .not_with = "from", .use = OPT_WRITTEN },
    { OPT_ROW("record", "STEP[:DEVICE]", OPT_TEXT, AT(record), NULL, "",
              "train again up to a step and write its record to the other "
              "file (.lsr)"),
      .marks = RECORD },
    { OPT_ROW("trainer", "PROGRAM", OPT_TEXT, AT(trainer), NULL, "",
              "who trains again (the lockstep-train beside this program)"),
      .marks = RECORD | STATES, .use = OPT_READ },
    { OPT_ROW("workers", "N", OPT_TEXT, AT(workers), NULL, "",
              "threads; never changes a result (min(devices, cores))"),
      .marks = RECORD | STATES },
    { OPT_ROW("json", NULL, OPT_FLAG, AT(json), NULL, "",
              "one object of JSON"), .marks = TWO | BYTES | STATES },
};
/* clang-format on */

static const opt_model only = {
    .name = "",
    .about = "Train a published run again and compare every line of its "
             "transcript;\nof two transcripts, the first line that differs.",
    .note = "Exit status: 0 the same; 1 it could not be done; 2 wrong usage; "
            "3 files,\n4 a state, 5 the training, 6 the model differ; 7 the "
            "same, but not all was\ncompared.",
};
static const opt_model *const models[] = {&only};

/* Read a transcript, of a folder and its tar that in it. */
static int read_one(run *r, const char *path)
{
    int status = bundle_open(&r->from, path);

    if (status == OPT_GO)
        status = published_open(&r->of, r->from.transcript);
    if (!r->set.weights)
        r->set.weights = r->from.model;
    return status;
}

/* Open a transcript, and find the files that its run read. */
static int open_one(run *r, const char *path)
{
    int status = read_one(r, path);

    return status == OPT_GO ? files_open(&r->files, &r->of, r->set.data)
                            : status;
}

static void close_one(run *r)
{
    files_close(&r->files);
    published_close(&r->of);
    bundle_close(&r->from);
}

/* ------ the answers ------ */

static int give_answers(run *r)
{
    bool trains = !r->set.only_bytes && !r->set.only_state;
    int status;

    r->answers.whole = r->of.facts.is_whole;
    status = answers_give(&r->answers, published_text(&r->of, "source"),
                          r->set.json);
    if (!r->of.facts.is_whole ||
        (trains && *r->of.facts.model && !r->answers.of[MODEL].is_asked))
        r->differs = INCOMPLETE;
    for (int i = QUESTIONS - 1; i >= 0; i--)
        if (r->answers.of[i].is_asked && !r->answers.of[i].same)
            r->differs = FIRST_STATUS + i;
    if (r->differs == INCOMPLETE)
        fprintf(stderr, r->of.facts.is_whole
                            ? "note: %s: its model was not compared: the "
                              "weights were saved before what was trained "
                              "again\n"
                            : "note: %s is incomplete: it has no end; the run "
                              "was stopped, still runs, or the file was cut\n",
                characters_shown(r->of.path));
    return status;
}

/* ------ */

/* A statement is about a model that was compared. */
static int check_attest(const run *r)
{
    if (!r->set.attest || *r->of.facts.model)
        return OPT_GO;
    return opt_fail(OPT_FAILED, "%s: names no model that a statement could be "
                    "about: train with --save", r->of.path);
}

static int attest(run *r)
{
    const char *name = r->set.weights ? r->set.weights : "model";
    const char *slash = strrchr(name, '/');

    if (!r->set.weights && strcmp(r->of.facts.lockstep, ls_version()) != 0)
        return opt_fail(OPT_FAILED, "--attest: the model's bytes were not "
                        "compared, as lockstep %s wrote them: --weights FILE "
                        "names them", r->of.facts.lockstep);
    return attest_write(r->set.attest, &r->of, slash ? slash + 1 : name,
                        &r->how);
}

static int verify_one(run *r)
{
    const settings *set = &r->set;
    int status = open_one(r, r->line.path[0]);

    if (status == OPT_GO)
        status = check_attest(r);
    if (status == OPT_GO && !set->only_state)
        status = ask_files(r);
    if (status == OPT_GO && set->checkpoint && !set->only_bytes)
        status = ask_state(r);
    if (status == OPT_GO && !set->only_bytes && !set->only_state &&
        r->answers.of[FILES].same)
        status = ask_replay(r);
    if (status == OPT_GO && r->answers.of[REPLAY].same)
        status = ask_model(r);
    if (status == OPT_GO)
        status = give_answers(r);
    if (status == OPT_GO && set->attest && !r->differs)
        status = attest(r);
    close_one(r);
    return status;
}

static int explain(run *r)
{
    int status = read_one(r, r->line.path[0]);

    if (status == OPT_GO)
        explained_print(&r->of);
    close_one(r);
    return status;
}

/* ------ two transcripts, and the record of a step ------ */

/* The states that a file has; without memory, or where it changed since it was
 * compared, there are none. */
static ls_state_root *states_of(const char *path, int64_t *n)
{
    int64_t room = ls_transcript_states(path, 0, NULL);
    ls_state_root *all = room > 0 ? calloc((size_t)room, sizeof *all) : NULL;

    *n = all && ls_transcript_states(path, room, all) == room ? room : 0;
    return all;
}

/* Print what finds the step in which two transcripts part, or what judges it:
 * the one behind the last state that both have. */
static void tell_step(char *const path[2])
{
    int64_t n[2], same = 0, step, last;
    ls_state_root *a = states_of(path[0], &n[0]);
    ls_state_root *b = states_of(path[1], &n[1]);

    while (same < n[0] && same < n[1] && a[same].batches == b[same].batches &&
           strcmp(a[same].root, b[same].root) == 0)
        same++;
    if (same > 0 && same < n[0] && same < n[1]) {
        step = a[same - 1].batches;
        last = a[same].batches - 1;
        if (step < last)
            printf("next: it is one of steps %" PRId64 " to %" PRId64
                   ": train again with --transcript :every=1, and compare\n",
                   step, last);
        else
            printf("next: of both lockstep-verify --record %" PRId64 " RUN.lst "
                   "STEP.lsr, then referee A.lsr B.lsr A.lst B.lst\n", step);
    }
    free(a);
    free(b);
}

static int print_two(const ls_transcript_difference *d)
{
    json_t *all = json_pack("{s:b,s:I,s:s}", "same", d->same, "line",
                            (json_int_t)d->line, "text", d->text);

    return json_print(all, JSON_COMPACT);
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
        status = print_two(&d);
    else if (d.same)
        printf("same: %lld line%s\n", (long long)d.line, opt_s(d.line));
    else
        printf("differs: %s\n", characters_shown(d.text));
    if (!r->set.json && !d.same && d.line > 1)
        tell_step(r->line.path);
    r->differs = d.same ? 0 : FIRST_STATUS + REPLAY;
    return status;
}

/* Train again up to a step, "STEP" or "STEP:DEVICE", and write its record to
 * the second file; of a run on several ranks, too: they have the bytes of one
 * process. */
static int write_record(run *r)
{
    replay all = {.of = &r->of, .files = &r->files, .workers = r->set.workers,
                  .trainer = r->set.trainer};
    const char *step = r->set.record;
    int64_t n;
    int device, status = record_option_read(step, &n, &device);

    if (status == OPT_GO && r->line.paths != 2)
        status = opt_fail(OPT_WRONG, "--record needs the file that it writes, "
                          "behind the transcript");
    if (status == OPT_GO)
        status = open_one(r, r->line.path[0]);
    if (status == OPT_GO && n >= r->of.facts.batches)
        status = opt_fail(OPT_WRONG, "--record %s: %s has %" PRId64 " step%s, "
                          "counted from 0", step, r->of.path,
                          r->of.facts.batches, opt_s(r->of.facts.batches));
    if (status == OPT_GO)
        status = replay_record(&all, n, device, r->line.path[1]);
    close_one(r);
    return status;
}

static int answer_all(run *r)
{
    if (r->set.explain)
        return explain(r);
    if (r->set.record)
        return write_record(r);
    return r->line.paths == 2 ? verify_two(r) : verify_one(r);
}

/* Refuse options that have no part in what is done. */
static int check_mode(const run *r)
{
    const settings *set = &r->set;
    const struct {
        bool is;
        unsigned marks;
        const char *name;
    } modes[] = {{set->explain, EXPLAIN, "--explain"},
                 {set->record, RECORD, "--record"},
                 {r->line.paths == 2, TWO, "a comparison of two transcripts"},
                 {set->only_bytes, BYTES, "--only-bytes"},
                 {set->only_state, STATES, "--only-state"}};

    if (set->explain && r->line.paths == 2)
        return opt_fail(OPT_WRONG, "--explain takes one transcript");
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (modes[i].is)
            return opt_refuse_others(&r->line, modes[i].marks, modes[i].name);
    return OPT_GO;
}

/* --record writes what is named last. */
static int check_files(const run *r)
{
    int last = r->line.paths - 1;
    apart_file word[2];

    for (int i = 0; i <= last; i++)
        word[i] = (apart_file){i ? "OTHER.lst" : "RUN.lst", r->line.path[i],
                               OPT_READ};
    if (r->set.record && last > 0)
        word[last] = (apart_file){"--record", r->line.path[last], OPT_ASIDE};
    return apart_check(&r->line, last + 1, word, NULL);
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
    status = check_mode(r);
    return status == OPT_GO ? check_files(r) : status;
}

int main(int argc, char **argv)
{
    static run r;
    int status;

    r.program = (opt_program){.about = only.about, .models = models,
                              .model_count = 1, .paths = 2,
                              .args = "RUN.lst|DIR|FILE.tar [OTHER.lst]"};
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
