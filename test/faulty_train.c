/* SPDX-License-Identifier: BSD-3-Clause */
/* A trainer for test/dispute.sh that takes what lockstep-verify gives to
 * lockstep-train: a small model, and with FAULT=STEP:PHASE:WHAT in the
 * environment a bit of the first such array of that step is another; before
 * step 0 one of the first values of parameters. */
#define _GNU_SOURCE
#include "record/record_write.h"
#include "train/trainer.h"

#include <inttypes.h>
#include <lockstep.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 48, IN = 20, HIDDEN = 40, CLASSES = 5, STEPS = 20 };

typedef struct asked {
    const char *transcript, *path, *prove;
    int64_t every, stop_at, record;
    int device;
    bool values;
    char *phase, *what; /* of the fault; NULL: none */
    int64_t step;
    bool is_done;
} asked;

static void must(int status)
{
    if (status >= 0)
        return;
    fprintf(stderr, "faulty_train: %s\n", ls_errmsg());
    exit(1);
}

static const char *value_of(const char *arg, const char *name)
{
    size_t n = strlen(name);

    return strncmp(arg, name, n) ? NULL : arg + n;
}

static void read_argument(asked *a, const char *arg)
{
    const char *text;
    char *end;

    if ((text = value_of(arg, "--transcript=")))
        a->transcript = text;
    else if ((text = value_of(arg, "--transcript-every=")))
        a->every = strtoll(text, NULL, 10);
    else if ((text = value_of(arg, "--stop-at=")))
        a->stop_at = strtoll(text, NULL, 10);
    else if ((text = value_of(arg, "--prove=")))
        a->prove = text;
    else if (strcmp(arg, "--values") == 0)
        a->values = true;
    else if ((text = value_of(arg, "--record="))) {
        a->record = strtoll(text, &end, 10);
        a->device = *end ? (int)strtol(end + 1, NULL, 10) : -1;
    } else if (strncmp(arg, "--", 2)) {
        a->path = arg;
    }
}

static void read_fault(asked *a)
{
    static char text[200];
    const char *fault = getenv("FAULT");

    if (!fault || !*fault)
        return;
    snprintf(text, sizeof text, "%s", fault);
    a->step = strtoll(text, &a->phase, 10);
    a->what = strchr(++a->phase, ':');
    *a->what++ = 0;
}

static void touch(void *user, const ls__where *w, float *values, int64_t n)
{
    asked *a = user;
    uint32_t bits;

    if (a->is_done || strcmp(w->phase, a->phase) || strcmp(w->what, a->what))
        return;
    a->is_done = true;
    memcpy(&bits, &values[n / 2], sizeof bits);
    bits ^= 1u << 12;
    memcpy(&values[n / 2], &bits, sizeof bits);
}

static ls_graph *graph_of(void)
{
    ls_graph *g;
    ls_node *x, *h;

    must(ls_graph_new(&g));
    x = ls_input(g, "x", LS_F32, 1, (int64_t[]){IN});
    h = ls_layer_norm(ls_dense(x, HIDDEN, "h"), "n");
    h = ls_softmax(ls_dense(ls_gelu(h), CLASSES, "o"));
    must(ls_loss(g, ls_mean_squared_error(
                        h, ls_input(g, "y", LS_F32, 1, (int64_t[]){CLASSES}))));
    return g;
}

/* The data: the rows of all steps. */
static float x[STEPS * ROWS * IN], y[STEPS * ROWS * CLASSES];

static ls_source source_of(void)
{
    const ls_array all[] = {
        {.name = "x", .dtype = LS_F32, .rank = 2,
         .shape = {STEPS * ROWS, IN}, .data = x},
        {.name = "y", .dtype = LS_F32, .rank = 2,
         .shape = {STEPS * ROWS, CLASSES}, .data = y}};
    ls_source rows;

    ls_random_normal(ls_key_new(1), 0, STEPS * ROWS * IN, x);
    ls_random_normal(ls_key_new(2), 0, STEPS * ROWS * CLASSES, y);
    must(ls_source_arrays(&rows, 2, all));
    return rows;
}

