/* SPDX-License-Identifier: BSD-3-Clause */
/* A graph from an ONNX model.  Nodes are read in their order; one that is
 * refused leaves a line and unknown values, and what needs those is passed
 * over, so that all that cannot be done is told at once. */
#include "import/reader.h"
#include "base/error.h"
#include "base/sized.h"

#include <lockstep/initial.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------ values ------ */

ls__named *ls__read_value(ls__reader *r, const char *name)
{
    int *number = ls__names_number(&r->names, name);

    if (!number)
        return NULL;
    if (!*number) {
        r->value[r->values].name = name;
        *number = ++r->values;
    }
    return &r->value[*number - 1];
}

ls__named *ls__read_in(ls__reader *r, const ls__om_node *n, int k)
{
    return k < n->inputs && *n->input[k] ? ls__read_value(r, n->input[k])
                                         : NULL;
}

ls__named *ls__read_out(ls__reader *r, const ls__om_node *n, int k)
{
    return ls__read_value(r, n->output[k]);
}

int ls__read_put(ls__reader *r, const ls__om_node *n, const ls__named *v)
{
    ls__named *to = ls__read_out(r, n, 0);
    const char *name = to->name;

    *to = *v;
    to->name = name;
    return 1;
}

int ls__read_node_in(ls__reader *r, const ls__om_node *n, int k, ls__named *v)
{
    const ls__named *from = ls__read_in(r, n, k);

    if (!from)
        return ls__refuse("it lacks input %d", k);
    *v = *from;
    return ls__read_as_node(r, v->name, v);
}

int ls__read_axis(int64_t axis, int rank)
{
    if (axis < -rank || axis >= rank)
        return ls__refuse("axis %lld of %d", (long long)axis, rank);
    return (int)(axis < 0 ? axis + rank : axis);
}

int ls__read_axis_of(const ls__om_node *n, int64_t usual, int rank)
{
    return ls__read_axis(ls__om_integer(n, "axis", usual), rank);
}

int ls__over_rows(void)
{
    return ls__refuse("it goes over the rows, which do not see each other "
                      "here");
}

int64_t ls__read_index_of(double index, int64_t size)
{
    index += index < 0 ? (double)size : 0;
    if (!(index >= 0 && index < (double)size))
        return ls__refuse("its index is out of range");
    return (int64_t)index;
}

int ls__read_sizes(ls__reader *r, const ls__om_node *n, int k, int most,
                   int64_t *out)
{
    const ls__named *v = ls__read_in(r, n, k);
    int64_t count = v ? ls__value_count(v) : 0;

    if (!v || v->kind != LS__NUMBERS)
        return ls__refuse("its input %d depends on data", k);
    if (count > most || v->rank > 1)
        return ls__refuse("its input %d has too many numbers", k);
    for (int64_t i = 0; i < count; i++)
        out[i] = v->number[i] >= 0x1p63 ? INT64_MAX
                 : v->number[i] > -0x1p63 ? (int64_t)v->number[i] : INT64_MIN;
    return (int)count;
}

int ls__read_number(ls__reader *r, const ls__om_node *n, int k, double usual,
                    double *out)
{
    const ls__named *v = ls__read_in(r, n, k);

    *out = usual;
    if (!v)
        return 0;
    if (v->kind != LS__NUMBERS || ls__value_count(v) != 1)
        return ls__refuse("its input %d is not one known number", k);
    *out = *v->number;
    return 0;
}

/* ------ problems ------ */

static int tell(ls__reader *r, const char *text)
{
    ls_onnx *file = r->file;
    char **grown = realloc(file->problem, ((size_t)file->problems + 1) *
                                              sizeof(*grown));

    if (!grown)
        return ls__no_memory("an ONNX model", sizeof *grown);
    file->problem = grown;
    if (!(grown[file->problems] = ls__text_copy(text)))
        return LS_ENOMEM;
    file->problems++;
    return 0;
}

