/* SPDX-License-Identifier: BSD-3-Clause */
/* See om.h. */
#define _GNU_SOURCE
#include "import/om.h"
#include "base/error.h"
#include "file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NEWEST_IR = 11, OLDEST_OPSET = 13, NEWEST_OPSET = 23 };

static int damaged(const ls__om *om, const char *what)
{
    return ls__fail(LS_EFORMAT, "%s%sno ONNX model: %s", om->path,
                    *om->path ? ": " : "", what);
}

/* ------ texts and counts ------ */

/* Copies a text. */
static int take_text(ls__om *om, const ls__field *f, const char **to)
{
    size_t n = ls__wire_size(f->bytes);
    char *copy;

    if (!f->bytes.at || memchr(f->bytes.at, 0, n))
        return damaged(om, "a text is a number, or has a zero byte");
    if (!(copy = ls__arena_new(&om->arena, n + 1, 1)))
        return LS_ENOMEM;
    memcpy(copy, f->bytes.at, n);
    *to = copy;
    return 0;
}

/* The fields of that number; a status where it is no message. */
static int count(ls__wire message, int number)
{
    ls__field f;
    int n = 0, status;

    while ((status = ls__wire_next(&message, &f)) > 0)
        n += f.number == number;
    return status < 0 ? status : n;
}

/* ------ tensors ------ */

int ls__om_width(int64_t type)
{
    switch (type) {
    case LS__OM_FLOAT: case LS__OM_INT32: return 4;
    case LS__OM_INT64: case LS__OM_DOUBLE: return 8;
    case LS__OM_FLOAT16: case LS__OM_BFLOAT16: return 2;
    case LS__OM_BOOL: return 1;
    default: return 0;
    }
}

static int take_extent(ls__om *om, ls__om_tensor *t, uint64_t extent)
{
    if (t->rank == LS_MAX_RANK || extent > INT64_MAX)
        return damaged(om, "a tensor has more than 8 axes, or a bad one");
    t->shape[t->rank++] = (int64_t)extent;
    return 0;
}

static int take_extents(ls__om *om, ls__om_tensor *t, const ls__field *f)
{
    ls__wire list = f->bytes;
    uint64_t extent;
    int status = 0;

    if (!list.at)
        return take_extent(om, t, f->value);
    while (status == 0 && ls__wire_number(&list, 0, &extent))
        status = take_extent(om, t, extent);
    return status;
}

/* The whole number that a text is. */
static bool whole_number(ls__wire text, uint64_t *value)
{
    char word[24] = "", *end;
    size_t n = ls__wire_size(text);

    if (n && n < sizeof word)
        memcpy(word, text.at, n);
    errno = 0;
    *value = strtoull(word, &end, 10);
    return *word >= '0' && *word <= '9' && !*end && !errno;
}

static int load_beside(ls__om *om, ls__om_beside *b)
{
    const char *slash = strrchr(om->path, '/');
    int folder = slash ? (int)(slash - om->path) + 1 : 0, status = 0;
    struct stat info;
    char path[4096];
    ls__file file;

    if (!*om->path || !*b->name || strchr(b->name, '/') ||
        !strcmp(b->name, "..") || !strcmp(b->name, ".") ||
        snprintf(path, sizeof path, "%.*s%s", folder, om->path, b->name) >=
            (int)sizeof path)
        return ls__fail(LS_EIO, "%s: its weights are in \"%s\": only a file in "
                        "the same folder is read", om->path, b->name);
    file = (ls__file){.path = path};
    file.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (file.fd < 0)
        return ls__fail(LS_EIO, "%s: %s", path, errno == ELOOP
                        ? "it is a link" : strerror(errno));
    if (fstat(file.fd, &info) < 0 || !S_ISREG(info.st_mode))
        status = ls__fail(LS_EIO, "%s: is not a regular file", path);
    else if (!(b->bytes = malloc((size_t)info.st_size + 1)))
        status = ls__no_memory(path, (size_t)info.st_size);
    else
        status = ls__file_read(&file, b->bytes, b->size = (size_t)info.st_size,
                               0);
    close(file.fd);
    return status;
}