static void set_batch(ls_batch *b, int64_t step)
{
    must(ls_batch_set(b, "x", LS_F32, x + step * ROWS * IN, ROWS));
    must(ls_batch_set(b, "y", LS_F32, y + step * ROWS * CLASSES, ROWS));
}

/* STEP:ELEMENT:A:B:INPUT */
static int prove(const asked *a, const ls_source *rows)
{
    ls_row_claim c = ls_row_claim_defaults();
    int name = 0;

    if (sscanf(a->prove, "%" SCNd64 ":%" SCNd64 ":%" SCNx32 ":%" SCNx32 ":%n",
               &c.step, &c.element, &c.a, &c.b, &name) != 4)
        return 2;
    c.array = strcmp(a->prove + name, "x") != 0;
    c.batch = ROWS;
    c.batches = STEPS;
    must(ls_source_evidence(rows, &c, a->path));
    return 0;
}

static void take_step(asked *a, ls_trainer *t, ls_batch *b, int64_t step,
                      ls_result *result)
{
    ls_record_options o = ls_record_defaults();
    bool spoils = a->phase && step == a->step;

    o.path = step == a->record ? a->path : NULL;
    o.device = a->device;
    o.values = a->values;
    if (o.path || spoils)
        must(ls__record_step(t, b, &o, spoils ? touch : NULL, a, result));
    else
        must(ls_step(t, b, result));
}

static ls_trainer *open_trainer(ls_pool **pool)
{
    ls_pool_options loose = {.size = sizeof loose, .no_pin = true};
    ls_mesh_options m = {.size = sizeof m, .devices = 3, .workers = 1};
    ls_trainer_options o = ls_trainer_defaults();
    ls_trainer *t;
    ls_mesh *mesh;
    ls_graph *g = graph_of();

    o.optimizer = ls_adam(0.01);
    o.clip_norm = 1;
    must(ls_mesh_open(&mesh, &m));
    must(ls_pool_open(pool, mesh, &loose));
    must(ls_trainer_open(&t, *pool, g, &o));
    ls_mesh_close(mesh);
    ls_graph_free(g);
    return t;
}

static ls_transcript *open_transcript(const asked *a, ls_trainer *t,
                                      const ls_source *rows)
{
    ls_transcript_options o = ls_transcript_defaults();
    ls_transcript *all = NULL;
    char root[65];

    must(ls_source_root(rows, root));
    o.source = root;
    o.path = a->transcript;
    o.every = a->every;
    o.program = "lockstep-train faulty";
    o.step_flops = 1e9;
    if (a->transcript)
        must(ls_transcript_open(&all, t, &o, 0, NULL));
    return all;
}

static void close_all(ls_pool *pool, ls_trainer *t, ls_source *rows)
{
    ls_trainer_close(t);
    ls_pool_close(pool);
    ls_source_close(rows);
}

int main(int argc, char **argv)
{
    asked a = {.every = 8, .stop_at = STEPS, .record = -1, .device = -1};
    ls_pool *pool;
    ls_trainer *t = open_trainer(&pool);
    ls_source rows = source_of();
    ls_transcript *all;
    ls_batch *b;

    for (int i = 2; i < argc; i++)
        read_argument(&a, argv[i]);
    if (a.prove) {
        int status = prove(&a, &rows);

        close_all(pool, t, &rows);
        return status;
    }
    read_fault(&a);
    if (a.phase && a.step < 0)
        touch(&a, &(ls__where){.phase = a.phase, .what = a.what},
              t->model.value, t->model.params.floats);
    all = open_transcript(&a, t, &rows);
    must(ls_batch_open(&b, t));
    for (int64_t step = 0; step < a.stop_at; step++) {
        ls_result result;

        set_batch(b, step);
        take_step(&a, t, b, step, &result);
        if (all)
            must(ls_transcript_step(all, step, &result));
        if (all && ls_transcript_is_due(all))
            must(ls_transcript_state(all, 0, NULL));
    }
    if (all)
        must(ls_transcript_end(all, 0, NULL, NULL));
    must(ls_transcript_close(all));
    ls_batch_close(b);
    close_all(pool, t, &rows);
    return 0;
}
