/* SPDX-License-Identifier: BSD-3-Clause */
/* See transcriber.h. */
#define _GNU_SOURCE
#include "train/transcriber.h"
#include "opt/characters.h"
#include "run/json_lines.h"
#include "run/manifest.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A run that is another one than the file's is a result, not a failure. */
static int check(const transcriber *r, int status)
{
    int64_t same = r->all ? ls_transcript_same(r->all) : -1;

    if (status != LS_EDIFFERS)
        return opt_check(status);
    printf("against differs %s", characters_shown(ls_errmsg()));
    if (same >= 0)
        printf("; the state of %lld is the same", (long long)same);
    putchar('\n');
    return RECORDER_DIFFERS;
}

/* ------ what must be the same ------ */

static const char KEEPS[] = "keeps";

typedef struct list {
    int count;
    ls_setting setting[2 * OPT_MAX];
    char name[2 * OPT_MAX][OPT_VALUE];
    char room[OPT_MAX][OPT_VALUE];
    char *spelt[OPT_MAX];
    char program[OPT_VALUE];
} list;

static void free_list(list *l)
{
    for (int i = 0; l && i < OPT_MAX; i++)
        free(l->spelt[i]);
    free(l);
}

static bool is_recorded(const opt_line *line, int i)
{
    const opt *o = &line->program->option[i];

    return line->given[i] && opt_is_recorded(o) && !o->is_file &&
           opt_takes(o, line->program->models[line->model]);
}

/* Is an option in the head though nobody gave it?  How many devices there are,
 * and the seed of data that no file has. */
static bool is_always(const char *name, bool generated)
{
    return strcmp(name, "devices") == 0 ||
           (generated && strcmp(name, "data-seed") == 0);
}

static bool always(const opt_line *line, int i)
{
    (void)line;
    (void)i;
    return true;
}

static void add(list *l, const char *before, const char *name,
                const char *value)
{
    snprintf(l->name[l->count], OPT_VALUE, "%s--%s", before, name);
    l->setting[l->count] = (ls_setting){l->name[l->count], value};
    l->count++;
}

/* Row i as transcripts of old have it, or the file that it names. */
static void add_row(list *l, const run *r, int i, bool of_old)
{
    const opt *o = &r->program.option[i];
    bool quoted;
    const char *value = opt_value(o, l->room[i], &quoted);

    add(l, o->is_file ? "file " : "", of_old && o->was ? o->was : o->name,
        !value ? "true" : o->is_file ? data_behind(value) : value);
}

/* An option with its parts in the one spelling. */
static int add_word(list *l, const run *r, int i, bool generated)
{
    const opt *o = &r->program.option[i];
    opt_wanted *wanted = is_always(o->name, generated) ? always : is_recorded;

    if (opt_is_part(o))
        return OPT_GO;
    if (!(l->spelt[i] = opt_spelt(&r->line, i, wanted)))
        return opt_no_memory("the options of a transcript");
    if (*l->spelt[i])
        add(l, "", o->name, l->spelt[i]);
    return OPT_GO;
}

/* Lists the command line's settings, who made the data where no file has it,
 * and what weights are kept: the trainer's own options are in every transcript.
 */
static int list_settings(list *l, const run *r, bool of_old, bool keeps)
{
    bool generated = !r->set.data.path && !r->set.data.x;
    int status = OPT_GO;

    for (int i = 0; i < r->program.count && status == OPT_GO; i++) {
        const opt *o = &r->program.option[i];

        if (r->line.given[i] && o->is_file)
            add_row(l, r, i, of_old);
        if (!of_old)
            status = add_word(l, r, i, generated);
        else if (is_recorded(&r->line, i) || is_always(o->name, generated))
            add_row(l, r, i, true);
    }
    if (generated)
        l->setting[l->count++] = (ls_setting){"generator",
                                              "numpy.random.RandomState"};
    if (keeps)
        l->setting[l->count++] = (ls_setting){KEEPS, "best"};
    return status;
}

/* ------ opening ------ */