/* The file beside of that name, which is read once. */
static int find_beside(ls__om *om, const char *name, ls__om_beside **found)
{
    ls__om_beside *grown;

    for (int i = 0; i < om->besides; i++)
        if (!strcmp(om->beside[i].name, name)) {
            *found = &om->beside[i];
            return 0;
        }
    grown = realloc(om->beside, ((size_t)om->besides + 1) * sizeof *grown);
    if (!grown)
        return ls__no_memory("an ONNX model", sizeof *grown);
    om->beside = grown;
    *found = &grown[om->besides++];
    **found = (ls__om_beside){.name = name};
    return load_beside(om, *found);
}

static int take_external(ls__om *om, ls__wire message, ls__om_tensor *t)
{
    uint64_t at = 0, n = UINT64_MAX;
    ls__om_beside *b = NULL;
    ls__field f, key, value;
    int status = 0;

    while (status == 0 && ls__wire_next(&message, &f) > 0) {
        if (f.number != 13 || count(f.bytes, 1) < 1 ||
            !ls__wire_find(f.bytes, 1, &key) ||
            !ls__wire_find(f.bytes, 2, &value))
            continue;
        if (ls__wire_is(key.bytes, "location"))
            status = take_text(om, &value, &t->where);
        else if ((ls__wire_is(key.bytes, "offset") &&
                  !whole_number(value.bytes, &at)) ||
                 (ls__wire_is(key.bytes, "length") &&
                  !whole_number(value.bytes, &n)))
            return damaged(om, "a tensor's place is no number");
    }
    if (status == 0 && !t->where)
        status = damaged(om, "a tensor is elsewhere, and nowhere");
    if (status < 0 || (status = find_beside(om, t->where, &b)) < 0)
        return status;
    if (n == UINT64_MAX)
        n = t->width ? (uint64_t)t->elements * (uint64_t)t->width : 0;
    if (at > b->size || n > b->size - at)
        return damaged(om, "a tensor ends behind the end of the file beside");
    t->bytes = (ls__wire){b->bytes + at, b->bytes + at + n};
    return 0;
}

/* Fields of elements of one type, and the bytes of each there; 0: varints. */
static int width_in(int field)
{
    return field == 4 ? 4 : field == 10 ? 8 : 0;
}

static int take_elements(ls__om *om, ls__om_tensor *t, const ls__field *f)
{
    if (t->bytes.at || !f->bytes.at)
        return damaged(om, "a tensor's elements are not in one piece");
    t->bytes = f->bytes;
    if (f->number != 9)
        t->width = width_in(f->number);
    return 0;
}

/* Are there as many as the shape says? */
static int check_elements(ls__om *om, const ls__om_tensor *t)
{
    size_t n = ls__wire_size(t->bytes), got = 0;
    uint64_t value;

    if (t->width) {
        if (n % (size_t)t->width == 0)
            got = n / (size_t)t->width;
    } else {
        for (ls__wire list = t->bytes; ls__wire_number(&list, 0, &value);)
            got++;
    }
    if (t->elements < 0 || got != (size_t)t->elements)
        return ls__fail(LS_EFORMAT, "%s%sno ONNX model: tensor \"%s\" does not "
                        "have as many elements as its shape says", om->path,
                        *om->path ? ": " : "", t->name);
    return 0;
}

