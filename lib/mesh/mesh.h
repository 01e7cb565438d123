/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan behind ls_mesh: devices along named axes, and a PU per worker.
 * No threads here.  Immutable once opened, so it may be read from anywhere. */
#ifndef LS_MESH_MESH_H
#define LS_MESH_MESH_H

#include <lockstep/mesh.h>
#include "machine/topology.h"

enum {
    LS__MESH_LIMIT = 65536, /* devices, workers, the size of an axis */
    LS__MESH_AXES = 8,
    LS__MESH_NAME = 32,     /* bytes of an axis name, with its end */
    LS__MESH_NOTES = 7,
    LS__MESH_NOTE = 512     /* bytes of a note, with its end */
};

typedef struct ls__axis {
    char name[LS__MESH_NAME];
    int size;
} ls__axis;

struct ls_mesh {
    ls__topology topology;
    int devices; /* the product of the axes' sizes */
    int workers;
    int wanted; /* workers asked for, or that the devices could use */
    bool chosen; /* the number of workers was asked for */
    bool pins;   /* workers sit on a PU each, or else on any of them */
    int axes;
    ls__axis axis[LS__MESH_AXES]; /* the last one varies fastest */
    char *text;                   /* of ls_mesh_text */
    char cores_text[LS__MESH_NOTE];
    char note[LS__MESH_NOTES][LS__MESH_NOTE];
    int notes;
};

/* ls_mesh_open with another folder in place of / for what Linux tells of
 * quotas and NUMA balancing; root NULL: nothing of the kind is read. */
int ls__mesh_open_below(ls_mesh **mesh, const ls_mesh_options *options,
                        const char *root);

/* Fill cores_text and note (notes.c) once all else is known. */
void ls__mesh_write_notes(ls_mesh *mesh);

/* Fill axis and axes from "data:4,model:2"; a single name may have no size,
 * which is 0 then (axes.c).  LS_EINVAL names the character. */
int ls__mesh_parse_axes(ls_mesh *mesh, const char *text);

/* The planned place of worker 0 .. workers-1, without its devices. */
const ls_place *ls__mesh_place(const ls_mesh *mesh, int worker);

/* A worker's first shard, of `shards`: the workers before it run all before. */
int ls__mesh_dealt(const ls_mesh *mesh, int shards, int worker);

/* A copy to be closed like any mesh. */
int ls__mesh_copy(ls_mesh **copy, const ls_mesh *mesh);

/* More workers than usable cores: waiting should then sleep, not spin. */
bool ls__mesh_oversubscribed(const ls_mesh *mesh);

#endif
