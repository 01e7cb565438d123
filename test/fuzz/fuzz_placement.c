/* SPDX-License-Identifier: BSD-3-Clause */
/* Placements as --state has them: a text is refused with a message and nothing
 * moves, or every parameter has an owner that its axes allow. */
#include "lockstep.h"
#include "mutate.h"

static ls_trainer *open_trainer(void)
{
    ls_mesh_options m = ls_mesh_defaults();
    ls_trainer *t;
    ls_graph *g;
    ls_mesh *mesh;
    ls_pool *pool;

    m.axes = "data:2,model:2";
    m.workers = 1;
    if (ls_graph_new(&g) < 0 || ls_mesh_open(&mesh, &m) < 0 ||
        ls_pool_open(&pool, mesh, NULL) < 0)
        abort();
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){6});
    ls_node *y = ls_input(g, "y", LS_F32, 1, (int64_t[]){4});
    ls_node *h = ls_dense(ls_relu(ls_dense(x, 8, "hidden")), 4, "out");
    if (ls_loss(g, ls_mean_squared_error(h, y)) < 0 ||
        ls_trainer_open(&t, pool, g, NULL) < 0)
        abort();
    ls_graph_free(g);
    ls_mesh_close(mesh);
    return t;
}

static void check(const ls_trainer *t)
{
    for (int i = 0; i < ls_trainer_params(t); i++) {
        int64_t shape[LS_MAX_RANK];
        int rank = ls_trainer_param_shape(t, i, shape), axis;

        if (ls_state_axis(t, LS_STATE_OPTIMIZER, ls_trainer_param_name(t, i),
                          &axis) < 0 || axis >= rank)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static ls_trainer *t;
    char *text = copy_of(data, size);

    if (!t)
        t = open_trainer();
    text[size] = 0;
    if (ls_state_place(t, LS_STATE_OPTIMIZER, text) < 0 && !*ls_errmsg())
        abort();
    check(t);
    free(text);
    return 0;
}

#ifndef FUZZING
int main(void)
{
    static const char table[] = "hidden.*=1,out.kernel=0:model,*=replicate";

    feed(table, sizeof table - 1, 20000);
    feed("shard", 5, 1000);
    return 0;
}
#endif
