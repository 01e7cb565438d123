/* SPDX-License-Identifier: BSD-3-Clause */
/* A run's checkpoints.  The caller copies the state, a thread writes the copy:
 * so a step waits for a copy in memory and never for a disk.
 *
 * Over ranks the first one has all of this: it collects the state into its
 * copy, and sends what it reads to the others.  These have only their options,
 * to be compared, and what was loaded; what fails on one rank fails on all.
 *
 * The thread's life: wait for BUSY, write and prune, say IDLE again.  While it
 * is BUSY the copy, the notes and the step are its own; while it is IDLE they
 * are the caller's.  Everything is allocated when it is opened, except what
 * JSON needs. */
#define _GNU_SOURCE /* pthread_setname_np */
#include "base/assert.h"
#include "base/error.h"
#include "base/real_text.h"
#include "base/sha.h"
#include "base/sized.h"
#include "checkpoint/checkpoints.h"
#include "checkpoint/run_folder.h"
#include "checkpoint/run_options.h"
#include "pool/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------ The thread ------ */

static int write_copy(ls_checkpoints *c)
{
    ls__checkpoint_content s = {.params = c->layout->count,
                  .tensors = c->blocks * c->layout->count,
                  .tensor = c->tensor, .step = c->step, .root = c->root,
                  .options = c->options, .notes = c->notes,
                  .graph = c->graph};
    ls__stamp stamp;
    int status = ls__run_folder_find(&c->dir);

    if (status == 0)
        status = ls__checkpoint_write(&c->dir, &s, &stamp);
    return status < 0 ? status
                      : ls__checkpoint_prune(&c->dir, c->keep,
                                             c->keep_first, stamp);
}

static void enter(ls_checkpoints *c, phase to)
{
    LS__ASSERT(c->phase == (to == IDLE ? BUSY : IDLE));
    c->phase = to;
    pthread_cond_broadcast(&c->changed);
}

