/* A run's checkpoints.  The caller copies the state, a thread writes the copy:
 * so a step waits for a copy in memory and never for a disk.
 *
 * The thread's life: wait for BUSY, write and prune, say IDLE again.  While it
 * is BUSY the copy, the notes and the step are its own; while it is IDLE they
 * are the caller's.  Everything is allocated when it is opened but for what
 * JSON needs. */
#define _GNU_SOURCE /* pthread_setname_np */
#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/sized.h"
#include "checkpoint/checkpoint.h"
#include "pool/pool.h"
#include "pool/thread.h"
#include "checkpoint/run_folder.h"
#include "checkpoint/run_options.h"
#include "train/trainer.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum phase { IDLE, BUSY, ENDING } phase;

struct ls_checkpoints {
    ls_trainer *trainer;
    ls__arena arena;
    ls__process process; /* the thread's */
    ls__folder dir;      /* locked */
    int keep;
    int blocks;             /* the parameters and each moment */
    float *copy;            /* [blocks * params.floats] */
    ls__safetensor *tensor; /* [blocks * params.count], of the copy */
    json_t *options, *notes;
    json_t *loaded; /* the notes of what was loaded */
    const char *may_change;
    json_t *differs; /* options that the last one looked at had otherwise */
    char skipped[LS__MESSAGE];
    int64_t step; /* of the copy */

    pthread_t thread;
    bool started;
    /* Guards phase, status and message; held while nothing else is done. */
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* the phase changed */
    phase phase;
    int status; /* of the last save, until it is reported */
    char message[LS__MESSAGE];
};

/* ------ The thread ------ */

static int write_copy(ls_checkpoints *c)
{
    ls__snapshot s = {.params = c->trainer->model.params.count,
                      .tensors = c->blocks * c->trainer->model.params.count,
                      .tensor = c->tensor, .step = c->step,
                      .options = c->options, .notes = c->notes};
    ls__stamp stamp;
    int status = ls__run_folder_find(&c->dir);

    if (status == 0)
        status = ls__checkpoint_write(&c->dir, &s, &stamp);
    return status < 0 ? status
                      : ls__checkpoint_prune(&c->dir, c->keep, stamp);
}

static void enter(ls_checkpoints *c, phase to)
{
    c->phase = to;
    pthread_cond_broadcast(&c->changed);
}

static void *writer(void *user)
{
    ls_checkpoints *c = user;

    (void)pthread_setname_np(pthread_self(), "lockstep-save");
    ls__pool_unpin(c->trainer->pool);
    pthread_mutex_lock(&c->mutex);
    for (;;) {
        int status;

        while (c->phase == IDLE)
            pthread_cond_wait(&c->changed, &c->mutex);
        if (c->phase == ENDING)
            break;
        pthread_mutex_unlock(&c->mutex);
        status = write_copy(c);
        pthread_mutex_lock(&c->mutex);
        c->status = status;
        if (status < 0)
            snprintf(c->message, sizeof c->message, "%s", ls_errmsg());
        enter(c, IDLE);
    }
    pthread_mutex_unlock(&c->mutex);
    return NULL;
}

/* Until the thread is idle; then the status of its last save, once. */
static int wait_idle(ls_checkpoints *c)
{
    int status;

    pthread_mutex_lock(&c->mutex);
    while (c->phase == BUSY)
        pthread_cond_wait(&c->changed, &c->mutex);
    status = c->status;
    c->status = 0;
    pthread_mutex_unlock(&c->mutex);
    return status < 0 ? ls__fail(status, "%s", c->message) : 0;
}

static int start(ls_checkpoints *c)
{
    int error;

    pthread_mutex_init(&c->mutex, NULL);
    pthread_cond_init(&c->changed, NULL);
    error = ls__thread_start(&c->thread, writer, c);
    c->started = !error;
    if (!error)
        return 0;
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->mutex);
    return ls__fail(LS_ETHREAD, "no thread to write checkpoints: %s",
                    strerror(error));
}

