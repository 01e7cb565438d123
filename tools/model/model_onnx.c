/* SPDX-License-Identifier: BSD-3-Clause */
/* onnx: a network that another program wrote (lockstep/onnx.h), trained on from
 * the weights that it has. */
#include "model/model_parts.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_STEPS = 1000 };

/* The ends of a network that rows have to fit. */
typedef struct ends {
    int inputs;
    ls_array_spec in[DATA_INPUTS];
    const char *name; /* of the output */
    int rank;
    int64_t out[LS_MAX_RANK];
} ends;

static bool of_classes(const settings *s)
{
    return s->model.loss == MODEL_CROSS_ENTROPY;
}

static ls_graph *onnx_graph(model_settings *s)
{
    ls_graph *g = s->network.graph;

    s->network.graph = NULL;
    return g;
}

/* ------ The network ------ */

static int no_output(const settings *s)
{
    char list[256] = "";
    const char *name;

    for (int i = 0; ls_graph_output(s->model.network.graph, i, &name); i++)
        opt_append(list, sizeof list, ", ", "%s", name);
    return opt_fail(OPT_WRONG, "--output %s: the outputs of %s are %s",
                    s->model.output, s->model.file, list);
}

static int find_output(ends *e, const settings *s)
{
    const ls_graph *g = s->model.network.graph;
    const char *name, *wanted = s->model.output;
    int i = 0, others = 0;

    while (ls_graph_output(g, i, &name) && wanted && strcmp(name, wanted))
        i++;
    if (!ls_graph_output(g, i, &e->name))
        return no_output(s);
    while (ls_graph_output(g, others, &name))
        others++;
    if (!wanted && others > 1)
        opt_note("the loss is of \"%s\", the first of %d outputs; --output "
                 "names another", e->name, others);
    e->rank = ls_node_shape(ls_graph_output(g, i, NULL), e->out);
    return OPT_GO;
}

static int find_inputs(ends *e, const settings *s)
{
    const onnx_file *f = &s->model.network;
    ls_predictor *p;
    ls_array_spec in;
    int status = opt_check(ls_predictor_open_graph(&p, f->graph, NULL));

    if (status != OPT_GO)
        return status;
    while (ls_predictor_input(p, e->inputs, &in) && status == OPT_GO) {
        if (e->inputs == DATA_INPUTS - 1)
            status = opt_fail(OPT_FAILED, "%s: has more than %d inputs",
                              s->model.file, DATA_INPUTS - 1);
        else /* its name lives as long as the graph */
            in.name = ls_node_name(ls_onnx_node(f->onnx, in.name));
        e->in[e->inputs++ % DATA_INPUTS] = in;
    }
    ls_predictor_close(p);
    if (status == OPT_GO && !e->inputs)
        status = opt_fail(OPT_FAILED, "%s: has no input", s->model.file);
    return status;
}

/* Reads the file, with images as they are in it or as pictures are. */
static int open_network(ends *e, settings *s, bool channels_last)
{
    ls_onnx_options o = ls_onnx_defaults();
    int status;

    *e = (ends){.inputs = 0};
    onnx_file_close(&s->model.network);
    o.batch_norm = s->model.norm == MODEL_BATCH;
    o.channels_last = channels_last;
    status = onnx_file_open(&s->model.network, s->model.file, &o);
    if (status == OPT_GO)
        status = find_output(e, s);
    if (status == OPT_GO)
        status = find_inputs(e, s);
    if (status != OPT_GO)
        return status;
    s->model.x = e->in[0].name;
    s->model.y = s->model.loss == MODEL_NONE ? NULL : "y";
    for (int i = 0; i < e->inputs && s->model.y; i++)
        if (!strcmp(e->in[i].name, "y"))
            s->model.y = "target";
    return OPT_GO;
}

/* ------ Arrays ------ */

static bool same_shape(int rank, const int64_t *a, const int64_t *b)
{
    return memcmp(a, b, (size_t)rank * sizeof *a) == 0;
}

/* Are the images of --x (H,W,C) where the file's are (C,H,W)? */
static bool is_turned(const settings *s, const ends *e)
{
    const int64_t *in = e->in[0].shape, turned[] = {in[1], in[2], in[0]};
    int64_t shape[LS_MAX_RANK];
    int rank = e->in[0].rank == 3 ? data_shape(s->data.x, shape) : 0;

    return rank == 4 && !same_shape(3, shape + 1, in) &&
           same_shape(3, shape + 1, turned);
}

