/* SPDX-License-Identifier: BSD-3-Clause */
/* See drawing.h.  Names may be anybody's: entry_print shows them. */
#include "inspect/drawing.h"
#include "inspect/entry.h"

#include <stdio.h>

static int number_of(const ls_graph *g, const ls_node *n)
{
    int i = 0;

    while (ls_graph_node(g, i) != n)
        i++;
    return i;
}

static void shape_text(const ls_node *n, char text[ENTRY_TEXT])
{
    ls_entry e = {0};

    e.rank = ls_node_shape(n, e.shape);
    entry_shape(&e, text);
}

/* The name of the output that a node is, or NULL. */
static const char *output_of(const ls_graph *g, const ls_node *n)
{
    const char *name = NULL;

    for (int i = 0; ls_graph_output(g, i, &name); i++)
        if (ls_graph_output(g, i, NULL) == n)
            return name;
    return NULL;
}

static void print_row(const ls_graph *g, int i)
{
    const ls_node *n = ls_graph_node(g, i);
    const char *output = output_of(g, n);
    char shape[ENTRY_TEXT];

    shape_text(n, shape);
    printf("%5d  ", i);
    entry_print(ls_node_op(n), 13);
    printf("  ");
    entry_print(ls_node_name(n), 24);
    printf("  %-14s", shape);
    for (int k = 0; ls_node_input(n, k); k++)
        printf(" %s%d", k ? "" : "<- ", number_of(g, ls_node_input(n, k)));
    if (output) {
        printf("  output ");
        entry_print(output, 0);
    }
    puts(n == ls_graph_loss(g) ? "  loss" : "");
}

void drawing_text(const ls_graph *g)
{
    printf("\n%5s  %-13s  %-24s  %-14s %s\n", "node", "operator", "name", "row",
           "from");
    for (int i = 0; i < ls_graph_nodes(g); i++)
        print_row(g, i);
}
