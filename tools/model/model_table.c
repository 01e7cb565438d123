/* SPDX-License-Identifier: BSD-3-Clause */
/* table: RealMLP (Holzmueller, Grinsztajn, Steinwart, "Better by Default:
 * Strong Pre-Tuned MLPs and Boosted Trees on Tabular Data", NeurIPS 2024), with
 * its defaults: TD, and TD-S, which has less.  What the paper leaves open is as
 * the authors' program has it.
 *
 * A layer of the paper is x W / sqrt(inputs) + b.  Here it is x K + b with K =
 * W / sqrt(inputs) and the rate of K by the same factor, which is the same
 * training but for Adam's eps: so model files hold ordinary dense layers. */
#include "model/model_table.h"
#include "model/model_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Columns of so many words are a 1 among zeros, those of more embedded. */
enum { MOST_CODED = 8, EMBEDDED = 8, WAVES = 16, OF_WAVES = 3 };

const opt_word model_recipes[] = {
    {"td", MODEL_TD}, {"td-s", MODEL_TD_S}, {NULL, 0}};

bool table_is_coded(const model_settings *s, const ls_column *c)
{
    return c->words && (s->recipe == MODEL_TD_S || c->words <= MOST_CODED);
}

/* What becomes of the columns: how many numbers, coded values and embedded
 * columns there are, and how wide all is before the first layer. */
typedef struct sizes {
    int64_t numbers, codes, embedded, front;
} sizes;

static sizes sizes_of(const model_settings *s)
{
    sizes n = {0};
    ls_column c;

    for (int i = 0; ls_coding_column(s->coding, i, &c); i++) {
        n.numbers += !c.words;
        n.codes += table_is_coded(s, &c) ? table_codes(&c) : 0;
        n.embedded += c.words && !table_is_coded(s, &c);
    }
    n.front = n.numbers * (s->periodic > 0 ? 1 + OF_WAVES : 1) + n.codes +
              n.embedded * EMBEDDED;
    return n;
}

/* ------ The columns ------ */

typedef struct list {
    ls_node **node;
    int count;
} list;

/* Put them side by side, half by half, so that no value is copied often. */
static ls_node *join(ls_node *const *node, int count)
{
    ls_node *half[2];

    if (count <= 1)
        return count ? *node : NULL;
    half[0] = join(node, count / 2);
    half[1] = join(node + count / 2, count - count / 2);
    return ls_concat(half, 2, -1);
}

/* x / sqrt(1 + (x/3)^2) */
static ls_node *smooth_clip(ls_node *x)
{
    return ls_div(x, ls_sqrt(ls_scale_shift(ls_square(x), 1.0 / 9, 1)));
}

/* Columns of numbers that stand beside each other are one slice. */
static ls_node *numbers(ls_node *x, const model_settings *s, list *l)
{
    int64_t first = 0, end = 0;
    ls_column c;

    l->count = 0;
    for (int i = 0; ls_coding_column(s->coding, i, &c); i++) {
        if (c.words)
            continue;
        if (end == c.at && end > first) {
            end++;
            continue;
        }
        if (end > first)
            l->node[l->count++] = ls_slice(x, -1, first, end - first);
        first = c.at;
        end = first + 1;
    }
    if (end > first)
        l->node[l->count++] = ls_slice(x, -1, first, end - first);
    return l->count ? smooth_clip(join(l->node, l->count)) : NULL;
}

/* Coded words: two of them are 1 and -1 in one place, more a 1 among zeros, and
 * then centred, scaled and clipped as numbers are, which is a line.
 * "codes.scale" and "codes.shift" are its frozen parameters. */