static int add_input(data *d, const settings *s, const ls_array_spec *in)
{
    char is[DATA_SHAPE], wanted[DATA_SHAPE];
    int status = data_load(d, in->name, s->data.x, in->dtype, in->rank + 1);
    const int64_t *shape = d->inputs ? d->input[d->inputs - 1].all.shape : NULL;

    if (status != OPT_GO || same_shape(in->rank, shape + 1, in->shape))
        return status;
    return opt_fail(OPT_WRONG, "%s: rows of %s, and input \"%s\" of %s takes "
                    "%s", s->data.x, data_shape_text(is, in->rank, shape + 1),
                    in->name, s->model.file,
                    data_shape_text(wanted, in->rank, in->shape));
}

/* The classes of an output are its last axis, or the first, as PyTorch has it,
 * where the labels say so. */
static int check_labels(data *d, settings *s, const ends *e)
{
    const ls_array *y = &d->input[1].all;
    const int32_t *label = y->data;
    int axes = e->rank - 1;
    ls_array flat = *y;
    char is[DATA_SHAPE], wanted[DATA_SHAPE];

    s->model.classes_first = axes > 0 &&
                             !same_shape(axes, y->shape + 1, e->out) &&
                             same_shape(axes, y->shape + 1, e->out + 1);
    if (!s->model.classes_first && !same_shape(axes, y->shape + 1, e->out))
        return opt_fail(OPT_WRONG, "%s: labels of %s a row, and \"%s\" of %s "
                        "is %s", s->data.y,
                        data_shape_text(is, axes, y->shape + 1),
                        e->name, s->model.file,
                        data_shape_text(wanted, e->rank, e->out));
    s->model.classes = e->out[s->model.classes_first ? 0 : axes];
    for (int i = 0; i < axes; i++)
        flat.shape[0] *= y->shape[i + 1];
    for (int64_t i = 0; i < flat.shape[0]; i++)
        if (label[i] >= s->model.classes)
            return opt_fail(OPT_FAILED, "%s: a label is %d, and the %lld "
                            "classes of \"%s\" are counted from 0", s->data.y,
                            (int)label[i], (long long)s->model.classes,
                            e->name);
    return data_labels(&flat, s->data.y, s->model.classes, true);
}

static int add_target(data *d, settings *s, const ends *e)
{
    bool classes = of_classes(s);
    char is[DATA_SHAPE], wanted[DATA_SHAPE];
    const int64_t *shape = d->input[1].all.shape + 1;
    int status;

    if (classes && !e->rank)
        return opt_fail(OPT_WRONG, "\"%s\" of %s is a number, and "
                        "cross-entropy is of classes: --loss says another",
                        e->name, s->model.file);
    status = data_load(d, s->model.y, s->data.y, classes ? LS_I32 : LS_F32,
                       classes ? e->rank : e->rank + 1);
    if (status == OPT_GO && classes)
        return check_labels(d, s, e);
    if (status != OPT_GO || same_shape(e->rank, shape, e->out))
        return status;
    return opt_fail(OPT_WRONG, "%s: rows of %s, and \"%s\" of %s is %s",
                    s->data.y, data_shape_text(is, e->rank, shape), e->name,
                    s->model.file, data_shape_text(wanted, e->rank, e->out));
}

static int check_arrays(const settings *s, const ends *e, const opt_line *line)
{
    int status = opt_refuse(line, OF_IMAGES, " is for images of --data");

    if (status == OPT_GO)
        status = opt_refuse(line, OF_TABLE, " is for tables of --data");
    if (status == OPT_GO && s->model.loss == MODEL_NONE && s->data.y)
        return opt_fail(OPT_WRONG, "--y and --loss none exclude each other: "
                        "the output is the loss");
    if (status == OPT_GO && e->inputs > 1 && !strstr(s->data.x, ".npz"))
        return opt_fail(OPT_WRONG, "%s has %d inputs, \"%s\" and \"%s\" among "
                        "them: --x F.npz has an array of each name",
                        s->model.file, e->inputs, e->in[0].name, e->in[1].name);
    if (status == OPT_GO && s->data.balance && e->rank != 1)
        return opt_fail(OPT_WRONG, "--class-weights is for rows of a class "
                        "each");
    return status;
}

