/* SPDX-License-Identifier: BSD-3-Clause */
/* The frame of an ONNX file: model, graph, inputs, outputs, constants.  The
 * numbers of fields are those of onnx.proto3. */
#include "export/onnx.h"
#include "base/error.h"
#include "table/table_model.h"
#include <lockstep/onnx.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IR_VERSION = 9, OPSET = 20, ML_OPSET = 3 };

/* The operators of tables, and the domain of the only one that is in use. */
static const char ml[] = "ai.onnx.ml", ml_operator[] = "LabelEncoder";

/* ------ names and constants ------ */

static const char *kept(ls__onnx *o, const char *text)
{
    const char *copy = ls__arena_text(&o->arena, text);

    o->out.failed |= !copy;
    return copy ? copy : "";
}

static const char *fresh_name(ls__onnx *o)
{
    char text[24];

    snprintf(text, sizeof text, ":%d", o->fresh++);
    return kept(o, text);
}

static const char *constant(ls__onnx *o, const char *name, ls__onnx_shape shape,
                            int type, const void *data)
{
    size_t width = type == LS__ONNX_FLOAT ? 4 : 8;
    ls__proto t = {0};

    name = name ? name : fresh_name(o);
    for (int i = 0; i < shape.rank; i++)
        ls__proto_int(&t, 1, shape.of[i]);
    ls__proto_int(&t, 2, type);
    ls__proto_text(&t, 8, name);
    ls__proto_numbers(&t, 9, data, (size_t)ls__count(shape.rank, shape.of),
                      width);
    ls__proto_message(&o->out, 5, &t);
    return name;
}

const char *ls__onnx_floats(ls__onnx *o, const char *name, ls__onnx_shape shape,
                            const float *data)
{
    return constant(o, name, shape, LS__ONNX_FLOAT, data);
}

const char *ls__onnx_integers(ls__onnx *o, int count, const int64_t *of)
{
    return constant(o, NULL, (ls__onnx_shape){1, {count}}, LS__ONNX_INT64, of);
}

const char *ls__onnx_doubles(ls__onnx *o, int count, const double *of)
{
    return constant(o, NULL, (ls__onnx_shape){1, {count}}, LS__ONNX_DOUBLE, of);
}

void ls__onnx_attribute(ls__proto *to, const char *name, ls__onnx_kind kind,
                        int count, const void *of)
{
    const float *real = of;
    const int64_t *integer = of;
    const char *const *text = of;
    int list = kind >= LS__ONNX_REALS ? 5 : 0; /* so many fields behind */
    ls__proto a = {0};

    ls__proto_text(&a, 1, name);
    ls__proto_int(&a, 20, kind);
    for (int i = 0; i < count; i++)
        switch (kind) {
        case LS__ONNX_REAL: case LS__ONNX_REALS:
            ls__proto_float(&a, 2 + list, real[i]);
            break;
        case LS__ONNX_INTEGER: case LS__ONNX_INTEGERS:
            ls__proto_int(&a, 3 + list, integer[i]);
            break;
        case LS__ONNX_TEXT: case LS__ONNX_TEXTS:
            ls__proto_text(&a, 4 + list, text[i]);
            break;
        }
    ls__proto_message(to, 5, &a);
}

/* ------ nodes ------ */

static void call(ls__onnx *o, const char *type, int inputs,
                 const char *const *in, int results, const char *const *result,
                 ls__proto *attributes)
{
    ls__proto n = {0};

    for (int k = 0; k < inputs; k++)
        ls__proto_text(&n, 1, in[k]);
    for (int k = 0; k < results; k++)
        ls__proto_text(&n, 2, result[k]);
    ls__proto_text(&n, 4, type);
    if (attributes)
        ls__proto_append(&n, attributes);
    if (!strcmp(type, ml_operator))
        ls__proto_text(&n, 7, ml);
    ls__proto_message(&o->out, 1, &n);
}

const char *ls__onnx_call(ls__onnx *o, const char *type, int inputs,
                          const char *const *in, ls__proto *attributes)
{
    const char *result = fresh_name(o);

    call(o, type, inputs, in, 1, &result, attributes);
    return result;
}