static ls_node *codes(ls_graph *g, ls_node *x, const model_settings *s, list *l,
                      int64_t width)
{
    ls_column c;

    l->count = 0;
    for (int i = 0; ls_coding_column(s->coding, i, &c); i++) {
        if (!table_is_coded(s, &c))
            continue;
        l->node[l->count++] =
            c.words == 2 ? ls_sub(ls_slice(x, -1, c.at, 1),
                                  ls_slice(x, -1, c.at + 1, 1))
                         : ls_slice(x, -1, c.at, c.words);
    }
    if (!l->count)
        return NULL;
    x = ls_mul(join(l->node, l->count),
               ls_parameter(g, "codes.scale", 1, &width));
    return ls_add(x, ls_parameter(g, "codes.shift", 1, &width));
}

static void start_as(ls_graph *g, const char *names, ls_init init)
{
    ls_init_params(g, names, &init);
}

/* Draw between -most and most; fan is what a variance would be divided by. */
static void start_uniform(ls_graph *g, const char *name, double most,
                          int64_t fan)
{
    start_as(g, name, ls_init_variance(LS_UNIFORM, LS_FAN_IN,
                                       most * most / 3 * (double)fan));
}

/* PBLD: of each number x itself and three linear functions of sixteen
 * cos(2 pi w x + b). */
static ls_node *periodic(ls_graph *g, ls_node *x, double sigma, int64_t n)
{
    const double pi = 0x1.921fb54442d18p+1;
    const int64_t waves[] = {n, WAVES}, row[] = {n, 1, WAVES};
    const int64_t kernel[] = {n, WAVES, OF_WAVES}, out[] = {n, OF_WAVES};
    ls_node *own = ls_reshape(x, 2, (int64_t[]){n, 1}), *y, *both[2];

    y = ls_mul(ls_broadcast_to(own, 2, waves),
               ls_parameter(g, "periodic.weight", 2, waves));
    y = ls_add(ls_scale_shift(y, 2 * pi, 0),
               ls_parameter(g, "periodic.phase", 2, waves));
    y = ls_matmul(ls_reshape(ls_cos(y), 3, row),
                  ls_parameter(g, "periodic.kernel", 3, kernel));
    y = ls_add(ls_reshape(y, 2, out),
               ls_parameter(g, "periodic.bias", 2, out));
    start_as(g, "periodic.weight", ls_init_random(LS_NORMAL, sigma));
    start_uniform(g, "periodic.phase", pi, n);
    start_uniform(g, "periodic.kernel", 0.25, n * WAVES);
    start_uniform(g, "periodic.bias", 0.25, n);
    both[0] = y;
    both[1] = own;
    return ls_reshape(ls_concat(both, 2, -1), 1,
                      (int64_t[]){n * (1 + OF_WAVES)});
}

static void embedded(ls_node *x, const model_settings *s, list *l)
{
    char name[32];
    ls_column c;
    int n = 0;

    for (int i = 0; ls_coding_column(s->coding, i, &c); i++)
        if (c.words && !table_is_coded(s, &c)) {
            snprintf(name, sizeof name, "embed.%d", n++);
            l->node[l->count++] =
                model_product(ls_slice(x, -1, c.at, c.words), EMBEDDED, name);
        }
}

/* All columns, each place times a scale that is learnt. */
static ls_node *front(ls_graph *g, ls_node *x, const model_settings *s, list *l)
{
    sizes n = sizes_of(s);
    ls_node *number = numbers(x, s, l);
    ls_node *code = codes(g, x, s, l, n.codes);

    l->count = 0;
    if (number)
        l->node[l->count++] = s->periodic > 0
                                  ? periodic(g, number, s->periodic, n.numbers)
                                  : number;
    if (code)
        l->node[l->count++] = code;
    embedded(x, s, l);
    x = join(l->node, l->count);
    x = ls_mul(x, ls_parameter(g, "scale", 1, &n.front));
    start_as(g, "scale", ls_init_constant(1));
    if (n.embedded)
        start_as(g, "embed.*", ls_init_random(LS_NORMAL, 1));
    return x;
}

/* ------ The layers ------ */

