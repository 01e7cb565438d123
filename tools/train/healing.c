/* SPDX-License-Identifier: BSD-3-Clause */
/* See healing.h. */
#define _GNU_SOURCE
#include "train/healing.h"
#include "opt/characters.h"
#include "run/output.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------ a step ------ */

static healing_news news_of(const ls_health *was, const ls_health *is)
{
    return (healing_news){is->checks - was->checks, is->wrong - was->wrong,
                          is->moved - was->moved, is->step, is->worker,
                          is->pu};
}

/* Add what a rank found. */
static void add_news(healing *h, int rank, const healing_news *of)
{
    h->all.checks += of->checks;
    h->all.wrong += of->wrong;
    h->all.moved += of->moved;
    if (!of->wrong)
        return;
    h->rank = rank;
    h->found.step = of->step;
    h->found.worker = of->worker;
    h->found.pu = of->pu;
}

/* Hear what all ranks found in a step that was checked: all hear the same. */
static int hear(healing *h, launch *l)
{
    const ls_transport *t = l->transport;
    const healing_news *of =
        t ? launch_gather(l, &h->mine, sizeof *of) : &h->mine;

    if (!of)
        return OPT_FAILED;
    for (int r = t ? t->ranks : 1; r-- > 0;)
        add_news(h, t ? r : -1, &of[r]);
    return OPT_GO;
}

/* All of all steps. */
static bool checks_all(const run *r)
{
    return strcmp(r->how.check, "all") == 0 || atof(r->how.check) >= 1;
}

int healing_step(healing *h, launch *l, const run *r)
{
    ls_health was = h->own;
    int status = OPT_GO;

    h->own = ls_trainer_health(r->trainer);
    h->mine = news_of(&was, &h->own);
    h->all = (healing_news){0};
    if (h->own.drawn > was.drawn)
        status = hear(h, l);
    h->found.steps = h->own.steps;
    h->found.drawn = h->own.drawn;
    h->found.checks += h->all.checks;
    h->found.wrong += h->all.wrong;
    h->found.moved += h->all.moved;
    if (h->all.wrong && !checks_all(r))
        h->left += h->all.wrong;
    return status;
}

/* Steps that were not drawn may have taken the same core's errors in. */
static void tell_onset(const healing *h, const train_settings *set)
{
    fprintf(stderr, "note: of the %lld step%s so far %lld %s checked; what "
            "this core did in the others stays in the weights.  ",
            (long long)h->found.steps, opt_s(h->found.steps),
            (long long)h->found.drawn, h->found.drawn == 1 ? "was" : "were");
    if (!set->checkpoint)
        fprintf(stderr, "To be sure, start again without PU %d (--cpus), with "
                "--checkpoint DIR --check RATE:heal, which goes back by "
                "itself\n", h->own.pu);
    else
        fprintf(stderr, "To be sure, end the run, delete what is in %s but "
                "the oldest, and type the same with --resume --check :heal, "
                "without PU %d (--cpus)\n", characters_shown(set->checkpoint),
                h->own.pu);
}

void healing_tell(const healing *h, const run *r, const train_settings *set)
{
    fprintf(stderr, "%s: %s\n", opt_program_name,
            characters_shown(h->own.text));
    if (!checks_all(r) && !(set->heal && h->mine.moved))
        tell_onset(h, set);
}

void healing_note(healing *h, metrics *m)
{
    if (h->all.wrong)
        metrics_check(m, &h->found, h->rank);
    if (!h->arrived)
        return;
    metrics_check(m, &h->then, h->then_rank);
    metrics_onset(m, h->same, h->other);
    h->arrived = false;
}

bool healing_is_late(const healing *h, const run *r)
{
    return h->all.moved && !checks_all(r);
}

/* ------ going back ------ */

static int make_room(healing *h, int64_t more)
{
    size_t n = (size_t)(h->roots + more);
    ls_state_root *root = realloc(h->root, n * sizeof *root);

    if (!root)
        return opt_fail(OPT_FAILED, "out of memory");
    h->root = root;
    return OPT_GO;
}

