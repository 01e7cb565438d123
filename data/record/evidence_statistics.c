/* SPDX-License-Identifier: BSD-3-Clause */
/* Evidence of batch norms that go by the rows of a batch.  "statistics" have of
 * each channel, as doubles of two words, forward the sum of weights (once), the
 * means and the sums of w (x - mean)^2 of a device's rows so far, back the sums
 * of dy and of dy xh; "statistics of all" those of all devices. */
#include "record/evidence_rules.h"

#include <stdlib.h>
#include <string.h>

static const char found[] = "statistics", joined[] = "statistics of all";

/* A channel of a norm: how many there are, and which it is. */
typedef struct channel {
    const ls__asked *q;
    int64_t n, j;
} channel;

/* What was found in a device's rows, or in all, the last time before `until`.
 * NULL: nothing was. */
static const ls__kept *last_found(const ls__evidence *e, const char *what,
                                  const char *phase, int64_t node,
                                  int64_t device, int64_t micro,
                                  const ls__kept *until)
{
    for (const ls__kept *k = until; k-- > e->kept;)
        if (strcmp(k->place.what, what) == 0 &&
            strcmp(k->place.phase, phase) == 0 && k->place.node == node &&
            k->place.device == device && k->place.micro == micro)
            return k;
    return NULL;
}

static bool is_of_all(const ls__said *n)
{
    const char *text = ls__evidence_of(n, "statistics");

    return text && strtol(text, NULL, 10) == 2;
}

/* What the rows that count for the element's device were found to have. */
static const ls__kept *of_rows(const ls__asked *q, const char *phase)
{
    const ls__where *w = &q->e->of->place;
    bool all = is_of_all(q->n);

    return last_found(q->e, all ? joined : found, phase, q->n->node,
                      all ? 0 : w->device, w->micro, q->e->of);
}

/* What is known after a block of 256 vectors: so many doubles.  NULL: nothing
 * is. */
typedef struct state {
    const uint32_t *x;
    int64_t doubles;
} state;

/* The last one of an array; none of NULL. */
static state state_of(const ls__kept *k, int64_t doubles)
{
    return (state){k && k->n >= 2 * doubles ? k->x + k->n - 2 * doubles : NULL,
                   doubles};
}

static void take_double(ls__evidence *e, state s, int64_t i)
{
    for (int half = 0; half < 2; half++)
        if (s.x && i < s.doubles)
            ls__evidence_take(e, &s.x[2 * i + half]);
        else
            ls__evidence_say(e, 0);
}

/* Give the weight, the mean and the square of a channel, of rows that are none
 * zeros. */
static void take_moments(ls__evidence *e, state s, int64_t n, int64_t j)
{
    take_double(e, s, 0);
    take_double(e, s, 1 + j);
    take_double(e, s, 1 + n + j);
}

static void give_moments(const channel *c, const char *name, state s)
{
    ls__evidence_begin(c->q->e, name);
    take_moments(c->q->e, s, c->n, c->j);
    ls__evidence_end(c->q->e);
}

static void give_double(const channel *c, const char *name, state s, int64_t i)
{
    ls__evidence_begin(c->q->e, name);
    take_double(c->q->e, s, i);
    ls__evidence_end(c->q->e);
}

enum { BLOCK = 256 };

/* How many vectors are in a block: the last one may have fewer. */
static int64_t vectors_in(const ls__asked *q, int64_t block)
{
    int64_t left = q->vectors - block * BLOCK;

    return left < BLOCK ? left : BLOCK;
}

/* Give the channel's column in a block of an array like the value. */
static void give_column(const channel *c, const char *name, const uint32_t *x,
                        int64_t block)
{
    ls__evidence_list(c->q->e, name, vectors_in(c->q, block),
                      x + block * BLOCK * c->n + c->j, c->n);
}

/* Give the weights of a block's vectors, where rows have some. */
static void give_weights(const channel *c, int64_t block)
{
    const ls__kept *w = ls__evidence_rows(c->q->e, "weights of rows");
    int64_t first = c->q->e->of->place.first;
    int64_t each = c->q->rows ? c->q->vectors / c->q->rows : 1;

    if (!w || first + c->q->rows > w->n)
        return;
    ls__evidence_begin(c->q->e, "w");
    for (int64_t i = 0; i < vectors_in(c->q, block); i++)
        ls__evidence_take(c->q->e, &w->x[first + (block * BLOCK + i) / each]);
    ls__evidence_end(c->q->e);
}

