/* SPDX-License-Identifier: BSD-3-Clause */
/* See empty.h.  One device, so that the second worker only meets the first. */
#include "scale/empty.h"
#include "opt/opt.h"
#include "scale/scaling.h"

static ls_graph *line(void)
{
    const int64_t one = 1;
    ls_graph *g = NULL;
    ls_node *x, *y;

    if (ls_graph_new(&g) < 0)
        return NULL;
    x = ls_input(g, "x", LS_F32, 1, &one);
    y = ls_input(g, "y", LS_F32, 1, &one);
    (void)ls_loss(g, ls_mean_squared_error(ls_dense(x, 1, ""), y));
    return g;
}

/* A scaling_open_fn. */
static int open_line(void *user, ls_pool *pool, int fold, ls_trainer **trainer,
                     ls_batch **batch)
{
    static const float zero;
    ls_graph *g = line();
    int status = g ? ls_trainer_open(trainer, pool, g, NULL) : LS_ENOMEM;

    (void)user;
    (void)fold;
    ls_graph_free(g);
    if (status == 0)
        status = ls_batch_open(batch, *trainer);
    if (status == 0)
        status = ls_batch_set(*batch, "x", LS_F32, &zero, 1);
    return status == 0 ? ls_batch_set(*batch, "y", LS_F32, &zero, 1) : status;
}

int empty_measure(const char *cpus, int cores, double *one, double *two)
{
    ls_mesh_options mesh = ls_mesh_defaults();
    const int most = cores > 1 ? 2 : 1;
    scaling_options o = {.open = open_line, .mesh = &mesh, .n_workers = 1,
                         .workers = &most, .steps = 10000, .no_roofs = true};
    scaling *s;
    int status;

    mesh.devices = 1;
    mesh.cpus = cpus;
    if ((status = scaling_run(&s, &o)) < 0)
        return opt_check(status);
    *one = s->point[0].least;
    *two = s->points > 1 ? s->point[1].least : 0;
    scaling_free(s);
    return OPT_GO;
}