static void *writer(void *user)
{
    ls_checkpoints *c = user;

    (void)pthread_setname_np(pthread_self(), "lockstep-save");
    ls__state_unpin(c->trainer);
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

void ls__checkpoints_idle(ls_checkpoints *c)
{
    pthread_mutex_lock(&c->mutex);
    while (c->phase == BUSY)
        pthread_cond_wait(&c->changed, &c->mutex);
    pthread_mutex_unlock(&c->mutex);
}

/* Wait until the thread is idle; returns the status of its last save, once. */
static int wait_idle(ls_checkpoints *c)
{
    int status;

    ls__checkpoints_idle(c);
    pthread_mutex_lock(&c->mutex);
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
    const ls__state is = ls__state_of(c->trainer);
    ls__safetensor *to = c->tensor;

    for (int b = 0; b < c->blocks; b++)
        for (int i = 0; i < c->layout->count; i++, to++) {
            const ls__slot *s = &c->layout->slot[i];

            to->name = tensor_name(
                c, b ? is.moment_name[b - 1] : "", s->name);
            if (!to->name)
                return LS_ENOMEM;
            to->rank = s->rank;
            memcpy(to->shape, s->shape, sizeof s->shape);
            to->data = c->copy[b] + s->offset;
        }
    return 0;
}

static int make_copy(ls_checkpoints *c)
{
    const ls__params *p = c->layout;

    for (int b = 0; b < c->blocks; b++)
        if (!(c->copy[b] = ls__block_zero((size_t)p->floats * sizeof(float),
                                          "copy for checkpoints")))
            return LS_ENOMEM;
    c->tensor = ls__arena_new(&c->arena, (size_t)c->blocks * (size_t)p->count,
                              sizeof *c->tensor);
    return c->tensor ? name_tensors(c) : LS_ENOMEM;
}

static int fill(ls_checkpoints *c, const ls_checkpoints_options *o)
{
    const char *path = ls__arena_text(&c->arena, o->folder);
    int status;

    c->may_change = o->may_change ? ls__arena_text(&c->arena, o->may_change)
                                  : "";
    if (!path || !c->may_change)
        return LS_ENOMEM;
    c->blocks = 1 + ls__state_of(c->trainer).moments;
    LS__ASSERT(c->blocks <= (int)(sizeof c->copy / sizeof *c->copy));
    c->dir = (ls__folder){path, -1};
    status = ls__run_options_new(&c->options, c->trainer, o->n_settings,
                                 o->settings);
    if (status == 0)
        status = ls__run_graph_new(&c->graph, c->trainer);
    if (status < 0 || !ls__spread_first(c->trainer))
        return status;
    if ((status = make_copy(c)) < 0 ||
        (status = ls__run_folder_open(&c->dir, path)) < 0)
        return status;
    return start(c);
}

LS__DEFAULTS(ls_checkpoints_options, ls_checkpoints_defaults_bytes, .keep = 3)

int ls_checkpoints_open(ls_checkpoints **checkpoints, ls_trainer *trainer,
                        const ls_checkpoints_options *options)
{
    LS__NEED(checkpoints);
    LS__NEED(trainer);
    LS__NEED(options);

    ls_checkpoints_options o = ls_checkpoints_defaults();
    int status = ls__sized_take("checkpoints", &o, sizeof o, options);
    ls_checkpoints *c;

    if (status == 0 && (!o.folder || o.keep < 0))
        status = ls__fail(LS_EINVAL, "checkpoints need a folder and a "
                          "number to keep that is not negative");
    if (status < 0 || !(c = ls__new(1, sizeof *c, "checkpoints")))
        return ls__spread_agree(trainer, status < 0 ? status : LS_ENOMEM);
    c->trainer = trainer;
    c->layout = ls__state_of(trainer).layout;
    c->keep = o.keep;
    c->keep_first = o.keep_first;
    c->dir.fd = -1;
    c->process = ls__process_open();
    if ((status = ls__spread_agree(trainer, fill(c, &o))) < 0 ||
        (status = ls__checkpoints_agree(c)) < 0) {
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
    json_decref(c->graph);
    json_decref(c->notes);
    json_decref(c->loaded);
    json_decref(c->differs);
    for (int b = 0; b < c->blocks; b++)
        ls__block_free(c->copy[b]);
    ls__arena_free(&c->arena);
    free(c);
}

/* ------ Saving ------ */

/* The learning rate that was set while it trained, a note of its own. */
static const char RATE[] = "the learning rate as it was set";

static int note_rate(ls_checkpoints *c)
{
    const ls__state is = ls__state_of(c->trainer);
    char text[32];

    if (is.lr == is.options->optimizer.lr)
        return 0;
    snprintf(text, sizeof text, "%a", is.lr);
    ls__real_point(text);
    return json_object_set_new(c->notes, RATE, json_string(text)) < 0
               ? ls__no_memory("notes", sizeof text) : 0;
}

/* Out of the notes. */
static int take_root(ls_checkpoints *c, json_t *notes)
{
    json_t *note = json_object_get(notes, LS__ROOT_NOTE);
    const char *root = note ? json_string_value(note) : "";

    if (note && !ls__is_digest(root))
        return ls__fail(LS_EINVAL, "the note \"%s\" of a checkpoint is "
                        "\"%.70s\", and not the 64 digits of "
                        "ls_trainer_root", LS__ROOT_NOTE, root);
    snprintf(c->root, sizeof c->root, "%s", root);
    if (note)
        (void)json_object_del(notes, LS__ROOT_NOTE);
    return 0;
}

static int take_notes(ls_checkpoints *c, int n_notes, const ls_setting *notes)
{
    json_t *fresh;
    int status = ls__run_options_new(&fresh, NULL, n_notes, notes);

    if (status < 0)
        return status;
    if ((status = take_root(c, fresh)) < 0) {
        json_decref(fresh);
        return status;
    }
    json_decref(c->notes);
    c->notes = fresh;
    return note_rate(c);
}

/* A rate that the run's options changed is no longer the one it was set
 * from. */
void ls__checkpoints_set(ls_checkpoints *c, int64_t step)
{
    ls_trainer *t = c->trainer;
    const char *text = ls_checkpoints_note(c, RATE);
    double rate;

    ls__state_go_on(t, step);
    if (text && !json_object_get(c->differs, "lr") &&
        ls__real_value(text, &rate))
        (void)ls_trainer_set_lr(t, rate);
}

/* The copy is the thread's from here on. */
static void hand_over(ls_checkpoints *c)
{
    if (!c->started)
        return;
    c->step = ls_trainer_step(c->trainer);
    pthread_mutex_lock(&c->mutex);
    enter(c, BUSY);
    pthread_mutex_unlock(&c->mutex);
}

static int check_process(const ls_checkpoints *c)
{
    if (ls__process_is_this(&c->process))
        return 0;
    return ls__fail(LS_ETHREAD, "%s: the checkpoints belong to process %ld: a "
                    "fork leaves their thread behind", c->dir.path,
                    c->process.id);
}

int ls_checkpoints_save(ls_checkpoints *c, int n_notes,
                        const ls_setting *notes)
{
    LS__NEED_AS(c, "checkpoints", LS_EINVAL);

    const ls_trainer *t = c->trainer;
    int before, status = check_process(c);

    if (status == 0)
        status = ls__state_check(t);
    if (status == 0)
        status = ls_trainer_check(t);
    if ((status = ls__spread_agree(t, status)) < 0)
        return status;
    before = c->started ? wait_idle(c) : 0;
    status = c->started ? take_notes(c, n_notes, notes) : 0;
    if ((status = ls__spread_agree(t, status)) < 0 ||
        (status = ls__checkpoints_collect(c)) < 0)
        return status;
    hand_over(c);
    return ls__spread_agree(t, before);
}

int ls_checkpoints_wait(ls_checkpoints *c)
{
    LS__NEED_AS(c, "checkpoints", LS_EINVAL);

    int status = check_process(c);

    if (status == 0 && c->started)
        status = wait_idle(c);
    return ls__spread_agree(c->trainer, status);
}
