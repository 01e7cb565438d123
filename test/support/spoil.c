/* SPDX-License-Identifier: BSD-3-Clause */
/* Linked into a lockstep-scale of the tests' own, in the place of
 * ls_trainer_open: SPOIL=2 changes a parameter of the trainers of 2 workers,
 * like a library with bits that depend on them. */
#include <lockstep.h>

#include <stdlib.h>

int __real_ls_trainer_open(ls_trainer **trainer, ls_pool *pool,
                           const ls_graph *graph,
                           const ls_trainer_options *options);
int __wrap_ls_trainer_open(ls_trainer **trainer, ls_pool *pool,
                           const ls_graph *graph,
                           const ls_trainer_options *options);

static void spoil(ls_trainer *t)
{
    const char *name = ls_trainer_param_name(t, 0);
    int64_t shape[LS_MAX_RANK], n = 1;
    float *values;

    for (int i = ls_trainer_param_shape(t, 0, shape); i > 0; i--)
        n *= shape[i - 1];
    if (!(values = calloc((size_t)n, sizeof *values)))
        abort();
    values[0] = 42;
    if (ls_trainer_set(t, name, n, values) < 0)
        abort();
    free(values);
}

int __wrap_ls_trainer_open(ls_trainer **trainer, ls_pool *pool,
                           const ls_graph *graph,
                           const ls_trainer_options *options)
{
    const char *on = getenv("SPOIL");
    int status = __real_ls_trainer_open(trainer, pool, graph, options);

    if (status == 0 && on && atoi(on) == ls_pool_workers(pool))
        spoil(*trainer);
    return status;
}
