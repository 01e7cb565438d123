/* SPDX-License-Identifier: BSD-3-Clause */
/* See recorder.h. */
#define _GNU_SOURCE
#include "train/recorder.h"
#include "run/manifest.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A run that is another one than the file's is a result, not a failure. */
static int check(const recorder *r, int status)
{
    int64_t same = r->all ? ls_transcript_same(r->all) : -1;

    if (status != LS_EDIFFERS)
        return opt_check(status);
    printf("against differs %s", ls_errmsg());
    if (same >= 0)
        printf("; the state of %lld is the same", (long long)same);
    putchar('\n');
    return RECORDER_DIFFERS;
}

/* ------ what must be the same ------ */

typedef struct list {
    int count;
    ls_setting setting[OPT_MAX];
    char name[OPT_MAX][OPT_VALUE];
    char room[OPT_MAX][OPT_VALUE];
    char file[OPT_MAX][MANIFEST_NAME];
} list;

static bool is_recorded(const run *r, int i)
{
    const opt *o = &r->program.option[i];

    return opt_takes(o, r->program.models[r->line.model]) && opt_is_recorded(o);
}

/* What the command line said, and how many devices that came to: the trainer's
 * own options are in every transcript. */
static void list_settings(list *l, const run *r)
{
    for (int i = 0; i < r->program.count; i++) {
        const opt *o = &r->program.option[i];
        bool devices = strcmp(o->name, "devices") == 0, quoted;
        const char *value;

        if (!is_recorded(r, i) || !(r->line.given[i] || devices))
            continue;
        value = opt_value(o, l->room[i], &quoted);
        snprintf(l->name[i], OPT_VALUE, "%s--%s", o->is_file ? "file " : "",
                 o->name);
        l->setting[l->count++] = (ls_setting){
            l->name[i], !value          ? "true"
                        : o->is_file    ? manifest_name(value, l->file[i])
                                        : value};
    }
}

/* ------ opening ------ */

static void set_options(ls_transcript_options *o, const run *r, list *l,
                        char sum[20])
{
    ls_work work;

    list_settings(l, r);
    snprintf(sum, 20, "%016" PRIx64, r->data.sum);
    o->program = l->room[OPT_MAX - 1];
    snprintf(l->room[OPT_MAX - 1], OPT_VALUE, "lockstep-train %s",
             run_model_name(r));
    o->n_settings = l->count;
    o->settings = l->setting;
    o->sum = sum;
    ls_trainer_work(r->trainer, &work);
    o->step_flops = work.row_flops * (double)r->data.batch;
}

/* Has the file's head a root of the rows?  What is wrong with the file is said
 * where it is opened. */
static bool has_source(const char *path)
{
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    json_t *head = NULL;
    bool has;

    if (f && getline(&line, &room, f) > 0)
        head = json_loads(line, 0, NULL);
    has = json_object_get(head, "source") != NULL;
    json_decref(head);
    free(line);
    if (f)
        fclose(f);
    return has;
}

int recorder_open(recorder *r, const run *of, const train_settings *set,
                  const position *at, const char *note)
{
    ls_transcript_options o = ls_transcript_defaults();
    ls_control control[KEEPER_CONTROLS];
    manifest files = {0};
    list *l;
    char sum[20], root[65] = "";
    int status, n;

    *r = (recorder){.run = of, .set = set, .compares = set->against != NULL,
                    .path = set->against ? set->against : set->transcript};
    if (!r->path)
        return OPT_GO;
    if (!(l = calloc(1, sizeof *l)))
        return opt_fail(OPT_FAILED, "out of memory");
    status = manifest_read(&files, of);
    if (status == OPT_GO && run_is_first(of) &&
        (!r->compares || has_source(r->path))) /* it reads all rows */
        status = data_root(&of->data, root);
    set_options(&o, of, l, sum);
    o.path = r->path;
    o.every = set->transcript_every;
    o.rows = set->transcript_rows;
    o.gradient = set->transcript_gradient;
    o.compare = r->compares;
    o.from = r->compares && at->done ? at->done : -1;
    o.resume = r->compares ? NULL : note;
    o.source = *root ? root : NULL;
    o.n_files = files.count;
    o.files = files.file;
    n = keeper_controls(r->run, at, control);
    if (status == OPT_GO && !r->compares && at->done && !note)
        status = opt_fail(OPT_FAILED, "%s: the checkpoint was saved without "
                          "--transcript, so there is none to go on with",
                          r->path);
    if (status == OPT_GO)
        status = check(r, ls_transcript_open(&r->all, of->trainer, &o, n,
                                             control));
    manifest_free(&files);
    free(l);
    return status;
}

void recorder_close(recorder *r)
{
    ls_transcript_close(r->all);
    r->all = NULL;
}

/* ------ lines ------ */

int recorder_step(recorder *r, const ls_result *result)
{
    if (!r->all)
        return OPT_GO;
    return check(r, ls_transcript_step(r->all, result->step, result));
}

static void put_double(char text[20], double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    snprintf(text, 20, "%016" PRIx64,
             isnan(x) ? UINT64_C(0x7ff8000000000000) : bits);
}

int recorder_evaluation(recorder *r, const position *at, double accuracy)
{
    char loss[20], right[20];
    ls_setting value[] = {{"accuracy", right}, {"loss", loss}};

    if (!r->all)
        return OPT_GO;
    put_double(loss, at->score.loss);
    put_double(right, accuracy);
    return check(r, ls_transcript_event(r->all, "evaluation", 2, value));
}

int recorder_stop_event(recorder *r, const position *at)
{
    char since[24];
    ls_setting value = {"since", since};

    if (!r->all)
        return OPT_GO;
    snprintf(since, sizeof since, "%" PRId64, at->score.stop.since);
    return check(r, ls_transcript_event(r->all, "stop", 1, &value));
}

int recorder_plateau(recorder *r, double scale)
{
    char text[20];
    ls_setting value = {"scale", text};

    if (!r->all)
        return OPT_GO;
    put_double(text, scale);
    return check(r, ls_transcript_event(r->all, "plateau", 1, &value));
}

int recorder_rest(recorder *r, const position *at)
{
    ls_control control[KEEPER_CONTROLS];

    if (!r->all || !ls_transcript_is_due(r->all))
        return OPT_GO;
    return check(r, ls_transcript_state(
                        r->all, keeper_controls(r->run, at, control), control));
}

int recorder_end(recorder *r, const position *at, bool saved)
{
    ls_control control[KEEPER_CONTROLS];
    const char *file = saved && !r->compares ? r->set->save : NULL;
    int status;

    if (!r->all)
        return OPT_GO;
    status = check(r, ls_transcript_end(
                          r->all, keeper_controls(r->run, at, control), control,
                          file));
    return status == OPT_GO ? recorder_stop(r, at) : status;
}

int recorder_stop(recorder *r, const position *at)
{
    int status;

    if (r->all && r->compares)
        printf("against same %lld batches\n", (long long)at->done);
    status = opt_check(ls_transcript_close(r->all));
    r->all = NULL;
    return status;
}

const char *recorder_note(recorder *r, char note[LS_TRANSCRIPT_NOTE])
{
    if (!r->all || r->compares)
        return NULL;
    if (ls_transcript_note(r->all, note) < 0) {
        opt_fail(OPT_FAILED, "%s", ls_errmsg());
        return NULL;
    }
    return note;
}