void ls__onnx_call_several(ls__onnx *o, const char *type, int inputs,
                           const char *const *in, int results,
                           const char **result, ls__proto *attributes)
{
    for (int k = 0; k < results; k++)
        result[k] = fresh_name(o);
    call(o, type, inputs, in, results, result, attributes);
}

/* ------ inputs and outputs ------ */

void ls__onnx_value(ls__onnx *o, int is, const char *name, int type, int rank,
                    const int64_t *of)
{
    ls__proto value = {0}, kind = {0}, tensor = {0}, shape = {0}, dim = {0};

    ls__proto_text(&dim, 2, "rows");
    ls__proto_message(&shape, 1, &dim);
    for (int i = 0; i < rank; i++) {
        ls__proto_int(&dim, 1, of[i]);
        ls__proto_message(&shape, 1, &dim);
    }
    ls__proto_int(&tensor, 1, type);
    ls__proto_message(&tensor, 2, &shape);
    ls__proto_message(&kind, 1, &tensor);
    ls__proto_text(&value, 1, name);
    ls__proto_message(&value, 2, &kind);
    ls__proto_message(&o->out, is, &value);
}

void ls__onnx_output(ls__onnx *o, const char *name, const char *value, int type,
                     int rank, const int64_t *shape)
{
    call(o, "Identity", 1, &value, 1, &name, NULL);
    ls__onnx_value(o, LS__ONNX_OUTPUT, name, type, rank, shape);
}

/* Mark the nodes that one reads: o->name is "" for them. */
static void mark_inputs(ls__onnx *o, const ls__net_node *n)
{
    ls__both_ways both;

    if (ls__onnx_joins_ways(n, &both)) {
        o->name[both.x->id] = "";
        if (both.lengths)
            o->name[both.lengths->id] = "";
        return;
    }
    for (int k = 0; k < n->inputs; k++)
        o->name[n->in[k]->id] = "";
}

/* Mark all that the outputs need. */
static void mark_needed(ls__onnx *o)
{
    const ls__net *g = o->graph;

    for (int i = 0; i < g->outputs; i++)
        o->name[g->output[i].node->id] = "";
    for (int i = g->nodes - 1; i >= 0; i--)
        if (o->name[i])
            mark_inputs(o, &g->node[i]);
}

/* An input says how many rows there are: the first, if none is needed. */
static int mark_rows(ls__onnx *o)
{
    const ls__net *g = o->graph;
    int first = -1;

    for (int i = g->nodes - 1; i >= 0; i--) {
        if (!g->node[i].op && o->name[i])
            return 0;
        if (!g->node[i].op)
            first = i;
    }
    if (first < 0)
        return ls__fail(LS_ENOTSUP, "a graph without inputs cannot be written "
                        "for ONNX");
    o->name[first] = "";
    return 0;
}

/* Check names: in ONNX all values of a graph have one of their own. */
static int check_names(const ls__onnx *o)
{
    const ls__net *g = o->graph;

    for (int i = 0; i < g->outputs; i++)
        for (int k = 0; k < g->nodes; k++)
            if (o->name[k] && !g->node[k].op &&
                !strcmp(g->output[i].name, g->node[k].name))
                return ls__fail(LS_EINVAL, "\"%s\" is an input and an output: "
                                "ONNX wants two names", g->node[k].name);
    return 0;
}

static int put_input(ls__onnx *o, const ls__net_node *n)
{
    if (o->coding)
        return ls__onnx_columns(o, n);
    o->name[n->id] = n->name;
    ls__onnx_value(o, LS__ONNX_INPUT, n->name,
                   n->is_i32 ? LS__ONNX_INT32 : LS__ONNX_FLOAT, n->rank,
                   n->shape);
    return 0;
}

static void put_output(ls__onnx *o, const ls__net_output *output)
{
    const ls__net_node *n = output->node;

    if (o->coding)
        ls__onnx_target(o, o->name[n->id]);
    else
        ls__onnx_output(o, output->name, o->name[n->id], LS__ONNX_FLOAT,
                        n->rank, n->shape);
}

static int put_graph(ls__onnx *o)
{
    const ls__net *g = o->graph;
    int status = o->coding ? 0 : check_names(o);

    ls__proto_text(&o->out, 2, "lockstep");
    for (int i = 0; i < g->nodes && status == 0; i++)
        if (o->name[i])
            status = g->node[i].op ? ls__onnx_node(o, &g->node[i])
                                   : put_input(o, &g->node[i]);
    for (int i = 0; i < g->outputs && status == 0; i++)
        put_output(o, &g->output[i]);
    return status;
}