/* A line about a node: "node "conv" (Conv of (rows,3,8,8)): ..". */
static int tell_node(ls__reader *r, const ls__om_node *n, const char *why)
{
    char text[2 * LS__MESSAGE], shape[LS__VALUE_TEXT];
    size_t at = 0;
    const char *name = *n->name ? n->name : n->outputs ? n->output[0] : "";

    at += (size_t)snprintf(text, sizeof text, "node \"%.100s\" (%.50s%s",
                           name, n->op, n->inputs ? " of " : "");
    for (int k = 0; k < n->inputs && at < sizeof text - 300; k++) {
        const ls__named *v = ls__read_in(r, n, k);

        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s",
                               k ? ", " : "",
                               v ? ls__value_text(shape, v->rank, v->shape)
                                 : "nothing");
    }
    snprintf(text + at, sizeof text - at, "): %s", why);
    return tell(r, text);
}

/* The last thing to say: what was refused first, and how much more there is. */
static int refused(const ls_onnx *file)
{
    if (!file->problems)
        return 0;
    if (file->problems == 1)
        return ls__refuse("%s%s%s", file->om.path, *file->om.path ? ": " : "",
                          file->problem[0]);
    return ls__refuse("%s%s%s (and %d more, ls_onnx_problem tells all)",
                      file->om.path, *file->om.path ? ": " : "",
                      file->problem[0], file->problems - 1);
}

/* ------ nodes ------ */

const ls__read_row *ls__read_row_in(const ls__read_row *rows,
                                    const ls__om_node *n)
{
    while (rows->op && !ls__om_is(n, rows->op))
        rows++;
    return rows->op ? rows : NULL;
}

static const ls__read_row *row_of(const ls__om_node *n)
{
    static const ls__read_row *const tables[] = {
        ls__read_layers, ls__read_windows, ls__read_shapes, ls__read_parts,
        ls__read_plain, ls__read_cells, ls__read_more, ls__read_index,
        ls__read_patterns, ls__read_heads, ls__read_truths};
    const ls__read_row *row = NULL;

    for (size_t i = 0; !row && i < sizeof tables / sizeof *tables; i++)
        row = ls__read_row_in(tables[i], n);
    return row ? row : ls__read_term(n->op);
}

/* Make output 0 what a row's operator makes of input 0. */
static int read_by_row(ls__reader *r, const ls__om_node *n,
                       const ls__read_row *row)
{
    ls__named v = *ls__read_in(r, n, 0);
    int status = 0;

    if (row->as == LS__AS_NODE ||
        (row->as == LS__MOVED && v.kind != LS__NUMBERS))
        status = ls__read_as_node(r, v.name, &v);
    if (v.kind == LS__NUMBERS)
        ls__strides(&v, v.rank, v.stride);
    if (status == 0 && (status = row->read(r, n, &v)) == 0 &&
        (v.kind != LS__NUMBERS || (status = ls__fold_ordered(r, &v)) == 0))
        ls__read_put(r, n, &v);
    return status;
}

/* Numbers of a Constant. */
static int read_constant(ls__reader *r, const ls__om_node *n)
{
    enum { MOST = LS__OM_REALS };
    ls__named *v = ls__read_out(r, n, 0);
    int64_t list[MOST], size = 1;
    double real[MOST];
    ls__om_tensor t;
    ls__wire at;
    ls__field f;
    int rank = 1, status;
    bool is_real;

    if (ls__om_attribute(n, "value", &at) && ls__wire_find(at, 5, &f)) {
        status = ls__om_tensor_of(&r->file->om, f.bytes, &t);
        return status < 0 ? status : ls__read_numbers(r, &t, v);
    }
    if ((is_real = ls__om_attribute(n, "value_float", &at))) {
        real[0] = ls__om_real(n, "value_float", 0);
        rank = 0;
    } else if (ls__om_attribute(n, "value_int", &at)) {
        list[0] = ls__om_integer(n, "value_int", 0);
        rank = 0;
    } else if ((size = ls__om_integers(n, "value_ints", MOST, list)) < 0) {
        size = ls__om_reals(n, "value_floats", real);
        is_real = true;
    }
    if (size < 0 || size > MOST)
        return ls__refuse("constants of this kind are not read");
    status = ls__fold_new(r, v, rank, &size, is_real);
    for (int64_t i = 0; status == 0 && i < size; i++)
        v->number[i] = is_real ? real[i] : (double)list[i];
    return status;
}

