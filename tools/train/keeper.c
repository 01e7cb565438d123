/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings and notes of a run as the library's checkpoints keep them. */
#include "train/keeper.h"
#include "opt/characters.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------ What must be the same ------ */

typedef struct list {
    run_list all;
    char sum[20], held[20], every[20];
} list;

/* Evaluations that the learning rate goes by. */
static void list_evaluation(list *l, const run *r, int64_t every)
{
    snprintf(l->every, sizeof l->every, "%" PRId64, every);
    snprintf(l->held, sizeof l->held, "%016" PRIx64, r->data.held_sum);
    run_list_add(&l->all, "plateau: --eval-every", l->every);
    run_list_add(&l->all, "plateau: the checksum of the data evaluated on",
                 l->held);
}

static bool stays(const opt *o)
{
    return !o->may_differ;
}

static void list_settings(list *l, const run *r, const train_settings *s,
                          bool of_old)
{
    run_list_options(&l->all, r, false, of_old, stays);
    snprintf(l->sum, sizeof l->sum, "%016" PRIx64, r->data.sum);
    run_list_add(&l->all, "the checksum of the data", l->sum);
    if (s->plateau)
        list_evaluation(l, r, s->eval_every);
}

/* ------ Where a run is ------ */

typedef struct note {
    const char *name;
    size_t at; /* in position */
    bool real; /* a double; or else an int64_t, never negative */
    bool of_files; /* no part of the state */
} note;

#define AT(member) offsetof(position, member)

static const note notes[] = {
    {"cursor", AT(done), false, false},
    {"epoch", AT(epoch), false, false},
    {"epoch loss", AT(loss), true, false},
    {"epoch right", AT(right), true, false},
    {"epoch weight", AT(weight), true, false},
    {"metrics", AT(metrics), false, true},
    {"evaluations", AT(score.stop.values), false, false},
    {"best accuracy", AT(score.stop.best), true, false},
    {"best step", AT(score.best_step), false, false},
    {"last accuracy", AT(score.last), true, false},
    {"evaluations since the best", AT(score.stop.since), false, false},
    {"judged by loss", AT(score.by_loss), false, false},
    {"the best is saved", AT(score.is_saved), false, true},
    {"an evaluation waits", AT(waits), false, true},
    {"plateau: evaluations", AT(score.plateau.values), false, false},
    {"plateau: since the best", AT(score.plateau.since), false, false},
    {"plateau: rest", AT(score.plateau.rest), false, false},
    {"plateau: best", AT(score.plateau.best), true, false},
    {"plateau: scale", AT(score.plateau.scale), true, false},
};
enum { NOTES = sizeof notes / sizeof *notes };

/* The notes of changed options, of a transcript, and the state's root. */
static const char CHANGES[] = "changes";
static const char ROOT[] = "root";
static const char TRANSCRIPT[] = "transcript";

/* A NaN's sign and payload come and go with the way through a text. */
static uint64_t control_bits(const note *n, const position *at)
{
    uint64_t bits;

    memcpy(&bits, (const char *)at + n->at, sizeof bits);
    return n->real && isnan(*(const double *)((const char *)at + n->at))
               ? UINT64_C(0x7ff8000000000000)
               : bits;
}

int keeper_controls(const run *r, const position *at,
                    ls_control control[KEEPER_CONTROLS])
{
    position now = *at;
    int n = 0;

    now.epoch = run_epoch(r, at->done);

    for (int i = 0; i < NOTES; i++)
        if (!notes[i].of_files)
            control[n++] = (ls_control){notes[i].name,
                                        control_bits(&notes[i], &now)};
    return n;
}

int keeper_root(const run *r, const position *at, char root[65])
{
    ls_control control[KEEPER_CONTROLS];
    int n = keeper_controls(r, at, control);

    return ls_trainer_root(r->trainer, at->done, n, control, root);
}

const char *keeper_transcript(const keeper *k)
{
    return k->went_on ? ls_checkpoints_note(k->all, TRANSCRIPT) : NULL;
}

