/* SPDX-License-Identifier: BSD-3-Clause */
/* Initialisers that a program chooses for parameters of a graph. */
#include "base/error.h"
#include "graph/graph.h"
#include "random/initialiser.h"

#include <fnmatch.h>

static int check_fit(const ls__param *p, const ls_init *init)
{
    if (p->rank >= 2 || !ls__initial_has_fans(init))
        return 0;
    return ls__fail(LS_ESHAPE, "parameter \"%s\" has %d axes: an initialiser "
                    "by the inputs of a unit needs two", p->name, p->rank);
}

/* Count parameters that match, if the initialiser fits all; or a status. */
static int find(const ls_graph *g, const char *names, const ls_init *init)
{
    int found = 0, status = 0;

    for (int i = 0; i < g->param_count && status == 0; i++)
        if (fnmatch(names, g->params[i]->name, 0) == 0) {
            status = check_fit(g->params[i], init);
            found++;
        }
    if (status == 0 && !found)
        return ls__fail(LS_ENOTFOUND, "initialiser \"%.64s\": matches none of "
                        "%d parameters", names, g->param_count);
    return status < 0 ? status : found;
}

int ls_init_params(ls_graph *g, const char *names, const ls_init *init)
{
    LS__NEED_AS(g, "graph", LS_EINVAL);

    int status;

    LS__NEED_STANDING(g, names);
    LS__NEED_STANDING(g, init);
    if ((status = ls__initial_check(init)) < 0 ||
        (status = find(g, names, init)) < 0) {
        ls__graph_failed(g, status);
        return status;
    }
    for (int i = 0; i < g->param_count; i++)
        if (fnmatch(names, g->params[i]->name, 0) == 0)
            g->params[i]->chosen = *init;
    return 0;
}
