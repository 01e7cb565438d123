/* SPDX-License-Identifier: BSD-3-Clause */
/* See evidence_rules.h: which function answers for an operator, and what they
 * all use.  What is not here is said by name. */
#include "record/evidence_rules.h"
#include <lockstep/record.h>

#include <stdlib.h>
#include <string.h>

int ls__asked_unknown(const char *what)
{
    return ls__fail(LS_ENOTSUP, "the referee does not know \"%s\" yet, or not "
                    "in this form: its element is known, and not judged",
                    what);
}

bool ls__asked_what(const ls__asked *q, const char *what)
{
    return strcmp(q->e->of->place.what, what) == 0;
}

bool ls__asked_y(const ls__asked *q)
{
    return ls__asked_what(q, "y");
}

bool ls__asked_dx(const ls__asked *q, int k)
{
    return q->dy && ls__asked_what(q, "dx") && q->e->of->place.index == k;
}

bool ls__asked_dparam(const ls__asked *q, int k)
{
    return q->dy && ls__asked_what(q, "dparam") && q->e->of->place.index == k;
}

const uint32_t *ls__asked_x(const ls__asked *q, int k)
{
    return ls__evidence_value(q->e, ls__evidence_input(q->n, k));
}

const uint32_t *ls__asked_shown(const ls__asked *q, const char *phase,
                                const char *what, int64_t n)
{
    const ls__kept *k =
        ls__evidence_array(q->e, phase, what, q->n->node, 0);

    return k && k->n == n ? k->x : NULL;
}

const uint32_t *ls__asked_param(const ls__asked *q, int k, int64_t floats)
{
    const ls__said *s = ls__evidence_param(q->e, q->n, k);
    const ls__kept *all = ls__evidence_whole(q->e, "before", "parameters");

    return s && all && s->floats == floats && s->at <= all->n - floats
               ? all->x + s->at : NULL;
}

int64_t ls__asked_of(const ls__asked *q, const char *name, int64_t usual)
{
    const char *text = ls__evidence_of(q->n, name);
    int64_t n = text ? strtoll(text, NULL, 10) : usual;

    return n < -LS__ATTRIBUTE || n > LS__ATTRIBUTE ? usual : n;
}

uint32_t ls__asked_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

uint32_t ls__asked_real(const ls__asked *q, const char *name)
{
    const char *text = ls__evidence_of(q->n, name);

    return ls__asked_bits(text ? (float)strtod(text, NULL) : 0);
}

/* ------ what rules begin and end with ------ */

void ls__asked_rule(const ls__asked *q, const char *rule)
{
    ls__evidence_rule(q->e, rule, q->a, q->b);
}

bool ls__asked_is_bf16(const ls__asked *q)
{
    const char *precision = ls__evidence_option(q->e, "precision");

    return precision && strcmp(precision, "bf16") == 0;
}

void ls__asked_product(const ls__asked *q)
{
    const char *precision = ls__evidence_option(q->e, "precision");
    char rule[32];

    snprintf(rule, sizeof rule, "product%s%.15s",
             !precision || !strcmp(precision, "f32") ? "" : ".",
             !precision || !strcmp(precision, "f32") ? "" : precision);
    ls__asked_rule(q, rule);
}

void ls__asked_round(const ls__asked *q)
{
    if (ls__asked_is_bf16(q))
        ls__evidence_word(q->e, "round", 1);
}

void ls__asked_before(const ls__asked *q)
{
    const ls__where *w = &q->e->of->place;
    const ls__kept *c =
        ls__evidence_before(q->e, q->e->of, w->micro, w->name);

    if (c)
        ls__evidence_number(q->e, "c", &c->x[q->at]);
}

void ls__asked_addend(const ls__asked *q)
{
    int64_t input = ls__evidence_input(q->n, (int)q->e->of->place.index);
    const uint32_t *addend =
        ls__evidence_gradient(q->e, input, q->n->node);

    if (addend)
        ls__evidence_number(q->e, "add", &addend[q->at]);
}

int ls__asked_column(const ls__asked *q, const uint32_t *d)
{
    ls__asked_rule(q, "column");
    ls__asked_before(q);
    ls__evidence_list(q->e, "a", q->vectors, d + q->at, q->width);
    return 0;
}

int ls__asked_move(const ls__asked *q, const uint32_t *x)
{
    ls__asked_rule(q, "move");
    ls__evidence_number(q->e, "x", x);
    return 0;
}

/* ------ who answers ------ */

static const struct {
    const char *op;
    ls__answer *answer;
} answers[] = {
    {"dense", ls__evidence_dense}, {"matmul", ls__evidence_matmul},
    {"conv2d", ls__evidence_conv}, {"max_pool", ls__evidence_pool},
    {"avg_pool", ls__evidence_pool}, {"layer_norm", ls__evidence_layer_norm},
    {"rms_norm", ls__evidence_rms_norm},
    {"group_norm", ls__evidence_group_norm},
    {"batch_norm", ls__evidence_batch_norm},
    {"dropout", ls__evidence_dropout}, {"round_bf16", ls__evidence_round},
    {"softmax", ls__evidence_softmax},
    {"log_softmax", ls__evidence_softmax}, {"sum", ls__evidence_reduced},
    {"max_over", ls__evidence_reduced}, {"cross entropy", ls__evidence_loss},
    {"next token", ls__evidence_loss}, {"squared error", ls__evidence_loss},
    {"mean_loss", ls__evidence_mean_loss},
    {"weighted_mean_loss", ls__evidence_mean_loss},
    {"parameter", ls__evidence_parameter}, {"embed", ls__evidence_embed},
    {"position", ls__evidence_position},
    {"gather", ls__evidence_gather}, {"one_hot", ls__evidence_one_hot},
    {"flatten", ls__evidence_flat}, {"reshape", ls__evidence_flat},
    {"transpose", ls__evidence_view}, {"slice", ls__evidence_view},
    {"broadcast", ls__evidence_view}, {"concat", ls__evidence_concat},
    {"reverse", ls__evidence_reverse},
    {"reverse_lengths", ls__evidence_reverse},
    {"sparse_dense", ls__evidence_bag},
    {"sparse_dense_values", ls__evidence_bag},
    {"embed_bag", ls__evidence_bag}, {"attention", ls__evidence_attention},
    {"rotary", ls__evidence_rotary}, {"lstm", ls__evidence_steps},
    {"lstm_from", ls__evidence_steps}, {"lstm_lengths", ls__evidence_steps},
    {"lstm_from_lengths", ls__evidence_steps}, {"gru", ls__evidence_steps},
    {"gru_from", ls__evidence_steps}, {"gru_lengths", ls__evidence_steps},
    {"gru_from_lengths", ls__evidence_steps}};