static void set_options(ls_transcript_options *o, const run *r, list *l,
                        char sum[20])
{
    ls_work work;

    snprintf(sum, 20, "%016" PRIx64, r->data.sum);
    o->program = l->program;
    snprintf(l->program, sizeof l->program, "lockstep-train %s",
             run_model_name(r));
    o->n_settings = l->count;
    o->settings = l->setting;
    o->sum = sum;
    ls_trainer_work(r->trainer, &work);
    o->step_flops = work.row_flops * (double)r->data.batch;
}

/* ------ the file that is compared with, or goes on ------ */

/* Line `which` of a file, from 1 on; NULL: it has none. */
static int read_line(const char *path, int which, json_t **line)
{
    json_lines all;
    int status = json_lines_open(&all, path);

    *line = NULL;
    for (int n = 0; n < which && status == OPT_GO && (n == 0 || *line); n++) {
        json_decref(*line);
        status = json_lines_next(&all, line);
    }
    json_lines_close(&all);
    return status;
}

/* Does the head name options that are parts by now? */
static bool is_of_old(const run *r, const char *path)
{
    const char *name;
    json_t *head = NULL, *value;
    bool old = false;

    if (access(path, R_OK) == 0 && read_line(path, 1, &head) == OPT_GO)
        json_object_foreach (json_object_get(head, "options"), name, value)
            old |= strncmp(name, "--", 2) == 0 &&
                   opt_find_old(&r->program, name + 2) >= 0;
    json_decref(head);
    return old;
}

bool transcriber_keeps_last(const train_settings *set, bool went_on)
{
    const char *path = set->against ? set->against
                       : went_on    ? set->transcript : NULL;
    json_t *head = NULL;
    bool last = path && access(path, R_OK) == 0 &&
                read_line(path, 1, &head) == OPT_GO &&
                !json_object_get(json_object_get(head, "options"), KEEPS);

    json_decref(head);
    return last;
}

/* ------ a search for options ------ */

static const char *const search_names[] = {
    [SEARCH_FOLDS] = "folds", [SEARCH_SEED] = "seed",
    [SEARCH_TABLE] = "table", [SEARCH_TRIED] = "tried"};

/* Reads the search that a file is of, if its third line says so, after the
 * state of the beginning. */
static int read_search(const char *path, search *s)
{
    json_t *line;
    int status = read_line(path, 3, &line);
    const char *what = json_string_value(json_object_get(line, "what"));

    *s = (search){0};
    s->is = what && strcmp(what, "chosen") == 0;
    for (int i = 0; i < SEARCH_VALUES && s->is; i++) {
        const char *said = json_string_value(
            json_object_get(line, search_names[i]));

        snprintf(s->value[i], SEARCH_TEXT, "%s", said ? said : "");
    }
    json_decref(line);
    return status;
}

/* Options were chosen among several: an event says so.  Who compares does not
 * search again, and takes over what the file says. */
static int record_search(transcriber *r, const search *of_options)
{
    search s = *of_options;
    int status = r->compares ? read_search(r->path, &s) : OPT_GO;
    ls_setting value[SEARCH_VALUES];

    for (int i = 0; i < SEARCH_VALUES; i++)
        value[i] = (ls_setting){search_names[i], s.value[i]};
    if (status != OPT_GO)
        return status;
    return s.is ? check(r, ls_transcript_event(r->all, "chosen", SEARCH_VALUES,
                                               value))
                : OPT_GO;
}

int transcriber_open(transcriber *r, const run *of, const train_settings *set,
                     const position *at, const char *note,
                     const search *of_options, bool keeps)
{
    ls_transcript_options o = ls_transcript_defaults();
    ls_control control[KEEPER_CONTROLS];
    manifest files = {0};
    list *l;
    char sum[20], root[65] = "";
    bool of_old;
    int status, n;

    *r = (transcriber){.run = of, .set = set, .compares = set->against != NULL,
                    .path = set->against ? set->against : set->transcript};
    if (!r->path)
        return OPT_GO;
    if (!(l = calloc(1, sizeof *l)))
        return opt_fail(OPT_FAILED, "out of memory");
    of_old = (r->compares || note) && is_of_old(of, r->path);
    status = manifest_read(&files, of, of_old);
    if (status == OPT_GO)
        status = list_settings(l, of, of_old, keeps);
    if (status == OPT_GO && run_is_first(of)) /* it reads all rows */
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
    if (status == OPT_GO && at->done == 0 && !note)
        status = record_search(r, of_options);
    manifest_free(&files);
    free_list(l);
    return status;
}

