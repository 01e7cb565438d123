/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of a run that do not go together. */
#include "model/adapt.h"
#include "run/run.h"

#include <string.h>

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
    ls_precision layers;
    const char *name;
} precisions[] = {[PRECISION_F32] = {LS_F32_LAYERS, "f32"},
                  [PRECISION_BF16] = {LS_BF16_LAYERS, "bf16"},
                  [PRECISION_F32X3] = {LS_F32X3_LAYERS, "f32x3"},
                  [PRECISION_BF16_INPUT] = {LS_F32_LAYERS, "f32"}};

ls_precision run_precision(const run *r)
{
    return precisions[r->how.precision].layers;
}

const char *run_precision_name(const run *r)
{
    return precisions[r->how.precision].name;
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