static int add_root(healing *h, int64_t done, const char *root)
{
    int status = make_room(h, 1);

    if (status != OPT_GO)
        return status;
    h->root[h->roots].batches = done;
    snprintf(h->root[h->roots++].root, 65, "%.64s", root);
    return OPT_GO;
}

static int add_transcript(healing *h, const char *path)
{
    int64_t n = path ? ls_transcript_states(path, 0, NULL) : 0;
    int status = opt_check(n < 0 ? (int)n : 0);

    if (status != OPT_GO || n == 0)
        return status;
    if ((status = make_room(h, n)) != OPT_GO)
        return status;
    (void)ls_transcript_states(path, n, h->root + h->roots);
    h->roots += n;
    return OPT_GO;
}

/* Go from the newest checkpoint to the oldest, and note their states. */
static int to_oldest(healing *h, const run *r, keeper *k, position *at,
                     bool *went)
{
    int64_t before = INT64_MAX, step;
    char root[65];
    int status;

    while ((status = keeper_back(k, r, before, &step, at)) == OPT_GO &&
           step >= 0) {
        *went = true;
        before = step;
        status = opt_check(keeper_root(r, at, root));
        if (status == OPT_GO)
            status = add_root(h, at->done, root);
        if (status != OPT_GO)
            return status;
    }
    return status;
}

/* A mark in the folder of checkpoints: a run is going back to the oldest, and
 * what is younger may be wrong.  It is there before the first of them is
 * deleted, and until the oldest is all there is, so that a run that is killed
 * meanwhile does not go on from one of the others. */
static const char MARK[] = "going-back";