/* "y" is the second one, as the tools have it. */
static int load_arrays(data *d, settings *s, ends *e, const opt_line *line)
{
    int status = check_arrays(s, e, line);

    if (status == OPT_GO && is_turned(s, e))
        status = open_network(e, s, true);
    d->by_name = e->inputs > 1;
    for (int i = 0; i < e->inputs && status == OPT_GO; i++) {
        status = add_input(d, s, &e->in[i]);
        if (status == OPT_GO && i == 0 && s->model.y)
            status = add_target(d, s, e);
    }
    if (status != OPT_GO)
        return status;
    s->data.shuffle = !s->data.no_shuffle;
    s->model.unscored = s->model.loss > MODEL_HUBER || e->inputs > 1 ||
                        e->rank != 1;
    status = model_load_rest(d, s);
    return status == OPT_GO && s->data.eval_y && e->rank == 1 && of_classes(s)
               ? data_labels(&d->held_out[1], s->data.eval_y, s->model.classes,
                             false)
               : status;
}

/* ------ Other rows ------ */

static int one_input(const settings *s, const ends *e, ls_dtype as, int rank,
                     const char *what)
{
    char is[DATA_SHAPE];

    if (e->inputs == 1 && e->in[0].dtype == as && e->in[0].rank == rank)
        return OPT_GO;
    return opt_fail(OPT_WRONG, "%s: %s, and %s takes %s%s of %s: --x and --y "
                    "name arrays", s->data.path, what, s->model.file,
                    e->inputs > 1 ? "several inputs, " : "",
                    e->in[0].dtype == LS_I32 ? "whole numbers" : "numbers",
                    data_shape_text(is, e->in[0].rank, e->in[0].shape));
}

/* Rows of classes for an output of classes. */
static int one_class(const settings *s, const ends *e, int64_t classes)
{
    if (!of_classes(s) || e->rank != 1)
        return opt_fail(OPT_WRONG, "%s: its rows are of classes: --loss "
                        "cross-entropy, of an output of one axis",
                        s->data.path);
    if (classes > e->out[0])
        return opt_fail(OPT_WRONG, "%s: %lld classes, and \"%s\" of %s has "
                        "%lld", s->data.path, (long long)classes, e->name,
                        s->model.file, (long long)e->out[0]);
    if (classes < e->out[0])
        opt_note("%s: %lld classes, the first of the %lld of \"%s\"",
                 s->data.path, (long long)classes, (long long)e->out[0],
                 e->name);
    return OPT_GO;
}

static int load_pictures(data *d, settings *s, ends *e, const opt_line *line)
{
    int status = open_network(e, s, true);
    const int64_t *size = e->in[0].shape;

    if (status == OPT_GO)
        status = one_input(s, e, LS_F32, 3, "pictures");
    if (status != OPT_GO)
        return status;
    snprintf(s->model.image_room, sizeof s->model.image_room,
             "%lldx%lldx%lld", (long long)size[0], (long long)size[1],
             (long long)size[2]);
    s->model.image = s->model.image_room;
    s->data.shuffle = !s->data.no_shuffle;
    if ((status = model_image_files(d, s, line)) != OPT_GO)
        return status;
    if (!same_shape(3, d->source.arrays[0].shape, size))
        return opt_fail(OPT_WRONG, "%s: images of %s, and %s takes %lldx%lldx"
                        "%lld", s->data.path, s->model.image, s->model.file,
                        (long long)size[0], (long long)size[1],
                        (long long)size[2]);
    status = one_class(s, e, s->model.classes);
    s->model.classes = e->out[0];
    return status;
}

static int load_table(data *d, settings *s, ends *e, const opt_line *line)
{
    int status = open_network(e, s, false);
    int64_t width;

    if (status == OPT_GO)
        status = one_input(s, e, LS_F32, 1, "a table");
    if (status == OPT_GO && !s->data.target)
        status = opt_fail(OPT_WRONG, "%s: --target names the column that is to "
                          "be predicted", s->data.path);
    if (status != OPT_GO)
        return status;
    model_table_defaults(s, line);
    if ((status = model_table_rows(d, s, line)) != OPT_GO)
        return status;
    width = ls_coding_width(data_coding(d));
    if (width != e->in[0].shape[0])
        return opt_fail(OPT_WRONG, "%s: its columns become %lld numbers, and "
                        "%s takes %lld; --ignore leaves columns out",
                        s->data.path, (long long)width, s->model.file,
                        (long long)e->in[0].shape[0]);
    if (!s->model.regression)
        return one_class(s, e, s->model.classes);
    s->model.unscored = s->model.loss > MODEL_HUBER;
    if (!of_classes(s) && e->rank == 1 && e->out[0] == 1)
        return OPT_GO;
    return opt_fail(OPT_WRONG, "%s: the target is a number: --loss mse, of an "
                    "output of one number", s->data.path);
}