static void write_note(const note *n, const position *at, char text[32])
{
    const char *from = (const char *)at + n->at;

    if (n->real)
        snprintf(text, 32, "%a", *(const double *)from);
    else
        snprintf(text, 32, "%" PRId64, *(const int64_t *)from);
}

/* A seal is no signature: notes may be anybody's.  False: this is none that
 * write_note would write. */
static bool read_note(const note *n, const char *text, position *at)
{
    char *to = (char *)at + n->at, *end = NULL;

    errno = 0;
    if (text && n->real)
        *(double *)to = strtod(text, &end);
    else if (text)
        *(int64_t *)to = strtoll(text, &end, 10);
    return end && end > text && !*end &&
           (n->real || (errno == 0 && *(int64_t *)to >= 0));
}

/* Each batch is a step, unless a mask leaves out all its rows. */
static int check_cursor(const keeper *k, const run *r, const position *at)
{
    int64_t step = ls_trainer_step(r->trainer);

    if (at->done == step || (r->data.mask.data && at->done > step))
        return OPT_GO;
    return opt_fail(OPT_FAILED,
                    "%s: the checkpoint has made %" PRId64
                    " steps, but its cursor in the data is %" PRId64,
                    k->folder, step, at->done);
}

static int read_notes(const keeper *k, const run *r, position *at)
{
    for (int i = 0; i < NOTES; i++) {
        const char *text = ls_checkpoints_note(k->all, notes[i].name);

        if (!read_note(&notes[i], text, at))
            return opt_fail(OPT_FAILED,
                            "%s: the checkpoint's note \"%s\" is "
                            "%s, which lockstep-train does not write",
                            k->folder, notes[i].name,
                            text ? text : "missing");
    }
    return check_cursor(k, r, at);
}

/* ------ */

/* Checks by its root that the state read is the one saved.  With other options
 * the rate, and so the root, is another one. */
static int check_root(const keeper *k, const run *r, const position *at)
{
    const char *said = ls_checkpoints_note(k->all, ROOT);
    char root[65];
    ls_change change;
    int status = opt_check(keeper_root(r, at, root));

    if (status != OPT_GO || ls_checkpoints_change(k->all, 0, &change))
        return status;
    if (said && strcmp(root, said) == 0)
        return OPT_GO;
    return opt_fail(OPT_FAILED, "%s: the checkpoint's root is %s, but that of "
                    "what it holds is %s", k->folder, said ? said : "missing",
                    root);
}

static int load(keeper *k, const run *r, int64_t *step)
{
    ls_change change;
    int status = ls_checkpoints_load(k->all, step);

    k->is_old = !k->is_old && status == LS_EINVAL &&
                change_is_of_old(r, k->all);
    if (k->is_old)
        return OPT_GO;
    if (status == LS_EINVAL && ls_checkpoints_change(k->all, 0, &change))
        return change_refused(r, k->all);
    return opt_check(status);
}

static void tell_going_on(keeper *k, const run *r, int64_t step,
                          int64_t done)
{
    int64_t steps = r->set.data.steps;

    if (ls_checkpoints_skipped(k->all))
        fprintf(stderr, "note: passed over: %s\n",
                characters_shown(ls_checkpoints_skipped(k->all)));
    fprintf(stderr, "%s: goes on from step %" PRId64 "\n",
            characters_shown(k->folder), step);
    change_tell(r, k->all, step, ls_checkpoints_note(k->all, CHANGES),
                k->changes);
    if (done >= steps)
        fprintf(stderr,
                "note: the %" PRId64 " step%s asked for %s done already\n",
                steps, opt_s(steps), steps == 1 ? "is" : "are");
}

static int go_on(keeper *k, const run *r, position *at)
{
    int64_t step = -1;
    int status = load(k, r, &step);

    if (status != OPT_GO || step < 0 || k->is_old)
        return status;
    if ((status = read_notes(k, r, at)) != OPT_GO ||
        (status = check_root(k, r, at)) != OPT_GO)
        return status;
    if (change_has(k->all, "lr"))
        at->score.plateau = (ls_plateau){0}; /* the new rate is as given */
    k->saved = at->done;
    k->waits = at->waits;
    k->went_on = true;
    if (run_is_first(r))
        tell_going_on(k, r, step, at->done);
    return OPT_GO;
}

