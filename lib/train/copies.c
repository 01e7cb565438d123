/* SPDX-License-Identifier: BSD-3-Clause */
/* See copies.h. */
#include "train/copies.h"
#include "base/assert.h"
#include "base/memory.h"
#include "base/range.h"
#include "mesh/mesh.h"

#include <stdlib.h>
#include <string.h>

/* The first worker of the copy that a worker reads. */
static int owner_of(const ls_mesh *mesh, int worker, bool single)
{
    int w = 0;

    while (!single && ls__mesh_place(mesh, w)->numa !=
                          ls__mesh_place(mesh, worker)->numa)
        w++;
    return w;
}

/* The number of workers before `end` that read the same copy as this one. */
static int readers(const ls__copies *c, int worker, int end)
{
    int n = 0;

    for (int w = 0; w < end; w++)
        n += c->of[w].packed == c->of[worker].packed;
    return n;
}

int ls__copies_open(ls__copies *c, const ls_mesh *mesh, const ls__plan *plan,
                    const ls__weights *first, bool single)
{
    size_t bytes = plan ? (size_t)plan->packs.floats * sizeof **c->near : 0;
    int n = mesh->workers;

    *c = (ls__copies){plan, first, n,
                      ls__new((size_t)n, sizeof *c->of, "copies"),
                      ls__new(2 * (size_t)n, sizeof *c->near, "copies")};
    if (!c->of || !c->near)
        return LS_ENOMEM;
    for (int w = 0; w < n; w++) {
        int owner = owner_of(mesh, w, single);
        LS__ASSERT(owner <= w);
        float *packed = owner < w ? c->of[owner].packed : first->packed;

        if (bytes && owner == w && (w || !packed) &&
            !(packed = ls__block(bytes, "packed weights")))
            return LS_ENOMEM;
        c->near[n - 1 - w] = c->near[2 * n - 1 - w] = packed;
        c->of[w] = (ls__weights){first->of, packed, c->near + n - 1 - w, NULL};
    }
    return 0;
}

void ls__copies_close(ls__copies *c)
{
    for (int w = 0; c->of && w < c->workers; w++)
        if (c->of[w].packed != c->first->packed && !readers(c, w, w))
            ls__block_free(c->of[w].packed);
    free(c->of);
    free(c->near);
    *c = (ls__copies){0};
}

void ls__copies_pack(const ls__copies *c, int worker, bool backward)
{
    const ls__weights *w = &c->of[worker];

    ls__exec_pack(c->plan, w->packed == c->first->packed ? c->first : w,
                  readers(c, worker, worker), readers(c, worker, c->workers),
                  backward);
}

void ls__copies_fill(const ls__copies *c, int worker, const float *packed)
{
    ls__range r = ls__range_part((ls__range){0, c->plan->packs.floats},
                                 readers(c, worker, c->workers),
                                 readers(c, worker, worker), 1);

    memcpy(c->of[worker].packed + r.first, packed + r.first,
           (size_t)(r.last - r.first) * sizeof *packed);
}
