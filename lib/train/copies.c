/* SPDX-License-Identifier: BSD-3-Clause */
/* See copies.h.  The first copy is the model's. */
#include "train/copies.h"
#include "mesh/mesh.h"
#include "pool/pool.h"

typedef struct copy {
    int node, workers; /* where, and how many pack it */
    ls__weights weights;
} copy;

/* A worker's copy, and which of those who pack it the worker is. */
typedef struct packer {
    copy *of;
    int number;
} packer;

struct ls__copies {
    int count;
    copy *copy;
    packer *packer; /* [worker] */
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
        c->packer[w] = (packer){&c->copy[k], c->copy[k].workers++};
    }
}

int ls__copies_open(ls_trainer *t)
{
    const ls_mesh *mesh = ls__pool_mesh(t->pool);
    const ls__weights *model = &t->model.weights;
    size_t n = (size_t)t->workers, bytes;
    ls__copies *c;

    if (t->ranks || t->rider[0].is || !model->packed || on_one_node(mesh))
        return 0;
    bytes = (size_t)t->model.plan->pack_floats * sizeof *model->packed;
    if (!(t->copies = c = ls__arena_new(&t->arena, 1, sizeof *c)) ||
        !(c->copy = ls__arena_new(&t->arena, n, sizeof *c->copy)) ||
        !(c->packer = ls__arena_new(&t->arena, n, sizeof *c->packer)))
        return LS_ENOMEM;
    deal(c, mesh);
    for (int k = 0; k < c->count; k++) {
        float **packed = &c->copy[k].weights.packed;

        c->copy[k].weights = *model;
        if (k > 0 && !(*packed = ls__block(bytes, "packed weights")))
            return LS_ENOMEM;
    }
    return 0;
}

void ls__copies_close(ls_trainer *t)
{
    for (int k = 1; t->copies && k < t->copies->count; k++)
        ls__block_free(t->copies->copy[k].weights.packed);
}

const ls__weights *ls__copies_of(const ls_trainer *t, int worker)
{
    return t->copies ? &t->copies->packer[worker].of->weights
                     : &t->model.weights;
}

void ls__copies_pack(const ls_trainer *t, int worker, bool backward)
{
    packer one = {.number = worker};

    if (t->copies)
        one = t->copies->packer[worker];
    ls__exec_pack(t->model.plan, ls__copies_of(t, worker), one.number,
                  one.of ? one.of->workers : t->workers, backward);
}
