/* Parameters from a file that PyTorch's state_dict was saved to: its names and
 * its layouts.  Everything is checked before the first value changes.
 *
 *     ours                              PyTorch's
 *     dense     kernel (I,n)            weight (n,I)
 *     conv2d    kernel (h,w,C,n)        weight (n,C,h,w), C of a group
 *     norms     scale                   weight
 *     batch     mean, var               running_mean, running_var
 *     embed     embedding               weight
 *     biases    bias                    bias
 *
 * After a flatten the inputs of a dense layer are in the order (C,H,W) there
 * and (H,W,C) here, so its weights are those of a convolution as large as the
 * image.  A batch norm behind a layer that has none here is folded into it
 * (torch_norm.h); for recurrent layers see torch_steps.h. */
#include "model/torch_file.h"
#include "base/error.h"
#include "base/pattern.h"
#include "file/convert.h"
#include "file/csv.h"
#include "file/safetensors.h"
#include "graph/op.h"
#include "model/torch_norm.h"
#include "model/torch_steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 512, RENAMES = 64 };

/* "OURS=THEIRS": layers that are called otherwise; "OURS=THEIRS&NORM" or
 * "..&NORM:EPSILON": with a batch norm behind them. */
typedef struct rename_of {
    const char *ours, *theirs;
    bool used;
    const char *norm; /* NULL: there is none */
    double epsilon;
} rename_of;

typedef struct load {
    ls__model *model;
    const char *path, *names;
    ls__safetensors file;
    const ls_entry **of; /* [slot]; NULL: the slot keeps its values */
    const ls_entry **plus; /* [slot] added to it; NULL: nothing */
    bool *plain;         /* [slot] a scale of ones or a bias of zeros */
    bool *taken;         /* [entry] */
    ls__torch_norm *norm; /* [slot] to be folded into it */
    char *copy;          /* of the renames, cut into strings */
    int renames;
    rename_of rename[RENAMES];
} load;

/* ------ names ------ */

/* "NORM" or "NORM:EPSILON"; PyTorch's default is 1e-5. */
static int read_norm(rename_of *r, char *text)
{
    char *colon = strchr(text, ':');

    r->norm = text;
    r->epsilon = 1e-5;
    if (!colon)
        return 0;
    *colon = 0;
    if (ls__csv_number(colon + 1, false, &r->epsilon) && r->epsilon >= 0)
        return 0;
    return ls__fail(LS_EINVAL, "names of layers: batch norm \"%s\": epsilon "
                    "\"%s\" is no number from 0 up", text, colon + 1);
}

static int add_rename(load *l, char *ours, char *theirs)
{
    rename_of *r = &l->rename[l->renames++];
    char *norm = strchr(theirs, '&');

    *r = (rename_of){.ours = ours, .theirs = theirs};
    if (!norm)
        return 0;
    *norm = 0;
    return read_norm(r, norm + 1);
}

static int read_renames(load *l, const char *text)
{
    size_t n = text ? strlen(text) + 1 : 1;

    if (!(l->copy = ls__new(n, 1, "names of layers")))
        return LS_ENOMEM;
    if (!text)
        return 0;
    memcpy(l->copy, text, n);
    for (char *at = l->copy, *end; at; at = end) {
        char *equals = strchr(at, '=');

        if ((end = strchr(at, ',')))
            *end++ = 0;
        if (!equals || equals == at || (end && equals >= end) ||
            l->renames == RENAMES)
            return ls__fail(LS_EINVAL, "names of layers \"%s\": \"%s\" is not "
                            "OURS=THEIRS%s", text, at,
                            l->renames == RENAMES ? ", or one too many" : "");
        *equals = 0;
        if (add_rename(l, at, equals + 1) < 0)
            return LS_EINVAL;
    }
    return 0;
}

/* The last part of a name, and what PyTorch calls it. */
static const char *last_part(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot ? dot + 1 : name;
}

static const char *their_part(const char *part)
{
    static const char *const theirs[][2] = {
        {"kernel", "weight"}, {"scale", "weight"}, {"embedding", "weight"},
        {"mean", "running_mean"}, {"var", "running_var"}};

    for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++)
        if (!strcmp(part, theirs[i][0]))
            return theirs[i][1];
    return part;
}

