/* SPDX-License-Identifier: BSD-3-Clause */
/* See copies.h.  The first copy is the model's. */
#include "train/copies.h"
#include "mesh/mesh.h"
#include "pool/pool.h"

typedef struct copy {
    int node, workers; /* where, and how many pack it */
    float *packed;
} copy;

/* A worker's copy, and which of those who pack it the worker is. */
typedef struct packer {
    copy *of;
    int number;
    ls__weights weights; /* that the worker reads */
} packer;

struct ls__copies {
    int count;
    copy *copy;
    packer *packer; /* [worker] */
    float **near;   /* [worker], the last one first */
};

static bool on_one_node(const ls_mesh *mesh)
{
    int w = 1;

    while (w < mesh->workers && ls__mesh_place(mesh, w)->numa ==
                                    ls__mesh_place(mesh, 0)->numa)
        w++;
    return w >= mesh->workers;
}

/* Find out who packs which copy. */
static void deal(ls__copies *c, const ls_mesh *mesh)
{
    for (int w = 0; w < mesh->workers; w++) {
        int node = ls__mesh_place(mesh, w)->numa, k = 0;

        while (k < c->count && c->copy[k].node != node)
            k++;
        if (k == c->count)
            c->copy[c->count++].node = node;
        c->packer[w] = (packer){.of = &c->copy[k],
                                .number = c->copy[k].workers++};
    }
}

/* The members of a team are its leader and then the workers before it, each of
 * whom reads the copy of its own node. */
static void point(const ls_trainer *t)
{
    const ls__copies *c = t->copies;
    float **near = c->near + t->workers;

    for (int w = 0; w < t->workers; w++) {
        *--near = c->packer[w].of->packed;
        c->packer[w].weights = t->model.weights;
        c->packer[w].weights.packed = *near;
        c->packer[w].weights.near = near;
    }
}

int ls__copies_open(ls_trainer *t, const ls__needs *needs)
{
    const ls_mesh *mesh = ls__pool_mesh(t->pool);
    const ls__weights *model = &t->model.weights;
    size_t n = (size_t)t->workers, bytes;
    ls__copies *c;

    if (needs->single || !model->packed || on_one_node(mesh))
        return 0;
    bytes = (size_t)t->model.plan->pack_floats * sizeof *model->packed;
    if (!(t->copies = c = ls__arena_new(&t->arena, 1, sizeof *c)) ||
        !(c->copy = ls__arena_new(&t->arena, n, sizeof *c->copy)) ||
        !(c->packer = ls__arena_new(&t->arena, n, sizeof *c->packer)) ||
        !(c->near = ls__arena_new(&t->arena, n, sizeof *c->near)))
        return LS_ENOMEM;
    deal(c, mesh);
    c->copy[0].packed = model->packed;
    for (int k = 1; k < c->count; k++)
        if (!(c->copy[k].packed = ls__block(bytes, "packed weights")))
            return LS_ENOMEM;
    point(t);
    return 0;
}

void ls__copies_close(ls_trainer *t)
{
    for (int k = 1; t->copies && k < t->copies->count; k++)
        ls__block_free(t->copies->copy[k].packed);
}

const ls__weights *ls__copies_of(const ls_trainer *t, int worker)
{
    return t->copies ? &t->copies->packer[worker].weights : &t->model.weights;
}

void ls__copies_pack(const ls_trainer *t, int worker, bool backward)
{
    const packer *p = t->copies ? &t->copies->packer[worker] : NULL;
    bool early = !p || p->of == t->copies->copy;

    ls__exec_pack(t->model.plan, early ? &t->model.weights : &p->weights,
                  p ? p->number : worker, p ? p->of->workers : t->workers,
                  backward);
}