int keeper_back(keeper *k, const run *r, int64_t before, int64_t *step,
                position *at)
{
    int status = opt_check(ls_checkpoints_back(k->all, before, step));

    if (status != OPT_GO || *step < 0)
        return status;
    *at = (position){0};
    if ((status = read_notes(k, r, at)) != OPT_GO)
        return status;
    k->saved = at->done;
    k->waits = at->waits;
    k->went_on = true;
    return check_root(k, r, at);
}

static int refuse_others(const keeper *k)
{
    int n = ls_checkpoints_count(k->all);

    if (n <= 0)
        return opt_check(n);
    return opt_fail(OPT_WRONG, "%s: holds %d checkpoint%s already; --resume "
                    "goes on from there", k->folder, n, opt_s(n));
}

/* Open the folder, with the names that options had before if of_old. */
static int open_folder(keeper *k, const run *r, const train_settings *s,
                       bool of_old)
{
    ls_checkpoints_options o = ls_checkpoints_defaults();
    char patterns[CHANGE_TEXT];
    list l = {0};

    list_settings(&l, r, s, of_old);
    o.folder = s->checkpoint;
    o.keep = s->keep > INT32_MAX ? 0 : (int)s->keep;
    o.keep_first = s->keep_first || s->heal;
    o.n_settings = l.all.count;
    o.settings = l.all.setting;
    o.may_change = change_patterns(r, s->change, patterns);
    return opt_check(ls_checkpoints_open(&k->all, r->trainer, &o));
}

/* A checkpoint of old has other names of what are parts now, and keeps them. */
int keeper_open(keeper *k, const run *r, const train_settings *s, position *at)
{
    int status;

    *k = (keeper){.every = s->checkpoint_every, .saved = -1,
                  .quiet = !run_is_first(r), .folder = s->checkpoint};
    if (!s->checkpoint)
        return OPT_GO;
    status = open_folder(k, r, s, false);
    if (status != OPT_GO || !s->resume)
        return status == OPT_GO ? refuse_others(k) : status;
    status = go_on(k, r, at);
    if (status != OPT_GO || !k->is_old)
        return status;
    ls_checkpoints_close(k->all);
    k->all = NULL;
    status = open_folder(k, r, s, true);
    return status == OPT_GO ? go_on(k, r, at) : status;
}

bool keeper_due(const keeper *k, int64_t done)
{
    return k->all && k->every && done % k->every == 0 && done != k->saved;
}

static void tell(keeper *k, int status, const char *then)
{
    k->failed = status < 0 && !k->quiet;
    if (k->failed)
        opt_fail(OPT_FAILED, "%s%s", ls_errmsg(), then);
}

void keeper_save(keeper *k, const run *r, const position *at,
                 const char *transcript)
{
    ls_setting setting[NOTES + 3];
    int n = NOTES, status;
    char text[NOTES][32], root[65];

    if (at->done == k->saved && at->waits == k->waits)
        return;
    k->waits = at->waits;
    status = keeper_root(r, at, root);
    for (int i = 0; i < NOTES; i++) {
        write_note(&notes[i], at, text[i]);
        setting[i] = (ls_setting){notes[i].name, text[i]};
    }
    if (*k->changes)
        setting[n++] = (ls_setting){CHANGES, k->changes};
    if (transcript)
        setting[n++] = (ls_setting){TRANSCRIPT, transcript};
    setting[n++] = (ls_setting){ROOT, root};
    k->saved = at->done;
    if (status == 0)
        status = ls_checkpoints_save(k->all, n, setting);
    tell(k, status, " (the training goes on)");
}

int keeper_finish(keeper *k)
{
    if (k->all)
        tell(k, ls_checkpoints_wait(k->all), "");
    return k->failed ? OPT_FAILED : OPT_GO;
}

void keeper_close(keeper *k)
{
    ls_checkpoints_close(k->all);
}