static int open_folder(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool is_marked(const char *path)
{
    int folder = open_folder(path);
    bool is = folder >= 0 && faccessat(folder, MARK, F_OK, 0) == 0;

    if (folder >= 0)
        close(folder);
    return is;
}

/* Put the mark, or take it away; on disk when this returns, as the entry of a
 * file is when its folder is. */
static int set_mark(const char *path, bool put)
{
    int folder = open_folder(path), mark = -1, error = 0;

    if (put)
        mark = openat(folder, MARK, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if ((put ? mark < 0 || output_sync(mark) != 0
             : unlinkat(folder, MARK, 0) != 0) || output_sync(folder) != 0)
        error = errno;
    if (mark >= 0)
        close(mark);
    if (folder >= 0)
        close(folder);
    return error ? opt_fail(OPT_FAILED, "%s/%s: %s", path, MARK,
                            strerror(error))
                 : OPT_GO;
}

/* Keep a run that is ended meanwhile from going on from what may be wrong. */
static int to_oldest_surely(healing *h, const run *r, keeper *k, position *at,
                            bool *went)
{
    int status = run_is_first(r) ? set_mark(k->folder, true) : OPT_GO;

    if (status == OPT_GO)
        status = to_oldest(h, r, k, at, went);
    return status == OPT_GO && run_is_first(r) ? set_mark(k->folder, false)
                                               : status;
}

int healing_back(healing *h, const run *r, keeper *k, const char *transcript,
                 position *at, int64_t done, bool *went)
{
    int status = opt_check(ls_trainer_hash(r->trainer, h->hash));

    h->roots = 0;
    h->until = done;
    h->then = h->found;
    h->then_rank = h->rank;
    if (status == OPT_GO && !r->transport)
        status = add_transcript(h, transcript);
    if (status == OPT_GO)
        status = to_oldest_surely(h, r, k, at, went);
    if (status != OPT_GO || !*went)
        return status;
    h->replays = true;
    h->left = 0;
    h->from = h->same = at->done;
    h->other = -1;
    h->backs++;
    if (run_is_first(r))
        fprintf(stderr, "%s: goes back to step %lld, and computes again what "
                "%lld step%s, of which not all was checked\n",
                opt_program_name, (long long)at->done,
                (long long)(done - at->done),
                done - at->done == 1 ? " was" : "s were");
    return OPT_GO;
}

int healing_resume(healing *h, launch *l, const run *r, keeper *k,
                   position *at)
{
    int doubts = k->all && run_is_first(r) && is_marked(k->folder);
    int status = k->all ? launch_most(l, &doubts) : OPT_GO;
    bool went = k->went_on;

    if (status != OPT_GO || !doubts)
        return status;
    if (!went)
        return run_is_first(r) ? set_mark(k->folder, false) : OPT_GO;
    status = to_oldest_surely(h, r, k, at, &went);
    if (status == OPT_GO && run_is_first(r))
        fprintf(stderr, "%s: a run was ended while it went back from there: "
                "goes on from step %lld, the oldest\n",
                characters_shown(k->folder), (long long)at->done);
    return status;
}

/* ------ coming to where it was ------ */

static const ls_state_root *root_of(const healing *h, int64_t done)
{
    for (int64_t i = 0; i < h->roots; i++)
        if (h->root[i].batches == done)
            return &h->root[i];
    return NULL;
}

int healing_compare(healing *h, const run *r, const position *at)
{
    const ls_state_root *was = h->replays && h->other < 0
                                  ? root_of(h, at->done) : NULL;
    char root[65];
    int status;

    if (!was)
        return OPT_GO;
    if ((status = opt_check(keeper_root(r, at, root))) != OPT_GO)
        return status;
    if (strcmp(root, was->root) == 0)
        h->same = at->done;
    else
        h->other = at->done;
    return OPT_GO;
}

static void tell_arrival(const healing *h)
{
    fprintf(stderr, "%s: onset: ", opt_program_name);
    if (h->other < 0)
        fprintf(stderr, "none: the state after %lld step%s is what it was\n",
                (long long)h->until, opt_s(h->until));
    else
        fprintf(stderr, "the state after %lld step%s is the first that was "
                "wrong; that after %lld was right\n", (long long)h->other,
                opt_s(h->other),
                (long long)h->same);
    if (h->from > 0)
        fprintf(stderr, "note: not known before step %lld, where the oldest "
                "checkpoint is; --checkpoint :first keeps the beginning\n",
                (long long)h->from);
}

int healing_arrive(healing *h, const run *r, int64_t done)
{
    char hash[65];
    int status;

    if (!h->replays || done < h->until)
        return OPT_GO;
    if ((status = opt_check(ls_trainer_hash(r->trainer, hash))) != OPT_GO)
        return status;
    if (h->other < 0 && strcmp(hash, h->hash))
        h->other = done;
    h->replays = false;
    h->arrived = true;
    if (run_is_first(r))
        tell_arrival(h);
    return OPT_GO;
}

void healing_free(healing *h)
{
    free(h->root);
}

/* ------ the end ------ */

/* The probability that a core that errs in a share p of its devices' gradients
 * is in no check of the drawn steps. */
static double unseen(const healing *h, const run *r, double p)
{
    int ranks = r->transport ? r->transport->ranks : 1;
    double each = (double)ls_mesh_devices(r->mesh) / (double)ranks /
                  (double)ls_mesh_workers(r->mesh);

    return pow(1 - p, each * (double)h->found.drawn);
}

int healing_end(const healing *h, const run *r)
{
    const ls_health *c = &h->found;

    if (!r->how.check || !*r->how.check)
        return OPT_GO;
    fprintf(stderr, "note: a core that errs in each of its devices' gradients "
            "went unseen with probability %.3g, in one of 10 with %.3g, in "
            "one of 100 with %.3g; faults that all cores share, and memory "
            "that changes between steps, are not seen at all\n",
            unseen(h, r, 1), unseen(h, r, 0.1), unseen(h, r, 0.01));
    if (ls_mesh_workers(r->mesh) == 1)
        fputs("note: the only worker checked itself, which finds what passes, "
              "and not what stays\n", stderr);
    printf("check %lld of %lld computations wrong, %lld of %lld steps drawn",
           (long long)c->wrong, (long long)c->checks, (long long)c->drawn,
           (long long)c->steps);
    if (h->backs)
        printf(", %lld time%s gone back", (long long)h->backs,
               opt_s(h->backs));
    putchar('\n');
    return h->left ? opt_fail(OPT_FAILED, "what the core of %lld wrong "
                              "computation%s did in steps that were not "
                              "checked was not undone", (long long)h->left,
                              opt_s(h->left))
                   : OPT_GO;
}