static void give_epsilon(const channel *c)
{
    ls__evidence_word(c->q->e, "eps", ls__asked_real(c->q, "epsilon"));
}

/* ------ what a survey finds ------ */

/* Which number of the channel a word is: the first double stands before those
 * of the channels. */
static channel channel_of(const ls__asked *q, int64_t before, uint32_t *at)
{
    channel c = {.q = q, .n = q->width};
    int64_t i = q->at / 2 % (before + 2 * c.n) - before;

    c.j = i < 0 ? 0 : i % c.n;
    *at = (uint32_t)(2 * (i < 0 ? 0 : before + i / c.n) + q->at % 2);
    return c;
}

/* Find what was found before the word's block, in the chunk or in the one
 * before. */
static state so_far(const ls__asked *q, int64_t doubles, int64_t *block)
{
    const ls__where *w = &q->e->of->place;

    *block = q->at / (2 * doubles);
    if (*block)
        return (state){q->e->of->x + (*block - 1) * 2 * doubles, doubles};
    return state_of(last_found(q->e, found, w->phase, q->n->node, w->device,
                               w->micro, q->e->of), doubles);
}

static int moments(const ls__asked *q)
{
    uint32_t at;
    channel c = channel_of(q, 1, &at);
    int64_t block;
    state before = so_far(q, 1 + 2 * c.n, &block);

    if (block * BLOCK >= q->vectors)
        return ls__asked_unknown("batch_norm");
    ls__asked_rule(q, "batch_norm.moments");
    give_column(&c, "x", q->x, block);
    give_weights(&c, block);
    if (before.x)
        give_moments(&c, "c", before);
    ls__evidence_word(q->e, "at", at);
    return 0;
}

static int sums(const ls__asked *q)
{
    const ls__kept *all = of_rows(q, "forward");
    uint32_t at;
    channel c = channel_of(q, 0, &at);
    int64_t block;
    state before = so_far(q, 2 * c.n, &block);

    if (!q->dy || !all || block * BLOCK >= q->vectors)
        return ls__asked_unknown("batch_norm");
    ls__asked_rule(q, "batch_norm.sums");
    give_column(&c, "x", q->x, block);
    give_column(&c, "dy", q->dy, block);
    give_weights(&c, block);
    give_moments(&c, "all", state_of(all, 1 + 2 * c.n));
    give_epsilon(&c);
    if (before.x)
        give_double(&c, "c", before, q->at / 2 % (2 * c.n));
    ls__evidence_word(q->e, "at", at);
    return 0;
}

/* Join what each device found. */
static int together(const ls__asked *q)
{
    bool back = strcmp(q->e->of->place.phase, "backward") == 0;
    int64_t devices =
        json_integer_value(json_object_get(q->e->head, "devices"));
    uint32_t at;
    channel c = channel_of(q, !back, &at);

    ls__asked_rule(q, back ? "batch_norm.join.back" : "batch_norm.join");
    ls__evidence_begin(q->e, "of");
    for (int64_t d = 0; d < devices && q->e->status == 0; d++) {
        state s = state_of(
            last_found(q->e, found, q->e->of->place.phase, q->n->node, d,
                       q->e->of->place.micro, q->e->of), !back + 2 * c.n);

        if (back)
            take_double(q->e, s, q->at / 2);
        else
            take_moments(q->e, s, c.n, c.j);
    }
    ls__evidence_end(q->e);
    ls__evidence_word(q->e, "at", back ? at % 2 : at);
    return 0;
}

/* ------ what goes by it ------ */

static int value(const channel *c, state all)
{
    const ls__asked *q = c->q;
    const uint32_t *scale = ls__asked_param(q, 0, c->n);
    const uint32_t *bias = ls__asked_param(q, 1, c->n);

    if (!scale || !bias)
        return ls__asked_unknown("batch_norm");
    ls__asked_rule(q, "batch_norm");
    ls__evidence_number(q->e, "x", &q->x[q->at]);
    give_moments(c, "all", all);
    ls__evidence_number(q->e, "scale", &scale[c->j]);
    ls__evidence_number(q->e, "bias", &bias[c->j]);
    give_epsilon(c);
    return 0;
}