/* "blocks_0.query" is "blocks.0.query". */
static void number_modules(char *name)
{
    for (char *c = name; (c = strchr(c, '_')); c++) {
        size_t digits = strspn(c + 1, "0123456789");

        if (digits && (c[1 + digits] == '.' || !c[1 + digits]))
            *c = '.';
    }
}

/* The rename of a layer or of a module around it; NULL: there is none. */
static rename_of *rename_for(load *l, const char *name)
{
    for (int i = 0; i < l->renames; i++) {
        size_t n = strlen(l->rename[i].ours);

        if (!strncmp(name, l->rename[i].ours, n) &&
            (name[n] == '.' || !name[n]))
            return &l->rename[i];
    }
    return NULL;
}

/* What PyTorch calls a parameter. */
static void their_name(load *l, const char *name, bool numbered, char out[NAME])
{
    rename_of *r = rename_for(l, name);
    const char *rest = r ? name + strlen(r->ours) : name;
    const char *part = last_part(rest);

    if (r)
        r->used = true;
    if (r && !*r->theirs)
        rest += *rest == '.';
    snprintf(out, NAME, "%s%.*s%s", r ? r->theirs : "", (int)(part - rest),
             rest, their_part(part));
    if (numbered)
        number_modules(out);
}

/* What PyTorch calls a layer. */
static void their_layer(load *l, const char *name, bool numbered,
                        char out[NAME])
{
    rename_of *r = rename_for(l, name);
    const char *rest = r ? name + strlen(r->ours) : name;

    if (r)
        r->used = true;
    snprintf(out, NAME, "%s%s", r ? r->theirs : "",
             rest + (r && !*r->theirs && *rest == '.'));
    if (numbered)
        number_modules(out);
}

static int find(const load *l, const char *name)
{
    for (int i = 0; i < l->file.count; i++)
        if (!strcmp(l->file.entry[i].name, name))
            return i;
    return -1;
}

/* As it is, with "blocks.0" for "blocks_0", and with ".weight" for a parameter
 * that is a layer's only one. */
static int find_theirs(load *l, const char *name, char wanted[NAME])
{
    char other[NAME];
    size_t n;
    int i;

    their_name(l, name, true, other);
    their_name(l, name, false, wanted);
    if ((i = find(l, wanted)) >= 0 || (i = find(l, other)) >= 0)
        return i;
    n = strlen(other);
    snprintf(other + n, NAME - n, ".weight");
    return find(l, other);
}

/* Likewise of a recurrent layer. */
static int find_steps(load *l, const ls__torch_steps *s, bool other,
                      char wanted[NAME])
{
    char layer[NAME], module[NAME];
    int at = -1;

    ls__torch_steps_layer(s, layer, sizeof layer);
    for (int numbered = 1; numbered >= 0 && at < 0; numbered--) {
        their_layer(l, layer, numbered, module);
        ls__torch_steps_name(s, module, other, wanted, NAME);
        at = find(l, wanted);
    }
    return at;
}

static int missing(const load *l, const char *name, const char *wanted)
{
    const char *near = "";
    size_t most = 0;

    for (int i = 0; i < l->file.count; i++) {
        size_t n = ls__name_nearness(wanted, l->file.entry[i].name);

        if (n > most) {
            most = n;
            near = l->file.entry[i].name;
        }
    }
    return ls__fail(LS_ENOTFOUND, "%s: has no tensor \"%s\" for the parameter "
                    "\"%s\"%s%s%s", l->path, wanted, name,
                    *near ? "; the nearest is \"" : "", near,
                    *near ? "\"" : "");
}

/* ------ layouts ------ */

/* Ours (h,w,c,n), theirs (n,c,h,w). */
typedef struct layout {
    int64_t h, w, c, n;
    bool is_conv;
} layout;

