/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of a run that do not go together, and files that would be lost. */
#include "model/adapt.h"
#include "run/run.h"

#include <stdlib.h>
#include <string.h>

enum { READ = 4, ARRAYS = 5 };

/* The files of arrays, whose paths may have a name behind them; to be freed. */
static int find_arrays(const data_settings *s, apart_file *all,
                       char *path[ARRAYS])
{
    const apart_file given[ARRAYS] = {{"--x", s->x, APART_READ},
                                      {"--y", s->y, APART_READ},
                                      {"--mask", s->mask, APART_READ},
                                      {"--eval-x", s->eval_x, APART_READ},
                                      {"--eval-y", s->eval_y, APART_READ}};

    for (int i = 0; i < ARRAYS; i++) {
        all[i] = given[i];
        if (!given[i].path)
            continue;
        if (!(path[i] = data_file(given[i].path)))
            return opt_fail(OPT_FAILED, "no memory for the names of files");
        all[i].path = path[i];
    }
    return OPT_GO;
}

/* A training may end in the file that it began with, but what needs its base is
 * not put in its place. */
int run_check_apart(const run *r, int count, const apart_file *written)
{
    const settings *s = &r->set;
    bool adapters = s->start.lora && s->start.lora_save == ADAPT_ALONE;
    apart_use rows =
        r->model->tokens || s->data.target ? APART_READ : APART_IMAGES;
    const apart_file read[READ] = {
        {"--data", s->data.path, rows},
        {"--eval-data", s->data.eval_path, rows},
        {"--init", s->start.init, adapters ? APART_READ : APART_BEGUN},
        {"--lora-init", s->start.lora_init,
         adapters ? APART_BEGUN : APART_READ},
    };
    char *path[ARRAYS] = {NULL};
    apart_file *all = calloc(READ + ARRAYS + (size_t)count, sizeof *all);
    int status;

    if (!all)
        return opt_fail(OPT_FAILED, "no memory for the names of files");
    memcpy(all, read, sizeof read);
    memcpy(all + READ + ARRAYS, written, (size_t)count * sizeof *all);
    status = find_arrays(&s->data, all + READ, path);
    if (status == OPT_GO)
        status = apart_check(READ + ARRAYS + count, all);
    for (int i = 0; i < ARRAYS; i++)
        free(path[i]);
    free(all);
    return status;
}

static int check_state(const char *state)
{
    if (strchr(state, '=') || !strcmp(state, "replicate") ||
        !strcmp(state, "shard"))
        return OPT_GO;
    return opt_fail(OPT_WRONG, "--state: \"%s\" is none of replicate, shard "
                    "and PATTERN=AXIS", state);
}

/* Precisions of the layers; bf16-input is f32. */
static const struct {
    int64_t asked;
    ls_precision layers;
    const char *name;
} precisions[] = {{PRECISION_F32, LS_F32_LAYERS, "f32"},
                  {PRECISION_BF16, LS_BF16_LAYERS, "bf16"},
                  {PRECISION_F32X3, LS_F32X3_LAYERS, "f32x3"},
                  {PRECISION_F32X6, LS_F32X6_LAYERS, "f32x6"},
                  {PRECISION_BF16_INPUT, LS_F32_LAYERS, "f32"}};

static int precision_row(const run *r)
{
    int i = 0;

    while (precisions[i].asked != r->how.precision)
        i++;
    return i;
}

ls_precision run_precision(const run *r)
{
    return precisions[precision_row(r)].layers;
}

const char *run_precision_name(const run *r)
{
    return precisions[precision_row(r)].name;
}

/* A backend that has f32 products may lack those of other precisions. */
static int check_backend(const run *r)
{
    char text[LS_TEXT];
    const char *backend = r->how.backend;

    if (ls_backend_text(text, backend, run_precision(r)) != LS_ENOTSUP ||
        ls_backend_text(text, backend, LS_F32_LAYERS) < 0)
        return OPT_GO;
    return opt_fail(OPT_WRONG, "--precision %s and --backend %s exclude each "
                    "other: it has no such products", run_precision_name(r),
                    backend);
}

int run_check_alone(const run *r)
{
    return opt_refuse(&r->line, OF_RANKS, " is for several ranks, and there is "
                      "one process: mpirun starts more");
}

int run_check(run *r)
{
    int status = opt_check_together(&r->line);

    if (status == OPT_GO)
        status = opt_check_values(&r->line);
    if (status == OPT_GO)
        status = check_state(r->how.state);
    if (status == OPT_GO)
        status = check_backend(r);
    if (status != OPT_GO)
        return status;
    if (r->transport && r->set.data.path && !strcmp(r->set.data.path, "-"))
        return opt_fail(OPT_WRONG, "--data -: the standard input reaches one "
                        "rank alone");
    if (r->how.precision == PRECISION_BF16_INPUT && r->model->tokens)
        return opt_fail(OPT_WRONG, "--precision bf16-input rounds inputs that "
                        "are floats; %s takes tokens", run_model_name(r));
    r->set.model.rounds = r->how.precision == PRECISION_BF16_INPUT;
    return OPT_GO;
}
