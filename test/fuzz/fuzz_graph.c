/* SPDX-License-Identifier: BSD-3-Clause */
/* The JSON of a graph: what is accepted is a graph that can be written again,
 * and the plan of a small one laid out. */
#define _GNU_SOURCE
#include "backend/backend.h"
#include "model/graph_json.h"
#include "mutate.h"
#include "plan/plan.h"

/* Rows as large as this make plans that no fuzzer should fill. */
enum { SMALL = 1 << 12 };

static int is_small(const ls_graph *g)
{
    for (int i = 0; i < g->node_count; i++)
        if (g->nodes[i]->size > SMALL)
            return 0;
    for (int i = 0; i < g->param_count; i++)
        if (g->params[i]->size > SMALL)
            return 0;
    return 1;
}

static void look(const ls_graph *g)
{
    ls__backend backend;
    ls__plan *plan;
    char *text;

    if (ls__graph_write(g, &text) < 0)
        abort();
    free(text);
    if (is_small(g) && ls__backend_find(&backend, NULL, LS_F32_LAYERS) == 0 &&
        ls__plan_new(&plan, g, &backend, LS__TO_PREDICT, NULL) == 0)
        ls__plan_free(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = copy_of(data, size); /* and one byte more */
    ls_graph *g;

    text[size] = 0;
    if (ls__graph_read(&g, text, "fuzz") == 0) {
        look(g);
        ls_graph_free(g);
    }
    free(text);
    return 0;
}

#ifndef FUZZING
int main(void)
{
    ls_window two = {2, 2, 2, 2, LS_VALID};
    ls_graph *g;
    ls_node *x, *t;
    char *text;

    if (ls_graph_new(&g) < 0)
        return 1;
    x = ls_input(g, "x", LS_F32, 3, (int64_t[]){6, 5, 2});
    x = ls_max_pool(ls_conv2d(x, 4, two, "c"), two);
    x = ls_dropout(ls_flatten(ls_group_norm(x, 2, "g")), 0.5, "d");
    ls_output(g, ls_gelu(ls_dense(x, 3, "f")), "y");
    t = ls_input(g, "t", LS_I32, 1, (int64_t[]){3});
    x = ls_position(ls_embed(t, 4, 4, "e"), "p");
    x = ls_layer_norm(ls_self_attention(x, 2, true, "a"), "n");
    ls_loss(g, ls_next_token_loss(x, t));
    if (ls__graph_write(g, &text) < 0)
        return 1;
    feed(text, strlen(text), 20000);
    free(text);
    ls_graph_free(g);
    return 0;
}
#endif