/* NULL: it is elementwise, or nobody's. */
static ls__answer *find_answer(const char *op)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (strcmp(answers[i].op, op) == 0)
            return answers[i].answer;
    return NULL;
}

/* What referee/referee.c has rules for beside those. */
static const char *const terms[] = {
    "gelu", "relu", "tanh", "sigmoid", "add", "sub", "mul", "div", "min",
    "max", "scale", "square", "sqrt", "exp", "log", "abs", "clamp",
    "leaky_relu", "elu", "softplus", "silu", "pow", "binary_entropy",
    "divergence", "sin", "cos", "selu", "mish", "gelu_exact", "input", NULL};
static const char *const updates[] = {
    "sgd", "momentum", "nesterov", "adam", "adamw", "rmsprop", "adagrad",
    "lion", "amsgrad", NULL};
static const char *const schedules[] = {
    "constant", "linear", "cosine", "exponential", "piecewise", "polynomial",
    "cosine-restarts", "one-cycle", "linear-one-cycle", "warm-restarts",
    "coslog", "flat-cosine", NULL};

static bool is_in(const char *const *list, const char *name)
{
    while (*list && strcmp(*list, name))
        list++;
    return *list != NULL;
}

bool ls_record_judges(const char *kind, const char *name)
{
    LS__NEED_AS(kind, "kind", false);
    LS__NEED_AS(name, "name", false);

    if (strcmp(kind, "operator") == 0)
        return find_answer(name) || is_in(terms, name);
    if (strcmp(kind, "update") == 0)
        return is_in(updates, name);
    return strcmp(kind, "schedule") == 0 && is_in(schedules, name);
}

static ls__answer *answer_of(const char *op)
{
    ls__answer *answer = find_answer(op);

    return answer ? answer : ls__evidence_term;
}

/* Is the element's array as large as what it is of?  What a node keeps or shows
 * of itself is its rule's to know. */
static bool has_its_size(const ls__asked *q)
{
    const ls__kept *of = q->e->of;
    int k = (int)of->place.index;
    const ls__said *s;

    if (of->n > LS__ATTRIBUTE)
        return false;
    if (ls__asked_what(q, "y"))
        return ls__evidence_has(of, q->rows, q->size);
    if (ls__asked_what(q, "dx")) {
        s = ls__evidence_node(q->e, ls__evidence_input(q->n, k));
        return s && ls__evidence_has(of, q->rows, ls__evidence_size(s->shape));
    }
    if (!ls__asked_what(q, "dparam"))
        return true;
    s = ls__evidence_param(q->e, q->n, k);
    return s && of->n == s->floats;
}

static bool is_bounded(int64_t rows, int64_t size)
{
    return size <= LS__ATTRIBUTE && rows <= LS__ATTRIBUTE / size;
}

/* False: its shapes are none that the evidence could be of. */
static bool fill(ls__asked *q, ls__evidence *e)
{
    q->n = ls__evidence_node(e, e->of->place.node);
    q->from = q->n && ls__evidence_input(q->n, 0) >= 0
                  ? ls__evidence_node(e, ls__evidence_input(q->n, 0)) : q->n;
    if (!q->from || !(q->in = ls__evidence_width(q->from->shape)) ||
        !(q->width = ls__evidence_width(q->n->shape)) ||
        !(q->size = ls__evidence_size(q->n->shape)) ||
        !(q->in_size = ls__evidence_size(q->from->shape)))
        return false;
    q->at = e->element;
    q->rows = e->of->place.rows;
    if (!has_its_size(q) || !is_bounded(q->rows, q->size) ||
        !is_bounded(q->rows, q->in_size))
        return false;
    q->vectors = q->rows * (q->size / q->width);
    q->y = ls__evidence_value(e, q->n->node);
    q->x = q->from == q->n ? NULL : ls__evidence_value(e, q->from->node);
    q->dy = ls__evidence_gradient(e, q->n->node, q->n->node);
    return true;
}

int ls__evidence_make(ls__evidence *e, uint32_t a, uint32_t b)
{
    ls__asked q = {.e = e, .a = a, .b = b};
    const char *maker =
        json_string_value(json_object_get(e->head, "maker"));

    if (!e->of->place.op || !*e->of->place.op)
        return ls__evidence_shared(e, a, b);
    if (!maker || strcmp(maker, "any"))
        return ls__asked_unknown("products whose bits are their maker's own");
    if (!fill(&q, e) || (!q.x && q.from != q.n && q.rows))
        return ls__asked_unknown(e->of->place.op);
    return answer_of(q.n->op)(&q);
}
