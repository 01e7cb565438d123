/* SPDX-License-Identifier: BSD-3-Clause */
/* See choose.h. */
#include "predict/choose.h"
#include "opt/characters.h"
#include "opt/opt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int no_such(const ls_predictor *p, const char *name, const char *path)
{
    ls_array_spec first;

    ls_predictor_output(p, 0, &first);
    return opt_fail(OPT_WRONG, "--of: %s has no output \"%s\"; the first is "
                    "\"%s\"", path, name, first.name);
}

static int find_output(choice *c, const ls_predictor *p, const char *name,
                       const char *path)
{
    for (c->output = 0; ls_predictor_output(p, c->output, &c->out); c->output++)
        if (!name || !strcmp(c->out.name, name))
            return OPT_GO;
    return no_such(p, name, path);
}

static void tell_others(const choice *c, const ls_predictor *p)
{
    ls_array_spec other;

    if (!ls_predictor_output(p, 1, &other))
        return;
    fprintf(stderr, "note: of the model's outputs this is \"%s\"; --of gives",
            characters_shown(c->out.name));
    for (int i = 1; ls_predictor_output(p, i, &other); i++)
        fprintf(stderr, "%s \"%s\"", i > 1 ? "," : "",
                characters_shown(other.name));
    fputc('\n', stderr);
}

/* ------ What it needs ------ */

/* Marks what a node is made of, from the last to the first. */
static bool *needs_of(const ls_graph *graph, const ls_node *output)
{
    int n = ls_graph_nodes(graph);
    bool *needs = calloc((size_t)n, sizeof *needs);
    const ls_node *x;

    for (int i = n - 1; needs && i >= 0; i--) {
        const ls_node *node = ls_graph_node(graph, i);

        needs[i] |= node == output;
        for (int k = 0; needs[i] && (x = ls_node_input(node, k)); k++)
            for (int j = i - 1; j >= 0; j--)
                if (ls_graph_node(graph, j) == x) {
                    needs[j] = true;
                    break;
                }
    }
    return needs;
}

static bool is_needed(const ls_graph *graph, const bool *needs,
                      const char *input)
{
    for (int i = 0; i < ls_graph_nodes(graph); i++) {
        const ls_node *node = ls_graph_node(graph, i);

        if (needs[i] && !ls_node_input(node, 0) &&
            !strcmp(ls_node_name(node), input))
            return true;
    }
    return false;
}

static int find_input(choice *c, const ls_graph *graph, const ls_predictor *p,
                      const char *path)
{
    const ls_node *node = ls_graph_output(graph, c->output, NULL);
    bool *needs = needs_of(graph, node);
    ls_array_spec in;
    int found = 0, status = OPT_GO;

    if (!needs)
        return opt_no_memory("the model");
    for (int i = 0; ls_predictor_input(p, i, &in) && status == OPT_GO; i++) {
        if (!is_needed(graph, needs, in.name))
            continue;
        if (found++)
            status = opt_fail(OPT_FAILED, "%s: output \"%s\" needs more than "
                              "one input, \"%s\" and \"%s\"", path, c->out.name,
                              c->in.name, in.name);
        else
            c->in = in;
    }
    free(needs);
    if (status == OPT_GO && !found)
        return opt_fail(OPT_FAILED, "%s: output \"%s\" needs no input", path,
                        c->out.name);
    return status;
}

int choose_output(choice *c, const ls_graph *graph, const ls_predictor *p,
                  const char *name, const char *path)
{
    int status = find_output(c, p, name, path);

    if (status == OPT_GO)
        status = find_input(c, graph, p, path);
    if (status == OPT_GO && !name)
        tell_others(c, p);
    return status;
}