/* The node that has a parameter, if it is its weights. */
static const ls_node *node_of(const ls__model *m, int declared)
{
    for (int i = 0; i < m->graph->node_count; i++)
        if (m->graph->nodes[i]->params &&
            m->graph->nodes[i]->param[0] == declared)
            return m->graph->nodes[i];
    return NULL;
}

static bool is_called(const ls_node *n, const char *op)
{
    return n->op && !strcmp(n->op->name, op);
}

/* The image whose pixels x is, one after the other; NULL: it is none. */
static const ls_node *image_of(const ls_node *x)
{
    while (x->op && x->op->inputs == 1 &&
           (ls__term_of(x->op) || is_called(x, "dropout")))
        x = x->in[0];
    return is_called(x, "flatten") && x->in[0]->rank == 3 ? x->in[0] : NULL;
}

/* False: the two have the same layout. */
static bool layout_of(const ls__model *m, const ls__slot *s, layout *out)
{
    const ls_node *n = node_of(m, s->declared), *image;

    if (n && n->op->recurrent) { /* (n,G n) of G gates */
        *out = (layout){1, 1, s->shape[0], s->shape[1], false};
        return true;
    }
    if (!n || (!is_called(n, "dense") && !is_called(n, "conv2d")))
        return false;
    *out = (layout){1, 1, ls__width(n->in[0]), n->features, false};
    if (is_called(n, "conv2d"))
        *out = (layout){n->window.kh, n->window.kw, out->c / n->groups, out->n,
                        true};
    else if ((image = image_of(n->in[0])))
        *out = (layout){image->shape[0], image->shape[1], image->shape[2],
                        out->n, false};
    return true;
}

static void arrange(const layout *a, const float *from, float *to)
{
    int64_t area = a->h * a->w;

    for (int64_t p = 0; p < area; p++)
        for (int64_t c = 0; c < a->c; c++)
            for (int64_t n = 0; n < a->n; n++)
                *to++ = from[(n * a->c + c) * area + p];
}

/* ------ checking ------ */

static int check_shape(const load *l, const ls__slot *s, const ls_entry *e)
{
    char want[LS__SHAPE_TEXT], got[LS__SHAPE_TEXT];
    int64_t shape[LS_MAX_RANK];
    int rank = s->rank;
    layout a;

    memcpy(shape, s->shape, sizeof shape);
    if (layout_of(l->model, s, &a)) {
        memcpy(shape, (int64_t[]){a.n, a.c, a.h, a.w}, 4 * sizeof *shape);
        rank = a.is_conv ? 4 : 2;
        shape[1] *= a.is_conv ? 1 : a.h * a.w;
    }
    if (rank == e->rank &&
        !memcmp(shape, e->shape, (size_t)rank * sizeof *shape))
        return 0;
    return ls__fail(LS_ESHAPE, "%s: tensor \"%s\" is %s, the parameter \"%s\" "
                    "wants %s", l->path, e->name,
                    ls__shape_text(got, e->rank, e->shape), s->name,
                    ls__shape_text(want, rank, shape));
}

/* Whether a node has a parameter, as its weights or its bias. */
static bool is_of(const ls_node *n, int declared)
{
    for (int k = 0; k < n->params; k++)
        if (n->param[k] == declared)
            return is_called(n, "dense") || is_called(n, "conv2d");
    return false;
}

/* The layer of a parameter, if it is one that a batch norm can be folded
 * into. */
static const ls_node *layer_of(const ls__model *m, int declared)
{
    for (int i = 0; i < m->graph->node_count; i++)
        if (is_of(m->graph->nodes[i], declared))
            return m->graph->nodes[i];
    return NULL;
}

/* The batch norm behind the layer of slot i, if it has one. */
static int match_norm(load *l, int i)
{
    const ls__slot *s = &l->model->params.slot[i];
    const rename_of *r = rename_for(l, s->name);
    const ls_node *n = layer_of(l->model, s->declared);

    if (!r || !r->norm)
        return 0;
    if (!n || strcmp(n->name, r->ours) || n->params < 2)
        return ls__fail(LS_EINVAL, "names of layers: a batch norm cannot be "
                        "folded into \"%s\", which is no dense layer or "
                        "convolution with a bias", r->ours);
    return ls__torch_norm_read(&l->norm[i], &l->file, l->path, r->norm,
                               r->epsilon, ls__width(n), l->taken);
}