static int read_shape(ls__reader *r, const ls__om_node *n)
{
    const ls__named *x = ls__read_in(r, n, 0);
    ls__named *y = ls__read_out(r, n, 0);
    int64_t rank = x->rank;
    int64_t first = ls__read_bound(ls__om_integer(n, "start", 0), rank, false);
    int64_t end = ls__read_bound(ls__om_integer(n, "end", rank), rank, false);
    int64_t size = end > first ? end - first : 0;
    int status = ls__fold_new(r, y, 1, &size, false);

    for (int64_t i = 0; status == 0 && i < size; i++)
        y->number[i] = (double)x->shape[first + i];
    return status;
}

/* What is rows of initializers is a node's for all but a cell. */
static int no_pieces(ls__reader *r, const ls__om_node *n)
{
    bool is_cell = ls__read_row_in(ls__read_cells, n);
    int status = 0;

    for (int k = 0; k < n->inputs && status == 0 && !is_cell; k++) {
        ls__named *v = ls__read_in(r, n, k);

        if (v && v->kind == LS__PIECES)
            status = ls__read_as_node(r, v->name, v);
    }
    return status;
}

/* One node: 0 or more, or a status that has its reason in the message. */
static int read_node(ls__reader *r, const ls__om_node *n)
{
    const ls__read_row *row = row_of(n);
    bool known = n->inputs > 0, there = true;
    int status;

    if (n->outputs < 1)
        return ls__refuse("it has no output");
    for (int k = 0; k < n->inputs; k++) {
        const ls__named *v = ls__read_in(r, n, k);

        known &= !v || v->kind == LS__NUMBERS;
        there &= !v || v->kind != LS__UNKNOWN;
    }
    for (int k = 0; k < n->outputs; k++)
        if (*n->output[k] && ls__read_out(r, n, k)->kind != LS__UNKNOWN)
            return ls__refuse("\"%.100s\" stands there twice", n->output[k]);
    if (!there)
        return 0;
    if (*n->domain && strcmp(n->domain, "ai.onnx"))
        return ls__refuse("operators of \"%.60s\" are not known here; export "
                          "without functions of that domain", n->domain);
    if (ls__om_is(n, "Constant"))
        return read_constant(r, n);
    if (n->inputs < 1 || !*n->input[0])
        return ls__refuse("it has no input");
    if (ls__om_is(n, "Shape"))
        return read_shape(r, n);
    if ((status = known ? ls__fold(r, n) : ls__fold_repeated(r, n)) != 0)
        return status;
    if (r->of_cell[ls__read_out(r, n, 0) - r->value] &&
        (status = ls__read_pieces(r, n)) != 0)
        return status;
    if ((status = no_pieces(r, n)) < 0 ||
        (status = ls__read_written_attention(r, n)) != 0)
        return status;
    return row ? read_by_row(r, n, row)
               : ls__refuse("this operator is not known here");
}

static int read_nodes(ls__reader *r)
{
    const ls__om *om = &r->file->om;
    int status;

    for (int i = 0; i < om->nodes; i++) {
        r->node = i;
        if (r->done[i] || (status = read_node(r, &om->node[i])) >= 0)
            continue;
        if (status == LS_ENOMEM)
            return status;
        if ((status = tell_node(r, &om->node[i], ls_errmsg())) < 0)
            return status;
        for (int k = 0; k < om->node[i].outputs; k++)
            ls__read_out(r, &om->node[i], k)->kind = LS__UNKNOWN;
    }
    return 0;
}

/* ------ after them ------ */

/* The weight that a parameter of that shape has; NULL: there is none. */
static const ls__weight *weight_of(const ls_onnx *file, const char *name,
                                   int rank, const int64_t *shape)
{
    for (int i = 0; i < file->weights; i++) {
        const ls__weight *w = file->weight[i];

        if (w->param && !strcmp(w->param, name) && w->rank == rank &&
            (!rank || !memcmp(w->shape, shape, (size_t)rank * sizeof *shape)))
            return w;
    }
    return NULL;
}

static int init(void *user, const char *name, int rank, const int64_t *shape,
                ls_key key, float *out)
{
    const ls__weight *w = weight_of(user, name, rank, shape);

    (void)key;
    if (w)
        ls__weight_fill(w, out);
    return w ? 0 : LS_ENOTFOUND;
}