void transcriber_close(transcriber *r)
{
    ls_transcript_close(r->all);
    r->all = NULL;
}

/* ------ lines ------ */

int transcriber_step(transcriber *r, const ls_result *result)
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

int transcriber_evaluation(transcriber *r, const position *at, double accuracy)
{
    char loss[20], right[20];
    ls_setting value[] = {{"accuracy", right}, {"loss", loss}};

    if (!r->all)
        return OPT_GO;
    put_double(loss, at->score.loss);
    put_double(right, accuracy);
    return check(r, ls_transcript_event(r->all, "evaluation", 2, value));
}

int transcriber_stop_event(transcriber *r, const position *at)
{
    char since[24];
    ls_setting value = {"since", since};

    if (!r->all)
        return OPT_GO;
    snprintf(since, sizeof since, "%" PRId64, at->score.stop.since);
    return check(r, ls_transcript_event(r->all, "stop", 1, &value));
}

int transcriber_plateau(transcriber *r, double scale)
{
    char text[20];
    ls_setting value = {"scale", text};

    if (!r->all)
        return OPT_GO;
    put_double(text, scale);
    return check(r, ls_transcript_event(r->all, "plateau", 1, &value));
}

int transcriber_rest(transcriber *r, const position *at)
{
    ls_control control[KEEPER_CONTROLS];

    if (!r->all || !ls_transcript_is_due(r->all))
        return OPT_GO;
    return check(r, ls_transcript_state(
                        r->all, keeper_controls(r->run, at, control), control));
}

int transcriber_saved(transcriber *r)
{
    int status = r->all ? run_average(r->run, true) : OPT_GO, back;

    if (!r->all || status != OPT_GO)
        return status;
    status = check(r, ls_transcript_saved(r->all));
    back = run_average(r->run, false);
    return status == OPT_GO ? back : status;
}

const char *transcriber_head(const transcriber *r, char sha256[65])
{
    if (!r->all)
        return NULL;
    ls_transcript_head(r->all, sha256);
    return sha256;
}

/* The file that a run of the same lines saved: is it the transcript's, too? */
static int compare_model(const transcriber *r)
{
    char contents[65];
    int status = ls_transcript_model(r->path, r->set->save);

    if (status == LS_EDIFFERS) {
        printf("model differs %s\n", ls_errmsg());
        return RECORDER_OTHER_MODEL;
    }
    if (status == 0)
        status = ls_model_contents(r->set->save, contents);
    if (status == 0)
        printf("model same %s\n", contents);
    return opt_check(status);
}

int transcriber_end(transcriber *r, const position *at, bool saved)
{
    ls_control control[KEEPER_CONTROLS];
    bool has_file = saved && r->all && r->set->save;
    int status;

    if (!r->all)
        return OPT_GO;
    status = check(r, ls_transcript_end(
                          r->all, keeper_controls(r->run, at, control), control,
                          has_file && !r->compares ? r->set->save : NULL));
    if (status == OPT_GO)
        status = transcriber_stop(r, at);
    return status == OPT_GO && has_file && r->compares ? compare_model(r)
                                                       : status;
}

int transcriber_stop(transcriber *r, const position *at)
{
    int status;

    if (r->all && r->compares)
        printf("against same %lld batch%s\n", (long long)at->done,
               opt_es(at->done));
    status = opt_check(ls_transcript_close(r->all));
    r->all = NULL;
    return status;
}

const char *transcriber_note(transcriber *r, char note[LS_TRANSCRIPT_NOTE])
{
    if (!r->all || r->compares)
        return NULL;
    if (ls_transcript_note(r->all, note) < 0) {
        opt_fail(OPT_FAILED, "%s", ls_errmsg());
        return NULL;
    }
    return note;
}
