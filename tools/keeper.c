/* Settings and notes of a run as the library's checkpoints keep them. */
#include "keeper.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------ What must be the same ------ */

/* These may differ: length, logs, places, who computes what; where files are
 * (the data is compared by what it is); the backend (where it shows in bits,
 * the maker of products is compared); and ways to say what the trainer's own
 * settings hold.  A new option counts unless it is named here. */
static const char *const may_differ[] = {
    "devices",
    "workers",
    "allow-single",
    "state",
    "backend",
    "x",
    "y",
    "mask",
    "data",
    "eval-data",
    "batch-per-device",
    "steps",
    "epochs",
    "no-shuffle",
    "decay-steps",
    "log-every",
    "eval-every",
    "sample",
    "temperature",
    "metrics",
    "trace",
    "trace-level",
    "stall-seconds",
    "init",
    "init-only",
    "save",
    "checkpoint",
    "checkpoint-every",
    "keep",
    "resume",
};

static bool counts(const opt *o, int at)
{
    for (size_t i = 0; i < sizeof may_differ / sizeof *may_differ; i++)
        if (!strcmp(o->name, may_differ[i]))
            return false;
    return opt_takes(o, at);
}

typedef struct list {
    int count;
    ls_setting setting[OPT_MAX + 3];
    char name[OPT_MAX][OPT_VALUE]; /* "--batch" */
    char room[OPT_MAX][OPT_VALUE];
    char sum[20];
} list;

static void add(list *l, const char *name, const char *value)
{
    l->setting[l->count++] = (ls_setting){name, value};
}

static void list_settings(list *l, const run *r)
{
    const opt_program *p = r->program;
    int at = r->line.model;

    add(l, "model", p->models[at].name);
    for (int i = 0; i < p->option_count; i++) {
        const opt *o = &p->options[i];
        bool quoted;
        const char *value;

        if (!counts(o, at))
            continue;
        snprintf(l->name[i], sizeof l->name[i], "--%s", o->name);
        value = opt_value(o, &r->set, l->room[i], &quoted);
        add(l, l->name[i], value ? value : "");
    }
    snprintf(l->sum, sizeof l->sum, "%016" PRIx64, r->data.sum);
    add(l, "the checksum of the data", l->sum);
    add(l, "the maker of products",
        *r->products ? r->products : run_is_portable(r) ? "any" : run_isa());
}

/* ------ Where a run is ------ */

typedef struct note {
    const char *name;
    size_t at; /* in position */
    bool real;
} note;

#define AT(member) offsetof(position, member)

static const note notes[] = {
    {"cursor", AT(done), false},        {"epoch", AT(epoch), false},
    {"epoch loss", AT(loss), true},     {"epoch right", AT(right), true},
    {"epoch weight", AT(weight), true}, {"metrics", AT(metrics), false},
    {"evaluations", AT(score.times), false},
    {"best accuracy", AT(score.best), true},
    {"best step", AT(score.best_step), false},
    {"last accuracy", AT(score.last), true},
};
enum { NOTES = sizeof notes / sizeof *notes };

static void write_note(const note *n, const position *at, char text[32])
{
    const char *from = (const char *)at + n->at;

    if (n->real)
        snprintf(text, 32, "%a", *(const double *)from);
    else
        snprintf(text, 32, "%" PRId64, *(const int64_t *)from);
}

static void read_note(const note *n, const char *text, position *at)
{
    char *to = (char *)at + n->at;

    if (text && n->real)
        *(double *)to = strtod(text, NULL);
    else if (text)
        *(int64_t *)to = strtoll(text, NULL, 10);
}

/* ------ */

static int go_on(keeper *k, const settings *s, position *at)
{
    const char *folder = s->checkpoint;
    int64_t step = -1;
    int status = opt_check(ls_checkpoints_load(k->all, &step));

    if (status != OPT_GO || step < 0)
        return status;
    for (int i = 0; i < NOTES; i++)
        read_note(&notes[i], ls_checkpoints_note(k->all, notes[i].name), at);
    k->saved = at->done;
    k->went_on = true;
    if (ls_checkpoints_skipped(k->all))
        fprintf(stderr, "note: passed over: %s\n",
                ls_checkpoints_skipped(k->all));
    fprintf(stderr, "%s: goes on from step %" PRId64 "\n", folder, step);
    if (at->done >= s->steps)
        fprintf(stderr, "note: the %" PRId64 " steps asked for are done "
                "already\n", s->steps);
    return OPT_GO;
}

static int refuse_others(const keeper *k, const char *folder)
{
    int n = ls_checkpoints_count(k->all);

    if (n <= 0)
        return opt_check(n);
    return opt_fail(OPT_FAILED,
                    "%s: holds %d checkpoint%s already; --resume "
                    "goes on from there",
                    folder, n, n == 1 ? "" : "s");
}

int keeper_open(keeper *k, const run *r, position *at)
{
    const settings *s = &r->set;
    ls_checkpoints_options o = ls_checkpoints_defaults();
    list l = {0};
    int status;

    *k = (keeper){.every = s->checkpoint_every, .saved = -1};
    if (!s->checkpoint)
        return OPT_GO;
    list_settings(&l, r);
    o.folder = s->checkpoint;
    o.keep = s->keep > INT32_MAX ? 0 : (int)s->keep;
    o.settings = l.count;
    o.setting = l.setting;
    status = opt_check(ls_checkpoints_open(&k->all, r->trainer, &o));
    if (status != OPT_GO)
        return status;
    return s->resume ? go_on(k, s, at) : refuse_others(k, s->checkpoint);
}

bool keeper_due(const keeper *k, int64_t done)
{
    return k->all && k->every && done % k->every == 0 && done != k->saved;
}

static void tell(keeper *k, int status, const char *then)
{
    k->failed = status < 0;
    if (status < 0)
        opt_fail(OPT_FAILED, "%s%s", ls_errmsg(), then);
}

void keeper_save(keeper *k, const position *at)
{
    ls_setting setting[NOTES];
    char text[NOTES][32];

    if (!k->all || at->done == k->saved)
        return;
    for (int i = 0; i < NOTES; i++) {
        write_note(&notes[i], at, text[i]);
        setting[i] = (ls_setting){notes[i].name, text[i]};
    }
    k->saved = at->done;
    tell(k, ls_checkpoints_save(k->all, NOTES, setting),
         " (the training goes on)");
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