/* A bias that PyTorch left out because a batch norm has one. */
static bool may_miss(const load *l, int i)
{
    return l->norm[i].n &&
           !strcmp(last_part(l->model->params.slot[i].name), "bias");
}

static int take_entry(load *l, const ls__slot *s, int at, const ls_entry **to)
{
    int status = check_shape(l, s, &l->file.entry[at]);

    if (status == 0)
        status = ls__convert_check(&l->file.entry[at], l->path);
    *to = &l->file.entry[at];
    l->taken[at] = true;
    return status;
}

/* A parameter of a recurrent layer. */
static int match_steps(load *l, int i, const ls__torch_steps *steps)
{
    const ls__slot *s = &l->model->params.slot[i];
    char wanted[NAME];
    int at = find_steps(l, steps, false, wanted), status;

    if (at < 0)
        return missing(l, s->name, wanted);
    if ((status = take_entry(l, s, at, &l->of[i])) < 0 || !steps->both)
        return status < 0 ? status : 1;
    if ((at = find_steps(l, steps, true, wanted)) < 0)
        return missing(l, s->name, wanted);
    if ((status = take_entry(l, s, at, &l->plus[i])) == 0)
        status = ls__torch_steps_check(steps, l->plus[i], l->path);
    return status < 0 ? status : 1;
}

/* The batch norm that a parameter is of, as an operator. */
static const ls_node *batch_norm_of(const ls__model *m, int declared)
{
    for (int i = 0; i < m->graph->node_count; i++)
        for (int k = 0; k < m->graph->nodes[i]->params; k++)
            if (m->graph->nodes[i]->param[k] == declared &&
                is_called(m->graph->nodes[i], "batch_norm"))
                return m->graph->nodes[i];
    return NULL;
}

/* A batch norm has a counter too, and without affine no scale and no bias. */
static bool match_batch_norm(load *l, int i, const char *wanted)
{
    const ls__slot *s = &l->model->params.slot[i];
    const char *part = last_part(s->name);
    char counter[NAME];
    int at;

    if (!batch_norm_of(l->model, s->declared))
        return false;
    snprintf(counter, sizeof counter, "%.*snum_batches_tracked",
             (int)(last_part(wanted) - wanted), wanted);
    if ((at = find(l, counter)) >= 0)
        l->taken[at] = true;
    l->plain[i] = !strcmp(part, "scale") || !strcmp(part, "bias");
    return l->plain[i];
}

static int match(load *l, int i)
{
    const ls__slot *s = &l->model->params.slot[i];
    ls__torch_steps steps = ls__torch_steps_of(l->model->graph, s->declared);
    char wanted[NAME];
    bool may_be_plain;
    int at, status;

    if (l->names && !ls__matches(l->names, s->name))
        return 0;
    if (steps.node)
        return match_steps(l, i, &steps);
    if ((status = match_norm(l, i)) < 0)
        return status;
    at = find_theirs(l, s->name, wanted);
    may_be_plain = match_batch_norm(l, i, at < 0 ? wanted
                                                 : l->file.entry[at].name);
    if (at < 0)
        return may_be_plain || may_miss(l, i) ? 1
                                              : missing(l, s->name, wanted);
    l->plain[i] = false;
    status = take_entry(l, s, at, &l->of[i]);
    return status < 0 ? status : 1;
}

/* Without a pattern nothing may be left over, as with strict=True. */
static int check_left(const load *l)
{
    for (int i = 0; i < l->renames; i++)
        if (!l->rename[i].used)
            return ls__fail(LS_ENOTFOUND, "names of layers: no parameter's "
                            "name begins with \"%s\"; the first is \"%s\"",
                            l->rename[i].ours, l->model->params.slot[0].name);
    for (int i = 0; !l->names && i < l->file.count; i++)
        if (!l->taken[i])
            return ls__fail(LS_ENOTFOUND, "%s: tensor \"%s\" is none of the %d "
                            "parameters' (a pattern of names leaves others "
                            "alone)", l->path, l->file.entry[i].name,
                            l->model->params.count);
    return 0;
}