/* f(x), or x + (f(x) - x) a with a learnt for each unit, from 1 on. */
static ls_node *activate(ls_graph *g, ls_node *x, const model_settings *s,
                         int64_t width, int i)
{
    ls_node *y = model_activate(x, s->activation);
    char name[32];

    if (s->recipe == MODEL_TD_S)
        return y;
    snprintf(name, sizeof name, "act.%d", i);
    y = ls_add(x, ls_mul(ls_sub(y, x), ls_parameter(g, name, 1, &width)));
    start_as(g, name, ls_init_constant(1));
    return y;
}

static ls_node *layer(ls_graph *g, ls_node *x, int64_t width, int i, bool probe)
{
    char name[32];

    snprintf(name, sizeof name, "layers.%d", i);
    x = ls_dense(x, width, name);
    if (probe)
        ls_output(g, x, name);
    return x;
}

static void loss(ls_graph *g, ls_node *x, const model_settings *s)
{
    if (s->regression)
        ls_loss(g, ls_mean_squared_error(
                       x, ls_input(g, "y", LS_F32, 1, &s->d_out)));
    else
        ls_loss(g, ls_mean_loss(
                       ls_label_terms(x, ls_input(g, "y", LS_I32, 0, NULL),
                                      s->smoothing), NULL));
}

/* TD's layers are set by table_start; TD-S begins with a last layer of
 * zeros. */
static void start_layers(ls_graph *g, const model_settings *s, int last)
{
    char name[32];

    start_as(g, "layers.*.kernel",
             ls_init_variance(LS_NORMAL, LS_FAN_IN, 1));
    if (s->recipe == MODEL_TD)
        return;
    start_as(g, "layers.*.bias", ls_init_random(LS_NORMAL, 1));
    snprintf(name, sizeof name, "layers.%d.*", last);
    start_as(g, name, ls_init_constant(0));
}

void table_net(ls_graph *g, const model_settings *s, bool probe)
{
    int64_t widths[MODEL_LAYERS];
    ls_node *x = ls_input(g, "x", LS_F32, 1, &s->d_in);
    list l = {.node = calloc((size_t)s->d_in + 3, sizeof *l.node)};
    int n;

    if (!l.node)
        return; /* a graph without a loss says so */
    model_widths("hidden", s->hidden, widths, &n);
    x = front(g, model_rounded(x, s), s, &l);
    for (int i = 0; i < n; i++) {
        x = activate(g, layer(g, x, widths[i], i, probe), s, widths[i], i);
        x = model_drop(x, s->dropout, "dropout");
    }
    x = layer(g, x, s->regression ? s->d_out : s->classes, n, probe);
    start_layers(g, s, n);
    loss(g, x, s);
    if (!probe && s->regression && s->recipe == MODEL_TD)
        ls_output(g, ls_clamp(x, s->low, s->high), "prediction");
    else if (!probe)
        ls_output(g, x, s->regression ? "prediction" : "logits");
    free(l.node);
}

static void table_build(ls_graph *g, const model_settings *s)
{
    table_net(g, s, false);
}

/* ------ How they are trained ------ */

/* The authors' program multiplies weight decay by a parameter's factor of the
 * rate twice, so that the decay of a group is its rate here. */
static ls_group group_of(const char *names, double rate, double decay)
{
    ls_group g = ls_group_of(names);

    g.rate = rate;
    g.decay = decay;
    return g;
}

