/* SPDX-License-Identifier: BSD-3-Clause */
/* Sharding: the shard of a batch that each device of a mesh holds, by
 * arithmetic on the named axes alone.  Devices are numbered with the last axis
 * running fastest. */
#include "base/assert.h"
#include "base/error.h"
#include "mesh/mesh.h"
#include <lockstep/collective.h>

#include <stdio.h>
#include <string.h>

enum { AXES_TEXT = LS__MESH_AXES * (LS__MESH_NAME + 16) };

/* "data" (2), "model" (2) */
static const char *axes_text(char out[AXES_TEXT], const ls_mesh *mesh)
{
    char *at = out;

    for (int i = 0; i < mesh->axes; i++)
        at += sprintf(at, "%s\"%s\" (%d)", i ? ", " : "", mesh->axis[i].name,
                      mesh->axis[i].size);
    return out;
}

int ls_sharding_data_parallel(ls_sharding *sharding, const ls_mesh *mesh,
                              const char *data_axis)
{
    LS__NEED(sharding);
    LS__NEED(mesh);

    const char *name = data_axis ? data_axis : "data";
    char text[AXES_TEXT];
    int stride = 1;

    for (int i = mesh->axes - 1; i >= 0; i--) {
        const ls__axis *axis = &mesh->axis[i];

        LS__ASSERT(mesh->devices % (stride * axis->size) == 0);
        if (!strcmp(axis->name, name)) {
            *sharding = (ls_sharding){.shards = axis->size, .stride = stride,
                                      .devices = mesh->devices};
            memcpy(sharding->axis, axis->name, sizeof sharding->axis);
            return 0;
        }
        stride *= axis->size;
    }
    return ls__fail(LS_ENOTFOUND, "the mesh has no axis \"%.40s\"; its axes "
                    "are %s", name, axes_text(text, mesh));
}

int ls_sharding_shard(const ls_sharding *s, int device)
{
    LS__NEED_AS(s, "sharding", LS_EINVAL);
    if (device < 0 || device >= s->devices)
        return -1;
    return device / s->stride % s->shards;
}