int ls__om_tensor_of(ls__om *om, ls__wire message, ls__om_tensor *t)
{
    ls__wire from = message;
    bool outside = false;
    ls__field f;
    int status = 0, more;

    *t = (ls__om_tensor){.name = ""};
    if (ls__wire_find(message, 2, &f))
        t->type = (int64_t)f.value;
    t->width = ls__om_width(t->type);
    while (status == 0 && (more = ls__wire_next(&from, &f)) != 0) {
        if (more < 0)
            return more;
        switch (f.number) {
        case 1: status = take_extents(om, t, &f); break;
        case 4: case 5: case 7: case 9: case 10:
            status = take_elements(om, t, &f);
            break;
        case 8: status = take_text(om, &f, &t->name); break;
        case 14: outside = f.value == 1; break;
        default: break;
        }
    }
    if (status == 0)
        t->elements = ls__count(t->rank, t->shape);
    if (status == 0 && outside)
        status = take_external(om, message, t);
    if (status == 0 && ls__om_width(t->type))
        status = check_elements(om, t);
    return status;
}

/* ------ nodes ------ */

static int open_node(ls__om *om, ls__wire message, ls__om_node *n)
{
    ls__wire from = message;
    int ins = count(message, 1), outs = count(message, 2), status = 0;
    ls__field f;

    *n = (ls__om_node){.op = "", .name = "", .domain = "", .all = message};
    if (ins < 0 || outs < 0)
        return ins < 0 ? ins : outs;
    n->input = ls__arena_new(&om->arena, (size_t)ins + 1, sizeof *n->input);
    n->output = ls__arena_new(&om->arena, (size_t)outs + 1, sizeof *n->output);
    if (!n->input || !n->output)
        return LS_ENOMEM;
    while (status == 0 && ls__wire_next(&from, &f) > 0)
        switch (f.number) {
        case 1: status = take_text(om, &f, &n->input[n->inputs++]); break;
        case 2: status = take_text(om, &f, &n->output[n->outputs++]); break;
        case 3: status = take_text(om, &f, &n->name); break;
        case 4: status = take_text(om, &f, &n->op); break;
        case 5: status = count(f.bytes, 1) < 0
                             ? damaged(om, "an attribute is cut off") : 0;
            break;
        case 7: status = take_text(om, &f, &n->domain); break;
        default: break;
        }
    if (status == 0 && !*n->op)
        status = damaged(om, "a node has no operator");
    return status;
}

/* ------ inputs and outputs ------ */

static int open_dim(ls__om *om, ls__wire dim, ls__om_value *v)
{
    ls__field f;

    if (v->rank == LS_MAX_RANK || count(dim, 1) < 0)
        return damaged(om, "an input has more than 8 axes, or a bad one");
    v->symbol[v->rank] = "";
    if (ls__wire_find(dim, 1, &f))
        v->shape[v->rank] = (int64_t)f.value > 0 ? (int64_t)f.value : 0;
    v->rank++;
    return ls__wire_find(dim, 2, &f)
               ? take_text(om, &f, &v->symbol[v->rank - 1]) : 0;
}

static int open_value(ls__om *om, ls__wire message, ls__om_value *v)
{
    ls__field f;
    int status = 0;

    *v = (ls__om_value){.name = "", .rank = -1};
    if (count(message, 1) < 0)
        return damaged(om, "an input is cut off");
    if (ls__wire_find(message, 1, &f))
        status = take_text(om, &f, &v->name);
    if (status < 0 || !ls__wire_find(message, 2, &f) || count(f.bytes, 1) < 0 ||
        !ls__wire_find(f.bytes, 1, &f) || count(f.bytes, 1) < 0)
        return status;
    message = f.bytes;
    if (ls__wire_find(message, 1, &f))
        v->type = (int64_t)f.value;
    if (!ls__wire_find(message, 2, &f) || count(f.bytes, 1) < 0)
        return 0;
    v->rank = 0;
    for (ls__wire dims = f.bytes; status == 0 && ls__wire_next(&dims, &f) > 0;)
        if (f.number == 1)
            status = open_dim(om, f.bytes, v);
    return status;
}

/* ------ the graph and the model ------ */

/* Room for `n` things of `size` bytes. */
static bool room(ls__om *om, int n, size_t size, void *to)
{
    void *got = ls__arena_new(&om->arena, (size_t)n + 1, size);

    memcpy(to, &got, sizeof got);
    return got;
}