static int load_text(data *d, settings *s, ends *e, const opt_line *line)
{
    int64_t window = e->in[0].shape[0];
    int status = opt_refuse(line, OF_END | OF_IMAGES | OF_TABLE,
                            " is for rows, not for a text");

    if (status == OPT_GO)
        status = one_input(s, e, LS_I32, 1, "a text");
    if (status != OPT_GO)
        return status;
    if (!of_classes(s) || e->rank != 2 || e->out[0] != window)
        return opt_fail(OPT_WRONG, "%s: a text is for a network that tells the "
                        "next of %lld tokens, (%lld,vocabulary), with --loss "
                        "cross-entropy", s->data.path, (long long)window,
                        (long long)window);
    s->model.y = NULL;
    d->text.name = s->model.x;
    s->data.epochs = 0;
    if (!opt_given(line, "steps"))
        s->data.steps = TEXT_STEPS;
    return text_load(&d->text, s->data.path, s->data.eval_path, window,
                     e->out[1], ls_key_new(s->data.seed));
}

/* ------ */

static int check(const settings *s, const opt_line *line)
{
    int status = s->model.file ? model_check_files(s) : OPT_GO;

    if (!s->model.file)
        return opt_fail(OPT_WRONG, "onnx needs --model F.onnx, the network "
                        "that another program wrote");
    if (status == OPT_GO && opt_given(line, "norm") &&
        s->model.norm != MODEL_BATCH && s->model.norm != MODEL_STORED)
        return opt_fail(OPT_WRONG, "--norm: onnx has stored, batch norms as "
                        "they are in the file, and batch, which trains them");
    if (status == OPT_GO && opt_given(line, "initialiser"))
        return opt_fail(OPT_WRONG, "--initialiser: the first values are those "
                        "of %s", s->model.file);
    if (status == OPT_GO && opt_given(line, "image"))
        return opt_fail(OPT_WRONG, "--image: the size is that of %s; --image "
                        ":fit=fit says how pictures become it", s->model.file);
    if (status == OPT_GO && s->model.rounds)
        return opt_fail(OPT_WRONG, "--precision bf16-input rounds what our own "
                        "models read; bf16 is for %s, too", s->model.file);
    if (status == OPT_GO && !s->data.x && !s->data.path)
        return opt_fail(OPT_WRONG, "onnx needs rows: --x F.npy and --y F.npy, "
                        "or --data");
    if (status == OPT_GO && s->data.path && s->model.loss == MODEL_NONE)
        return opt_fail(OPT_WRONG, "--loss none has no use for what --data "
                        "says is right: --x names an array");
    return status;
}

static int onnx_load(data *d, settings *s, const opt_line *line)
{
    bool table = s->data.target ||
                 (s->data.path && model_names_table(s->data.path));
    ends e;
    int status = check(s, line);

    s->model.regression = s->model.loss != MODEL_CROSS_ENTROPY;
    if (status == OPT_GO && table)
        return load_table(d, s, &e, line);
    if (status == OPT_GO)
        status = open_network(&e, s, false);
    if (status != OPT_GO)
        return status;
    if (s->data.x)
        return load_arrays(d, s, &e, line);
    if ((status = opt_refuse(line, OF_TABLE, " needs --target")) != OPT_GO)
        return status;
    return e.in[0].dtype == LS_I32 ? load_text(d, s, &e, line)
                                   : load_pictures(d, s, &e, line);
}

static const model onnx = {
    .keys = LS_KEYS_NNX,
    .epochs = true,
    .load = onnx_load,
    .graph = onnx_graph,
    .build = model_onnx_build,
};

static const char *const files[] = {".onnx", NULL};

static const opt_start own[] = {{"norm", "stored"}, {"image", ""},
                                {NULL, NULL}};

const opt_model model_onnx = {
    .name = "onnx",
    .about = "a network that PyTorch, Keras or JAX exported, trained on",
    .note = "--model F.onnx is the network, and training begins with its "
            "weights.\n--x and --y are arrays, shaped as its input and output "
            "(of several inputs --x is\nF.npz with an array of each name); "
            "--data is pictures, a text or a table as for\nour own models.  "
            "--save F.onnx writes the file again with other weights, --save\n"
            "F.safetensors a model of ours, which PyTorch's load_state_dict "
            "takes, too.",
    .impl = &onnx,
    .own = own,
    .files = files,
};