static int check(load *l)
{
    int matched = 0, status = 0;

    for (int i = 0; i < l->model->params.count && status >= 0; i++) {
        status = match(l, i);
        matched += status > 0;
    }
    if (status < 0)
        return status;
    if (!matched)
        return ls__fail(LS_ENOTFOUND, "%s: the pattern \"%s\" matches no "
                        "parameter; the first is \"%s\"", l->path, l->names,
                        l->model->params.slot[0].name);
    return check_left(l);
}

/* ------ taking ------ */

static int64_t largest(const ls__params *p)
{
    int64_t most = 0;

    for (int i = 0; i < p->count; i++)
        most = p->slot[i].size > most ? p->slot[i].size : most;
    return most;
}

static void add_entry(const ls_entry *e, const ls__slot *s, float *room,
                      float *to)
{
    ls__convert(e, room);
    for (int64_t i = 0; i < s->size; i++)
        to[i] += room[i];
}

/* The norm's part of a slot: of n outputs there is one bias each. */
static void fold(const ls__torch_norm *norm, const ls__slot *s, float *to)
{
    if (!strcmp(last_part(s->name), "bias"))
        ls__torch_norm_bias(norm, to);
    else
        ls__torch_norm_weights(norm, s->size / norm->n, to);
}

static int take(load *l)
{
    const ls__params *p = &l->model->params;
    float *room = ls__new((size_t)largest(p), sizeof *room, "a tensor");
    layout a;

    if (!room)
        return LS_ENOMEM;
    for (int i = 0; i < p->count; i++) {
        float *to = l->model->value + p->slot[i].offset;

        for (int64_t k = 0; l->plain[i] && k < p->slot[i].size; k++)
            to[k] = !strcmp(last_part(p->slot[i].name), "scale");
        if (!l->of[i] && !l->norm[i].n)
            continue;
        memset(room, 0, (size_t)p->slot[i].size * sizeof *room);
        if (l->of[i])
            ls__convert(l->of[i], room);
        if (layout_of(l->model, &p->slot[i], &a))
            arrange(&a, room, to);
        else
            memcpy(to, room, (size_t)p->slot[i].size * sizeof *to);
        if (l->plus[i])
            add_entry(l->plus[i], &p->slot[i], room, to);
        if (l->norm[i].n)
            fold(&l->norm[i], &p->slot[i], to);
    }
    free(room);
    return 0;
}

static int load_file(load *l, const char *layers)
{
    int status = read_renames(l, layers);

    if (status < 0)
        return status;
    l->of = ls__new((size_t)l->model->params.count, sizeof *l->of, "tensors");
    l->plus = ls__new((size_t)l->model->params.count, sizeof *l->plus,
                      "tensors");
    l->plain = ls__new((size_t)l->model->params.count, sizeof *l->plain,
                       "tensors");
    l->taken = ls__new((size_t)l->file.count + 1, sizeof *l->taken, "tensors");
    l->norm = ls__new((size_t)l->model->params.count, sizeof *l->norm, "norms");
    if (!l->of || !l->plus || !l->plain || !l->taken || !l->norm)
        return LS_ENOMEM;
    status = check(l);
    return status < 0 ? status : take(l);
}

int ls__torch_load(ls__model *m, const char *path, const char *names,
                   const char *layers)
{
    load l = {.model = m, .path = path, .names = names};
    int status;

    if (!m->graph)
        return ls__fail(LS_ENOTSUP, "%s: a gradient function of your own has "
                        "no layers whose layout PyTorch knows", path);
    if ((status = ls__safetensors_read(&l.file, path)) < 0)
        return status;
    status = load_file(&l, layers);
    for (int i = 0; l.norm && i < m->params.count; i++)
        free(l.norm[i].values);
    free(l.norm);
    free(l.copy);
    free(l.of);
    free(l.plus);
    free(l.plain);
    free(l.taken);
    ls__safetensors_free(&l.file);
    return status;
}
