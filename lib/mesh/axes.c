/* SPDX-License-Identifier: BSD-3-Clause */
/* The named axes of a mesh, as text: "data:4,model:2". */
#include "base/error.h"
#include "mesh/mesh.h"

#include <string.h>

/* The axis of a name; NULL: the mesh has none such. */
static const ls__axis *axis_of(const ls_mesh *mesh, const char *name)
{
    for (int i = 0; i < mesh->axes; i++)
        if (!strcmp(mesh->axis[i].name, name))
            return &mesh->axis[i];
    return NULL;
}

/* Reads "name:size,name:size" from left to right. */
typedef struct parser {
    const char *text; /* all of it */
    const char *at;
} parser;

static int bad_axes(const parser *p, const char *what)
{
    return ls__fail(LS_EINVAL, "axes \"%s\": %s at character %d", p->text,
                    what, (int)(p->at - p->text) + 1);
}

static bool name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_';
}

static int parse_name(parser *p, char name[LS__MESH_NAME])
{
    size_t n = 0;

    while (name_char(p->at[n]))
        n++;
    if (!n)
        return bad_axes(p, "a name (letters, digits, _) is missing");
    if (n >= LS__MESH_NAME)
        return bad_axes(p, "a name longer than 31 letters");
    memcpy(name, p->at, n);
    name[n] = 0;
    p->at += n;
    return 0;
}

/* 0 stays for a name without a size. */
static int parse_size(parser *p, int *size)
{
    int value = 0;
    const char *c;

    *size = 0;
    if (*p->at != ':')
        return 0;
    p->at++;
    for (c = p->at; *c >= '0' && *c <= '9' && value <= LS__MESH_LIMIT; c++)
        value = 10 * value + (*c - '0');
    if (c == p->at)
        return bad_axes(p, "a size is missing");
    if (value < 1 || value > LS__MESH_LIMIT)
        return bad_axes(p, "a size that is not 1 to 65536");
    p->at = c;
    *size = value;
    return 0;
}

static int parse_axis(parser *p, ls_mesh *mesh)
{
    ls__axis axis;
    const char *start = p->at;
    int status = parse_name(p, axis.name);

    if (status)
        return status;
    if (axis_of(mesh, axis.name)) {
        p->at = start;
        return bad_axes(p, "a name given before");
    }
    if (mesh->axes == LS__MESH_AXES)
        return bad_axes(p, "more than 8 axes");
    status = parse_size(p, &axis.size);
    if (status)
        return status;
    if (*p->at && *p->at != ',')
        return bad_axes(p, "an unexpected character");
    if (!axis.size && (*p->at || mesh->axes))
        return bad_axes(p, "a size is missing");
    mesh->axis[mesh->axes++] = axis;
    return 0;
}

int ls__mesh_parse_axes(ls_mesh *mesh, const char *text)
{
    parser p = {text, text};
    int status;

    while (!(status = parse_axis(&p, mesh)) && *p.at)
        p.at++;
    return status;
}

int ls_mesh_axis_size(const ls_mesh *mesh, const char *axis)
{
    LS__NEED_OR(mesh, 0);
    LS__NEED_OR(axis, 0);

    const ls__axis *found = axis_of(mesh, axis);

    return found ? found->size : 0;
}