/* ------ the file ------ */

static void put_opset(ls__proto *model, const char *domain, int version)
{
    ls__proto opset = {0};

    ls__proto_text(&opset, 1, domain);
    ls__proto_int(&opset, 2, version);
    ls__proto_message(model, 8, &opset);
}

/* The note of a table goes along: it names the classes. */
static ls__proto model_of(ls__onnx *o)
{
    ls__proto model = {0}, note = {0};

    ls__proto_int(&model, 1, IR_VERSION);
    ls__proto_text(&model, 2, "lockstep");
    ls__proto_text(&model, 3, ls_version());
    ls__proto_message(&model, 7, &o->out);
    put_opset(&model, "", OPSET);
    if (!o->coding)
        return model;
    put_opset(&model, ml, ML_OPSET);
    ls__proto_text(&note, 1, LS_CODING_NOTE);
    ls__proto_text(&note, 2, o->coding->note);
    ls__proto_message(&model, 14, &note);
    return model;
}

static int write_file(const ls__proto *model, const char *path)
{
    if (model->failed)
        return ls__no_memory("an ONNX model", model->size);
    if (model->size > INT32_MAX)
        return ls__fail(LS_ENOTSUP, "%s: %zu bytes are more than an ONNX file "
                        "can have", path, model->size);
    return ls__bytes_save(path, model->bytes, model->size);
}

/* Writes a graph and its parameters, which are aligned floats, to a file that
 * appears whole or not at all.  Its inputs and outputs have the graph's names
 * and the rows first, "rows" of them.  LS_ENOTSUP names an operator that ONNX
 * is not told here, or a file of 2 GB and more, which is none; LS_EINVAL: an
 * input and an output of one name; LS_EIO; LS_ENOMEM. */
static int write_net(const ls__net *g, const ls_coding *coding,
                     const char *path)
{
    ls__onnx o = {.graph = g, .coding = coding};
    ls__proto model = {0};
    int status = LS_ENOMEM;

    o.name = ls__arena_new(&o.arena, (size_t)g->nodes + 1, sizeof *o.name);
    o.there = ls__arena_new(&o.arena, (size_t)g->params + 1,
                            sizeof *o.there);
    if (o.name && o.there) {
        mark_needed(&o);
        if ((status = mark_rows(&o)) == 0)
            status = put_graph(&o);
    }
    if (status == 0) {
        model = model_of(&o);
        status = write_file(&model, path);
    }
    ls__bytes_free(&model);
    ls__bytes_free(&o.out);
    ls__arena_free(&o.arena);
    return status;
}

/* Columns are inputs under their names, so no constant may have one of them:
 * theirs begin with a colon, which no column's does here. */
static int rename_params(ls__net *net)
{
    for (int i = 0; i < net->params; i++) {
        const char *name = net->param[i].of.name;
        size_t size = strlen(name) + 3;
        char *text = ls__arena_new(&net->arena, size, 1);

        if (!text)
            return LS_ENOMEM;
        snprintf(text, size, "::%s", name);
        net->param[i].of.name = text;
    }
    return 0;
}

static int save(ls_predictor *p, const ls_coding *coding, const char *path)
{
    ls_archive *archive;
    ls__net net;
    int status = ls_archive_of_predictor(&archive, p);

    if (status < 0)
        return status;
    status = ls__net_open(&net, archive);
    if (status == 0 && coding) {
        net.outputs = 1; /* the one that predicts */
        status = rename_params(&net);
    }
    if (status == 0)
        status = write_net(&net, coding, path);
    ls__net_close(&net);
    ls_archive_close(archive);
    return status;
}

int ls_predictor_save_onnx(ls_predictor *p, const char *path)
{
    LS__NEED_AS(p, "predictor", LS_EINVAL);
    LS__NEED(path);
    return save(p, NULL, path);
}

int ls_table_model_save_onnx(const ls_table_model *model, const char *path)
{
    LS__NEED(model);
    LS__NEED(path);
    return save(model->predictor, model->coding, path);
}
