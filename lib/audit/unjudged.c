/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of a training that the referee does not judge, told before it is asked:
 * operators, rules and first values, each by its name. */
#include "base/error.h"
#include "audit/record_start.h"
#include "state/trainer_state.h"
#include <lockstep/record.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A kind of first values (record_start.h), and the most numbers of such a
 * matrix that the referee makes. */
enum { ORTHOGONAL = 5, MATRIX = 1 << 20 };

/* Operators that tools/referee has functions for: `referee --rules` prints its
 * own list. */
static const char *const operators[] = {
    "dense", "matmul", "conv2d", "max_pool", "avg_pool", "layer_norm",
    "rms_norm", "group_norm", "batch_norm", "dropout", "round_bf16", "softmax",
    "log_softmax", "sum", "max_over", "cross entropy", "next token",
    "squared error", "mean_loss", "weighted_mean_loss", "parameter", "embed",
    "position", "gather", "one_hot", "flatten", "reshape", "transpose", "slice",
    "broadcast", "concat", "reverse", "reverse_lengths", "sparse_dense",
    "sparse_dense_values", "embed_bag", "attention", "rotary", "lstm",
    "lstm_from", "lstm_lengths", "lstm_from_lengths", "gru", "gru_from",
    "gru_lengths", "gru_from_lengths", "gelu", "relu", "tanh", "sigmoid", "add",
    "sub", "mul", "div", "min", "max", "scale", "square", "sqrt", "exp", "log",
    "abs", "clamp", "leaky_relu", "elu", "softplus", "silu", "pow",
    "binary_entropy", "divergence", "sin", "cos", "selu", "mish", "gelu_exact",
    "hard_swish", "input", NULL};
static const char *const updates[] = {
    "sgd", "momentum", "nesterov", "adam", "adamw", "rmsprop", "adagrad",
    "lion", "amsgrad", "nadam", NULL};
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
        return is_in(operators, name);
    if (strcmp(kind, "update") == 0)
        return is_in(updates, name);
    return strcmp(kind, "schedule") == 0 && is_in(schedules, name);
}

/* One after the other is counted, and the one that is asked for written. */
typedef struct asking {
    const ls_trainer *trainer;
    ls__state is;
    int left; /* others before it; below 0: it is there */
    char *text;
} asking;

__attribute__((format(printf, 2, 3)))
static void name(asking *q, const char *format, ...)
{
    va_list args;

    if (q->left-- != 0)
        return;
    va_start(args, format);
    vsnprintf(q->text, LS_RECORD_TEXT, format, args);
    va_end(args);
}

static void name_operators(asking *q)
{
    const ls_graph *g = q->is.graph;

    if (!g)
        name(q, "a gradient function of the program's own");
    for (int i = 0; g && i < ls_graph_nodes(g); i++) {
        const ls_node *n = ls_graph_node(g, i);

        if (!ls_record_judges("operator", ls_node_op(n)))
            name(q, "operator \"%.100s\" (node %d \"%.200s\")", ls_node_op(n),
                 i, ls_node_name(n));
    }
}

static void name_rule(asking *q, const char *kind, const char *rule,
                      const char *of)
{
    if (!ls_record_judges(kind, rule))
        name(q, "%s \"%.100s\"%s", kind, rule, of);
}

static void name_rules(asking *q)
{
    const ls_trainer_options *o = q->is.options;

    name_rule(q, "update", ls_optimizer_name(o->optimizer.kind), "");
    name_rule(q, "schedule", ls_schedule_name(o->schedule.kind), "");
    name_rule(q, "schedule", ls_schedule_name(o->decay_schedule.kind),
              " of decay");
    name_rule(q, "schedule", ls_schedule_name(o->dropout_schedule.kind),
              " of dropout");
}

/* A program's own values are nobody else's to make: the first parameter that
 * has such, and how many others. */
static void name_own(asking *q)
{
    const ls__params *p = q->is.layout;
    uint32_t word[LS__START_WORDS];
    const char *first = NULL;
    int own = 0;

    for (int i = 0; i < p->count; i++)
        if (!ls__record_start(q->trainer, i, word) && own++ == 0)
            first = p->slot[i].name;
    if (own == 1)
        name(q, "first values of \"%.200s\", which a function of the program "
             "gives", first);
    else if (own)
        name(q, "first values of \"%.200s\" and %d others, which functions of "
             "the program give", first, own - 1);
}

/* A matrix may be too large for the referee to make within seconds. */
static void name_start(asking *q, int i)
{
    const ls__slot *s = &q->is.layout->slot[i];
    uint32_t word[LS__START_WORDS];

    if (ls__record_start(q->trainer, i, word) && word[0] == ORTHOGONAL &&
        s->size > MATRIX)
        name(q, "first values of \"%.200s\", an orthogonal matrix of %" PRId64
             " numbers", s->name, s->size);
}

static void name_starts(asking *q)
{
    if (q->is.step > 0 || !q->is.graph)
        return;
    if (!ls__record_at_start(q->trainer)) {
        name(q, "first values, which the program set or read");
        return;
    }
    name_own(q);
    for (int i = 0; i < q->is.layout->count; i++)
        name_start(q, i);
}

int ls_record_unjudged(const ls_trainer *t, int i, char text[LS_RECORD_TEXT])
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(text);

    asking q = {.trainer = t, .is = ls__state_of(t), .left = i, .text = text};

    *text = 0;
    if (i < 0)
        return ls__fail(LS_EINVAL, "ls_record_unjudged: number %d", i);
    name_operators(&q);
    name_rules(&q);
    name_starts(&q);
    return q.left < 0;
}