static void stop(ls_checkpoints *c)
{
    (void)wait_idle(c);
    pthread_mutex_lock(&c->mutex);
    enter(c, ENDING);
    pthread_mutex_unlock(&c->mutex);
    pthread_join(c->thread, NULL);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->mutex);
}

/* ------ Opening ------ */

static const char *tensor_name(ls_checkpoints *c, const char *moment,
                               const char *name)
{
    size_t room = strlen(moment) + strlen(name) + 2;
    char *text = ls__arena_new(&c->arena, room, 1);

    if (text)
        snprintf(text, room, "%s%s%s", moment, *moment ? "." : "", name);
    return text;
}

static int name_tensors(ls_checkpoints *c)
{
    const ls_trainer *t = c->trainer;
    ls_optimizer_kind kind = t->options.optimizer.kind;
    ls__safetensor *to = c->tensor;

    for (int b = 0; b < c->blocks; b++)
        for (int i = 0; i < t->model.params.count; i++, to++) {
            const ls__slot *s = &t->model.params.slot[i];

            to->name = tensor_name(
                c, b ? ls__optim_moment_name(kind, b - 1) : "", s->name);
            if (!to->name)
                return LS_ENOMEM;
            to->rank = s->rank;
            memcpy(to->shape, s->shape, sizeof s->shape);
            to->data = c->copy + b * t->model.params.floats + s->offset;
        }
    return 0;
}

static int make_copy(ls_checkpoints *c)
{
    const ls_trainer *t = c->trainer;
    size_t n = (size_t)c->blocks, bytes;

    if (!ls__mul(n * sizeof(float), (size_t)t->model.params.floats, &bytes))
        return ls__no_memory("copy for checkpoints", SIZE_MAX);
    c->copy = ls__block_zero(bytes, "copy for checkpoints");
    c->tensor = ls__arena_new(&c->arena, n * (size_t)t->model.params.count,
                              sizeof *c->tensor);
    return c->copy && c->tensor ? name_tensors(c) : LS_ENOMEM;
}

static int fill(ls_checkpoints *c, const ls_checkpoints_options *o)
{
    const char *path = ls__arena_text(&c->arena, o->folder);
    int status;

    c->may_change = o->may_change ? ls__arena_text(&c->arena, o->may_change)
                                  : "";
    if (!path || !c->may_change)
        return LS_ENOMEM;
    c->blocks = 1 + ls__optim_moments(c->trainer->options.optimizer.kind);
    if ((status = ls__run_options_new(&c->options, c->trainer, o->settings,
                                      o->setting)) < 0 ||
        (status = make_copy(c)) < 0 ||
        (status = ls__run_folder_open(&c->dir, path)) < 0)
        return status;
    return start(c);
}

static const ls_checkpoints_options defaults = {
    .size = sizeof defaults, .keep = 3};

void ls_checkpoints_defaults_sized(ls_checkpoints_options *options, size_t size)
{
    ls__sized_defaults(options, size, &defaults, sizeof defaults);
}

int ls_checkpoints_open(ls_checkpoints **checkpoints, ls_trainer *trainer,
                        const ls_checkpoints_options *options)
{
    ls_checkpoints_options o = defaults;
    int status = ls__sized_take("checkpoints", &o, sizeof o, options);
    ls_checkpoints *c;

    if (status < 0)
        return status;
    if (!trainer || !o.folder || o.keep < 0)
        return ls__fail(LS_EINVAL, "checkpoints need a trainer, a folder and "
                        "a number to keep that is not negative");
    if (trainer->seam)
        return ls__fail(LS_ENOTSUP, "checkpoints: the trainer's devices are "
                        "spread over ranks, whose state is not gathered yet");
    if (!(c = ls__new(1, sizeof *c, "checkpoints")))
        return LS_ENOMEM;
    c->trainer = trainer;
    c->keep = o.keep;
    c->dir.fd = -1;
    c->process = ls__process_open();
    if ((status = fill(c, &o)) < 0) {
        ls_checkpoints_close(c);
        return status;
    }
    *checkpoints = c;
    return 0;
}

