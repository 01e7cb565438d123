/* SPDX-License-Identifier: BSD-3-Clause */
/* See questions.h. */
#define _GNU_SOURCE
#include "verify/questions.h"
#include "run/publish_files.h"
#include "verify/segments.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int ask_files(run *r)
{
    answer *a = &r->answers.of[FILES];
    int status = r->set.weights ? files_compare_model(&r->files, r->set.weights)
                                : OPT_GO;

    if (status == OPT_GO && r->from.sums)
        status = files_compare_sums(&r->files, r->from.sums);

    a->is_asked = true;
    a->same = r->files.same;
    memcpy(a->text, r->files.text, sizeof r->files.text);
    return status;
}

/* That a file without an end has no more lines is no difference. */
static void allow_cut(const run *r, answer *a)
{
    const ls_transcript_facts *f = &r->of.facts;
    char over[ANSWER_TEXT];

    snprintf(over, sizeof over, "%s: ends after line %" PRId64 ",",
             r->of.path, f->lines);
    if (f->is_whole || strncmp(a->text, over, strlen(over)) != 0)
        return;
    a->same = true;
    snprintf(a->text, sizeof a->text, "%" PRId64 " batch%s, which is all that "
             "it has", f->batches, opt_es(f->batches));
}

static int put_link(const scratch *s, const char *all, int64_t batches)
{
    char *from = NULL, *to = NULL, *full = realpath(all, NULL);
    int status = OPT_GO;

    if (!full)
        return opt_fail(OPT_FAILED, "%s: no such folder", all);
    if (asprintf(&from, "%s/step-%012" PRId64, full, batches) < 0 ||
        asprintf(&to, "%s/step-%012" PRId64, s->folder, batches) < 0)
        status = opt_fail(OPT_FAILED, "no memory for the names of files");
    if (status == OPT_GO && access(from, R_OK) != 0)
        status = opt_fail(OPT_FAILED, "%s: there is none", from);
    if (status == OPT_GO && symlink(from, to) != 0)
        status = opt_fail(OPT_FAILED, "%s: no link could be made", to);
    free(from);
    free(to);
    free(full);
    return status;
}

/* A folder of one of the checkpoints in `all`, so that a run goes on from that;
 * of 0 batches none. */
static int open_checkpoint(scratch *s, const char *all, int64_t batches)
{
    int status = scratch_open(s, "verify");

    if (status == OPT_GO && batches)
        status = put_link(s, all, batches);
    if (status != OPT_GO)
        scratch_close(s);
    return status;
}

/* Train from one place to another. */
static int replay_part(run *r, int64_t first, int64_t last, answer *a)
{
    replay part = {.of = &r->of, .files = &r->files,
                   .workers = r->set.workers, .trainer = r->set.trainer,
                   .unknown = r->answers.unknown, .first = first,
                   .model = r->model,
                   .until = last < r->of.facts.batches || !last ? last : -1};
    bool folder = first || published_part(&r->of, last) >
                               published_part(&r->of, first);
    scratch from = {.lock = -1};
    char *model = NULL;
    int status = folder ? open_checkpoint(&from, r->set.checkpoint, first)
                        : OPT_GO;

    if (status != OPT_GO)
        return status;
    part.checkpoint = folder ? from.folder : NULL;
    if (!r->of.facts.is_whole)
        part.until = last;
    if (part.until < 0 && *r->of.facts.model && first < r->of.saved)
        part.save = model = files_path(&r->files, PUBLISH_MODEL, NULL);
    status = replay_run(&part, last, &a->same, a->text);
    if (status == OPT_GO && !a->same)
        allow_cut(r, a);
    r->answers.trained = true;
    free(model);
    if (folder)
        scratch_close(&from);
    return status;
}

/* A state is compared where a run that goes on from it begins. */
int ask_state(run *r)
{
    answer *a = &r->answers.of[STATE];
    segments all;
    int status = segments_find(&all, r->set.checkpoint,
                               r->of.facts.batches + 1);
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

/* The part that made the saved weights is trained in any case. */
static int ask_sample(run *r, answer *a)
{
    int64_t all = r->of.facts.batches, trained = 0;
    segments parts;
    int status = segments_find(&parts, r->set.checkpoint, all);
    int k = r->set.sample < parts.count ? (int)r->set.sample : parts.count;

    if (status == OPT_GO)
        status = segments_draw(&parts, k, r->set.beacon, r->of.facts.file);
    if (status == OPT_GO && *r->of.facts.model)
        k = segments_with_end(&parts, k, r->of.saved);
    a->same = true;
    for (int i = 0; i < k && status == OPT_GO && a->same; i++)
        status = replay_part(r, parts.of[i].first, parts.of[i].last, a);
    trained = status == OPT_GO ? segments_batches(&parts, k) : 0;
    r->how = (attested){trained, trained == all};
    if (status == OPT_GO && a->same)
        snprintf(a->text, sizeof a->text, "%" PRId64 " of %" PRId64 " batches "
                 "(%.1f %%), drawn by SHA-256(beacon, digest of the file)%s; "
                 "if one batch is wrong it went unseen with probability %.3g, "
                 "if ten are, %.3g", trained, all,
                 100. * (double)trained / (double)all,
                 *r->of.facts.model ? " and those that made the saved weights"
                                    : "",
                 segments_unseen(all, trained, 1),
                 segments_unseen(all, trained, 10));
    segments_free(&parts);
    return status;
}

int ask_replay(run *r)
{
    answer *a = &r->answers.of[REPLAY];

    a->is_asked = true;
    if (r->set.sample)
        return ask_sample(r, a);
    r->how = (attested){r->of.facts.batches - r->set.from, !r->set.from};
    return replay_part(r, r->set.from, r->of.facts.batches, a);
}

/* "same 3f2a.." is what the trainer says of what it saved; the file of another
 * release is held against that by what it holds. */
int ask_model(run *r)
{
    const ls_transcript_facts *f = &r->of.facts;
    bool other = strcmp(f->lockstep, ls_version()) != 0;
    const char *weights = r->set.weights;
    const char *name = weights == r->from.model ? PUBLISH_MODEL : weights;
    answer *a = &r->answers.of[MODEL];
    int status = LS_OK;

    if (!*r->model)
        return OPT_GO;
    a->is_asked = true;
    a->same = strncmp(r->model, "same", 4) == 0;
    if (!a->same) {
        snprintf(a->text, sizeof a->text, "%s",
                 r->model + strcspn(r->model, " ") + (strchr(r->model, ' ')
                                                      != NULL));
        return OPT_GO;
    }
    if (weights)
        status = ls_transcript_model(r->of.path, weights);
    a->same = status != LS_EDIFFERS;
    if (status < 0 && a->same)
        return opt_check(status);
    if (!a->same)
        snprintf(a->text, sizeof a->text, "%s", ls_errmsg());
    else
        snprintf(a->text, sizeof a->text, "%s%.160s%.16s..%s",
                 weights ? name : "the run wrote the file whose SHA-256 is ",
                 weights ? " is what this run makes of these files, SHA-256 "
                         : "", f->model,
                 other && !weights ? ", but for the release that it names: its "
                                     "bytes were not compared" : "");
    return OPT_GO;
}