static int table_groups(const model_settings *s, ls_group group[MODEL_GROUPS],
                        char room[MODEL_GROUPS][MODEL_NAME])
{
    int64_t widths[MODEL_LAYERS], inputs;
    sizes columns = sizes_of(s);
    int n, count = 0;

    model_widths("hidden", s->hidden, widths, &n);
    inputs = columns.front;
    group[count++] = group_of("layers.*.bias", 0.1, 0);
    group[count++] = group_of("scale", 6, 6);
    if (columns.codes)
        group[count++] = ls_group_frozen("codes.*");
    if (s->recipe == MODEL_TD && n > 0)
        group[count++] = group_of("act.*", 0.1, 0.1);
    if (columns.numbers && s->periodic > 0)
        group[count++] = group_of("periodic.*", 0.1, 0.1);
    for (int i = 0; i <= n; i++) {
        double root = sqrt((double)inputs);

        snprintf(room[i], MODEL_NAME, "layers.%d.kernel", i);
        group[count++] = group_of(room[i], 1 / root, root);
        inputs = i < n ? widths[i] : 0;
    }
    if (s->recipe == MODEL_TD_S)
        group[count++] = group_of("*", 1, 0);
    return count;
}

static double table_lr(const model_settings *s)
{
    if (!s->regression)
        return 0.04;
    return s->recipe == MODEL_TD ? 0.2 : 0.07;
}

/* ------ The rows ------ */

/* The least and the greatest target that is trained on.  (gcc 12 for arm64
 * fails on a loop of fmin and fmax.) */
static void find_range(const data *d, model_settings *s)
{
    const float *y = d->input[1].all.data, *low = y, *high = y;

    for (int64_t i = 1; i < d->rows; i++) {
        low = y[i] < *low ? y + i : low;
        high = y[i] > *high ? y + i : high;
    }
    s->low = (double)*low;
    s->high = (double)*high;
}

static int table_load(data *d, settings *s, const opt_line *line)
{
    model_settings *m = &s->model;
    int64_t widths[MODEL_LAYERS];
    int n, status = model_widths("hidden", m->hidden, widths, &n);

    if (status == OPT_GO && !s->data.path)
        status = opt_fail(OPT_WRONG, "table needs --data FILE.csv");
    if (status != OPT_GO)
        return status;
    if (s->data.eval_path && !opt_given(line, "valid"))
        s->data.valid = 0;
    s->data.shuffle = !s->data.no_shuffle;
    if ((status = model_table_rows(d, s, line)) != OPT_GO)
        return status;
    if (!s->data.target)
        s->data.target = data_target(d).name;
    if (!opt_given(line, "activation"))
        m->activation = m->regression ? MODEL_MISH : MODEL_SELU;
    if (m->recipe == MODEL_TD_S && !opt_given(line, "dropout"))
        m->dropout = 0;
    if (m->recipe == MODEL_TD_S && !opt_given(line, "periodic"))
        m->periodic = 0;
    if (m->regression)
        find_range(d, m);
    return OPT_GO;
}

static const model table = {
    .keys = LS_KEYS_NNX,
    .epochs = true,
    .last_best = true,
    .load = table_load,
    .build = table_build,
    .groups = table_groups,
    .lr = table_lr,
    .start = table_start,
};

static const opt_start own[] = {
    {"hidden", "256,256,256"}, {"activation", "selu"}, {"dropout", "0.15"},
    {"batch", "256"}, {"epochs", "256"}, {"valid", "0.2"},
    {"optimizer", "adamw"}, {"lr", "0.04"}, {"b2", "0.95"},
    {"weight-decay", "0.02"}, {"schedule", "coslog"},
    {"decay-schedule", "flat-cosine"}, {"dropout-schedule", "flat-cosine"},
    {"early-stop", "1000000"}, {"log-every", "0"}, {NULL, NULL},
};

const opt_model model_table = {
    .name = "table",
    .about = "RealMLP on a table: strong defaults for rows of numbers and "
             "words",
    .note = "--data F.csv is all it needs: the last column is predicted "
            "(--target names\nanother), a fifth of the rows is held back, and "
            "the weights of the epoch that\nwas best on them are saved.  "
            "--recipe td-s is the smaller one of the paper.\nlr is that of "
            "the task: 0.04 for classes, 0.2 for numbers (td-s 0.07).",
    .impl = &table,
    .own = own,
};