void ls_checkpoints_close(ls_checkpoints *c)
{
    if (!c)
        return;
    if (c->started && ls__process_is_this(&c->process))
        stop(c); /* a child of fork has no thread to stop */
    ls__run_folder_close(&c->dir);
    ls__process_close(&c->process);
    json_decref(c->options);
    json_decref(c->notes);
    json_decref(c->loaded);
    json_decref(c->differs);
    ls__block_free(c->copy);
    ls__arena_free(&c->arena);
    free(c);
}

/* ------ Saving ------ */

static float *block(const ls_trainer *t, int b)
{
    return b ? t->moment[b - 1] : t->model.value;
}

static int hand_over(ls_checkpoints *c, int notes, const ls_setting *note)
{
    const ls_trainer *t = c->trainer;
    json_t *fresh;
    int status = ls__run_options_new(&fresh, NULL, notes, note);

    if (status < 0)
        return status;
    json_decref(c->notes);
    c->notes = fresh;
    for (int b = 0; b < c->blocks; b++)
        memcpy(c->copy + b * t->model.params.floats, block(t, b),
               (size_t)t->model.params.floats * sizeof(float));
    c->step = t->step;
    pthread_mutex_lock(&c->mutex);
    enter(c, BUSY);
    pthread_mutex_unlock(&c->mutex);
    return 0;
}

static int check_process(const ls_checkpoints *c)
{
    if (ls__process_is_this(&c->process))
        return 0;
    return ls__fail(LS_ETHREAD, "%s: the checkpoints belong to process %ld: a "
                    "fork leaves their thread behind", c->dir.path,
                    c->process.id);
}

int ls_checkpoints_save(ls_checkpoints *c, int notes, const ls_setting *note)
{
    int before, status = check_process(c);

    if (status < 0 || (status = ls_trainer_check(c->trainer)) < 0)
        return status;
    before = wait_idle(c);
    status = hand_over(c, notes, note);
    return status < 0 ? status : before;
}

int ls_checkpoints_wait(ls_checkpoints *c)
{
    int status = check_process(c);

    return status < 0 ? status : wait_idle(c);
}

/* ------ Loading ------ */

/* The files hold what a trainer of this model would write, in its order. */
static int check_array(const ls__checkpoint *from, const ls__safetensor *want,
                       const ls_entry *e)
{
    char is[LS__SHAPE_TEXT], was[LS__SHAPE_TEXT];

    if (strcmp(want->name, e->name))
        return ls__fail(LS_ENOTFOUND, "%s: the model has \"%s\" where the "
                        "checkpoint has \"%s\"", from->folder, want->name,
                        e->name);
    if (want->rank != e->rank ||
        memcmp(want->shape, e->shape, (size_t)e->rank * sizeof *e->shape))
        return ls__fail(LS_ESHAPE, "%s: \"%s\" is %s, but was %s in the "
                        "checkpoint", from->folder, e->name,
                        ls__shape_text(is, want->rank, want->shape),
                        ls__shape_text(was, e->rank, e->shape));
    return strcmp(e->dtype, "F32")
               ? ls__fail(LS_EFORMAT, "%s: \"%s\" is of type %s", from->folder,
                          e->name, e->dtype)
               : 0;
}

static int check_arrays(const ls_checkpoints *c, const ls__checkpoint *from)
{
    int params = c->trainer->model.params.count;
    int n = c->blocks * params, status = 0;

    if (from->params.count != params || from->optimizer.count != n - params)
        return ls__fail(LS_ESHAPE, "%s: %d parameters and %d moments, but were "
                        "%d and %d in the checkpoint", from->folder, params,
                        n - params, from->params.count, from->optimizer.count);
    for (int i = 0; i < n && status == 0; i++)
        status = check_array(from, &c->tensor[i],
                             i < params ? &from->params.entry[i]
                                        : &from->optimizer.entry[i - params]);
    return status;
}