static int open_graph(ls__om *om, ls__wire graph)
{
    ls__wire from = graph;
    int n = count(graph, 1), status = 0;
    ls__field f;

    if (n < 0 || count(graph, 15) > 0)
        return damaged(om, n < 0 ? "the graph is cut off"
                                 : "it has sparse initializers");
    if (!room(om, n, sizeof *om->node, &om->node) ||
        !room(om, count(graph, 5), sizeof *om->tensor, &om->tensor) ||
        !room(om, count(graph, 11), sizeof *om->input, &om->input) ||
        !room(om, count(graph, 12), sizeof *om->output, &om->output))
        return LS_ENOMEM;
    while (status == 0 && ls__wire_next(&from, &f) > 0)
        switch (f.number) {
        case 1: status = open_node(om, f.bytes, &om->node[om->nodes++]); break;
        case 5: status = ls__om_tensor_of(om, f.bytes,
                                          &om->tensor[om->tensors++]);
            break;
        case 11: status = open_value(om, f.bytes, &om->input[om->inputs++]);
            break;
        case 12: status = open_value(om, f.bytes, &om->output[om->outputs++]);
            break;
        default: break;
        }
    return status;
}

/* The version of ONNX's own operators. */
static int open_opset(ls__om *om, ls__wire opset)
{
    ls__field domain, version;

    if (count(opset, 1) < 0)
        return damaged(om, "a set of operators is cut off");
    if ((!ls__wire_find(opset, 1, &domain) || !ls__wire_size(domain.bytes)) &&
        ls__wire_find(opset, 2, &version))
        om->opset = (int64_t)version.value;
    return 0;
}

static int check_versions(const ls__om *om)
{
    if (om->version < 1 || om->version > NEWEST_IR ||
        om->opset < OLDEST_OPSET || om->opset > NEWEST_OPSET)
        return ls__fail(LS_ENOTSUP, "%s%sIR version %lld, opset %lld: read are "
                        "IR 1 to %d and opset %d to %d; onnx.version_converter "
                        "changes the latter", om->path, *om->path ? ": " : "",
                        (long long)om->version, (long long)om->opset, NEWEST_IR,
                        OLDEST_OPSET, NEWEST_OPSET);
    return 0;
}

static int open_model(ls__om *om)
{
    const ls__wire all = {om->bytes, om->bytes + om->size};
    ls__wire from = all;
    ls__field f;
    int status = 0;

    if (count(all, 7) != 1)
        return damaged(om, "there is no graph in it");
    if (ls__wire_find(all, 1, &f))
        om->version = (int64_t)f.value;
    while (status == 0 && ls__wire_next(&from, &f) > 0)
        if (f.number == 8)
            status = open_opset(om, f.bytes);
    if (status == 0)
        status = check_versions(om);
    if (status == 0 && ls__wire_find(all, 7, &f))
        status = open_graph(om, f.bytes);
    return status;
}

int ls__om_open(ls__om *om, const char *path, const void *bytes, size_t size)
{
    char *loaded;
    int status;

    *om = (ls__om){.path = ""};
    if (path && !(om->path = ls__arena_text(&om->arena, path)))
        return LS_ENOMEM;
    if (path) {
        status = ls__file_load(path, INT32_MAX, &loaded, &om->size);
        if (status < 0)
            return status;
        om->bytes = (uint8_t *)loaded;
    } else {
        if (!(om->bytes = malloc(size + 1)))
            return ls__no_memory("an ONNX model", size);
        if (size)
            memcpy(om->bytes, bytes, size);
        om->size = size;
    }
    return open_model(om);
}

void ls__om_close(ls__om *om)
{
    for (int i = 0; i < om->besides; i++)
        free(om->beside[i].bytes);
    free(om->beside);
    free(om->bytes);
    ls__arena_free(&om->arena);
    *om = (ls__om){0};
}