/* Has each parameter of the graph its weight?  Returns how many there are. */
static int check_weights(const ls__reader *r)
{
    const ls_node *n;
    ls_array_spec p;
    int count = 0;

    for (int i = 0; (n = ls_graph_node(r->graph, i)); i++)
        for (int k = 0; ls_node_param(n, k, &p); k++, count++)
            if (!weight_of(r->file, p.name, p.rank, p.shape))
                return ls__refuse("%s \"%s\": \"%s\" has not the shape that it "
                                  "is of in the file", ls_node_op(n),
                                  ls_node_name(n), p.name);
    return count;
}

static int tell_last(ls__reader *r, int status)
{
    return status == 0 || status == LS_ENOMEM ? status : tell(r, ls_errmsg());
}

static int read_all(ls__reader *r)
{
    const ls__om *om = &r->file->om;
    const ls_init by_file = {.kind = LS_INIT_OWN, .fn = init, .user = r->file};
    int status = ls__read_survey(r), params = 0;

    for (int i = 0; i < om->tensors && status == 0; i++)
        status = tell_last(r, ls__read_tensor(r, &om->tensor[i]));
    for (int i = 0; i < om->inputs && status == 0; i++)
        status = tell_last(r, ls__read_input(r, &om->input[i]));
    if (status == 0)
        status = read_nodes(r);
    for (int i = 0; i < om->outputs && status == 0; i++)
        status = tell_last(r, ls__read_output(r, &om->output[i]));
    if (status == 0 && !r->file->problems && (params = check_weights(r)) < 0)
        status = tell_last(r, params);
    if (status == 0 && (status = refused(r->file)) == 0 && params)
        status = ls_init_params(r->graph, "*", &by_file);
    return status;
}

/* Room for all names that there can be. */
static int open_reader(ls__reader *r)
{
    const ls__om *om = &r->file->om;
    ls__arena *arena = &r->file->arena;
    size_t all = (size_t)om->tensors + (size_t)om->inputs + (size_t)om->outputs;

    for (int i = 0; i < om->nodes; i++)
        all += (size_t)om->node[i].inputs + (size_t)om->node[i].outputs;
    r->value = ls__arena_new(arena, all + 1, sizeof *r->value);
    r->uses = ls__arena_new(arena, all + 1, sizeof *r->uses);
    r->matters = ls__arena_new(arena, all + 1, sizeof *r->matters);
    r->layers_own = ls__arena_new(arena, all + 1, sizeof *r->layers_own);
    r->of_cell = ls__arena_new(arena, all + 1, sizeof *r->of_cell);
    r->done = ls__arena_new(arena, (size_t)om->nodes + 1, sizeof *r->done);
    r->file->end = ls__arena_new(arena, (size_t)om->inputs +
                                            (size_t)om->outputs + 1,
                                 sizeof *r->file->end);
    return r->value && r->uses && r->matters && r->layers_own && r->of_cell &&
                   r->done && r->file->end
               ? 0 : LS_ENOMEM;
}

LS__DEFAULTS(ls_onnx_options, ls_onnx_defaults_bytes, .sizes = NULL)

int ls_graph_load_onnx(ls_graph **graph, ls_onnx *onnx,
                       const ls_onnx_options *options)
{
    LS__NEED(graph);
    LS__NEED(onnx);

    ls_onnx_options o = ls_onnx_defaults();
    ls__reader r = {.file = onnx, .options = &o};
    int status;

    if ((status = ls__sized_take("ls_onnx_options", &o, sizeof o, options)) < 0)
        return status;
    ls__onnx_forget(onnx);
    if ((status = ls_graph_new(&r.graph)) < 0)
        return status;
    ls_graph_errors_pass(r.graph, true);
    if ((status = open_reader(&r)) == 0)
        status = read_all(&r);
    ls__names_free(&r.names);
    ls__names_free(&r.layers);
    if (status < 0) {
        onnx->ends = 0;
        ls_graph_free(r.graph);
        return status;
    }
    ls_graph_errors_pass(r.graph, false);
    *graph = r.graph;
    return 0;
}