static int gradient(const channel *c, state all)
{
    const ls__asked *q = c->q;
    const uint32_t *scale = ls__asked_param(q, 0, c->n);
    const ls__kept *w = ls__evidence_rows(q->e, "weights of rows");
    state back = state_of(of_rows(q, "backward"), 2 * c->n);
    int64_t row = q->e->of->place.first + q->at / q->size;

    if (!scale || !back.x || (w && row >= w->n))
        return ls__asked_unknown("batch_norm");
    ls__asked_rule(q, "batch_norm.back");
    ls__evidence_number(q->e, "x", &q->x[q->at]);
    ls__evidence_number(q->e, "dy", &q->dy[q->at]);
    if (w)
        ls__evidence_number(q->e, "w", &w->x[row]);
    give_moments(c, "all", all);
    ls__evidence_number(q->e, "scale", &scale[c->j]);
    give_epsilon(c);
    ls__evidence_begin(q->e, "sums");
    take_double(q->e, back, c->j);
    take_double(q->e, back, c->n + c->j);
    ls__evidence_end(q->e);
    ls__asked_addend(q);
    return 0;
}

/* Scale and bias get what the device found with its first chunk, and keep it
 * through the others. */
static int parameter(const channel *c)
{
    const ls__asked *q = c->q;
    const ls__where *w = &q->e->of->place;
    const ls__kept *was = ls__evidence_before(q->e, q->e->of, w->micro,
                                              w->name);
    state sum = state_of(last_found(q->e, found, "backward", q->n->node,
                                    w->device, w->micro, q->e->of), 2 * c->n);

    if (w->first > 0 && was)
        return ls__asked_move(q, &was->x[q->at]);
    if (!sum.x || w->index > 1)
        return ls__asked_unknown("batch_norm");
    ls__asked_rule(q, "batch_norm.given");
    ls__asked_before(q);
    give_double(c, "sum", sum, (w->index == 0) * c->n + c->j);
    return 0;
}

bool ls__evidence_by_rows(const ls__asked *q, int *status)
{
    channel c = {q, q->width, q->at % q->width};
    state all;

    *status = 0;
    if (!ls__asked_of(q, found, 0))
        return false;
    if (ls__asked_what(q, joined))
        *status = together(q);
    else if (ls__asked_what(q, found))
        *status = strcmp(q->e->of->place.phase, "backward") ? moments(q)
                                                            : sums(q);
    else if (all = state_of(of_rows(q, "forward"), 1 + 2 * c.n),
             !all.x || !(all.x[0] | all.x[1]))
        return false;
    else if (ls__asked_y(q))
        *status = value(&c, all);
    else if (ls__asked_dx(q, 0))
        *status = gradient(&c, all);
    else
        *status = ls__asked_what(q, "dparam") ? parameter(&c)
                                              : ls__asked_unknown("batch_norm");
    return true;
}

/* ------ what is stored ------ */

/* The batch norm that stores its means (2) or variances (3) there. */
static const ls__said *norm_of(const ls__evidence *e, const ls__said *slot,
                               int *which)
{
    for (int i = 0; i < e->nodes; i++)
        for (*which = 2; *which < 4; ++*which)
            if (!strcmp(e->node[i].op, "batch_norm") &&
                ls__evidence_param(e, &e->node[i], *which) == slot)
                return &e->node[i];
    return NULL;
}

bool ls__evidence_stored(ls__evidence *e, const ls__said *slot, uint32_t a,
                         uint32_t b)
{
    int which;
    const ls__said *n = norm_of(e, slot, &which);
    const ls__kept *p = ls__evidence_whole(e, "before", "parameters");
    const char *by = n ? ls__evidence_of(n, found) : NULL;
    const char *momentum = n ? ls__evidence_of(n, "momentum") : NULL;
    bool by_rows = by && strcmp(by, "0"), all = n && is_of_all(n);
    int64_t devices = json_integer_value(json_object_get(e->head, "devices"));
    int64_t micro = json_integer_value(json_object_get(e->head, "micro"));

    if (!n || !p || e->element >= p->n)
        return false;
    ls__evidence_rule(e, by_rows ? "batch_norm.stored" : "move", a, b);
    ls__evidence_number(e, by_rows ? "p" : "x", &p->x[e->element]);
    if (!by_rows)
        return true;
    ls__evidence_begin(e, "of");
    for (int64_t i = 0; i < devices * micro && e->status == 0; i++)
        take_moments(e, state_of(last_found(e, all ? joined : found, "forward",
                                            n->node, all ? 0 : i / micro,
                                            i % micro, e->of),
                                 1 + 2 * slot->floats),
                     slot->floats, e->element - slot->at);
    ls__evidence_end(e);
    ls__evidence_word(e, "micro", (uint32_t)micro);
    ls__evidence_real(e, "momentum", momentum ? strtod(momentum, NULL) : 0.9);
    ls__evidence_word(e, "at", which == 3);
    return true;
}