/* All is checked: from here on nothing can fail. */
static void take(ls_checkpoints *c, ls__checkpoint *from)
{
    const ls__params *p = &c->trainer->model.params;

    for (int b = 0; b < c->blocks; b++)
        for (int i = 0; i < p->count; i++) {
            const ls_entry *e = b ? &from->optimizer.entry[(b - 1) * p->count
                                                           + i]
                                  : &from->params.entry[i];

            memcpy(block(c->trainer, b) + p->slot[i].offset, e->data,
                   (size_t)e->bytes);
        }
    c->trainer->step = from->step;
    json_decref(c->loaded);
    c->loaded = json_incref(from->notes);
}

/* c->differs is of this one from here on. */
static int compare(ls_checkpoints *c, const ls__checkpoint *from)
{
    json_decref(c->differs);
    c->differs = json_object();
    if (!c->differs)
        return ls__no_memory("changed options", sizeof(void *));
    return ls__checkpoint_compare(c->options, from->options, c->may_change,
                                  c->differs, from->folder);
}

static int load(ls_checkpoints *c, ls__stamp stamp)
{
    size_t room = strlen(c->dir.path) + LS__STAMP_TEXT + 1;
    char *folder = ls__new(room, 1, "file name"), name[LS__STAMP_TEXT];
    ls__checkpoint from = {0};
    int status;

    if (!folder)
        return LS_ENOMEM;
    ls__stamp_text(name, stamp);
    snprintf(folder, room, "%s/%s", c->dir.path, name);
    if ((status = ls__checkpoint_open(&from, folder)) == 0 &&
        (status = compare(c, &from)) == 0 &&
        (status = ls__checkpoint_arrays(&from)) == 0 &&
        (status = check_arrays(c, &from)) == 0)
        take(c, &from);
    ls__checkpoint_close(&from);
    free(folder);
    return status;
}

/* Another file may be good where one is damaged or cannot be read; no other one
 * helps where the options differ. */
static bool is_damage(int status)
{
    return status == LS_EFORMAT || status == LS_EIO || status == LS_ENOTSUP;
}

static void note_skipped(ls_checkpoints *c)
{
    if (!*c->skipped) /* the newest says most */
        snprintf(c->skipped, sizeof c->skipped, "%s", ls_errmsg());
}

/* By the path: the open folder is the thread's while it is BUSY. */
static int list_all(const ls_checkpoints *c, ls__stamp **list, int *count)
{
    return ls__checkpoint_list(AT_FDCWD, c->dir.path, list, count);
}

int ls_checkpoints_load(ls_checkpoints *c, int64_t *step)
{
    ls__stamp *list;
    int count, i, status = list_all(c, &list, &count);

    if (status < 0)
        return status;
    *c->skipped = 0;
    for (i = count - 1; i >= 0; i--) {
        status = load(c, list[i]);
        if (!is_damage(status))
            break;
        note_skipped(c);
    }
    free(list);
    if (is_damage(status))
        return ls__fail(LS_EFORMAT, "%s: none of the %d checkpoints can be "
                        "read; the newest: %s", c->dir.path, count, c->skipped);
    if (status == 0)
        *step = count ? c->trainer->step : -1;
    return status;
}

int ls_checkpoints_count(const ls_checkpoints *c)
{
    ls__stamp *list;
    int count, status = list_all(c, &list, &count);

    free(list);
    return status < 0 ? status : count;
}

const char *ls_checkpoints_note(const ls_checkpoints *c, const char *name)
{
    return json_string_value(json_object_get(c->loaded, name));
}

bool ls_checkpoints_change(const ls_checkpoints *c, int i, ls_change *change)
{
    const char *name;
    json_t *was;

    json_object_foreach(c->differs, name, was)
        if (i-- == 0) {
            json_t *is = json_object_get(c->options, name);

            *change = (ls_change){name, json_string_value(is),
                                  json_string_value(was)};
            return true;
        }
    return false;
}

const char *ls_checkpoints_skipped(const ls_checkpoints *c)
{
    return *c->skipped ? c->skipped : NULL;
}
