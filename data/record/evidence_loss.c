/* SPDX-License-Identifier: BSD-3-Clause */
/* Evidence of what a device's rows sum up to: its loss, of terms or of means,
 * and the weight of the terms. */
#include "record/evidence_rules.h"

#include <string.h>

typedef struct side {
    ls__evidence *e;
    const ls__said *loss; /* the node */
    int64_t micro;        /* micro-batches */
} side;

static bool is_mine(const side *s, const ls__kept *k, const char *phase)
{
    return strcmp(k->place.phase, phase) == 0 &&
           k->place.device == s->e->of->place.device;
}

/* ------ rows ------ */

/* The first array of what the device is given as a micro-batch, of that name or
 * any; NULL: there is none. */
static const ls__kept *given(const side *s, int64_t micro, const char *what)
{
    for (int64_t i = 0; i < s->e->count; i++) {
        const ls__kept *k = &s->e->kept[i];

        if (is_mine(s, k, "rows") && k->place.micro == micro &&
            (!what || strcmp(k->place.what, what) == 0))
            return k;
    }
    return NULL;
}

static int64_t rows_of(const side *s, int64_t micro)
{
    const ls__kept *k = given(s, micro, NULL);

    return k && k->place.rows <= LS__ATTRIBUTE ? k->place.rows : 0;
}

static int64_t all_rows(const side *s)
{
    int64_t rows = 0;

    for (int64_t m = 0; m < s->micro; m++)
        rows += rows_of(s, m);
    return rows;
}

/* The weights of the rows of a micro-batch; NULL: all are 1. */
static const ls__kept *weights_of(const side *s, int64_t micro)
{
    return given(s, micro, "weights of rows");
}

static void give_weight(const side *s, const ls__kept *w, int64_t i)
{
    if (w)
        ls__evidence_take(s->e, &w->x[i]);
    else
        ls__evidence_say(s->e, LS__ONE);
}

/* Give how many rows or terms each micro-batch has, where there are several. */
static void give_parts(const side *s, int64_t (*count)(const side *, int64_t))
{
    if (s->micro < 2)
        return;
    ls__evidence_begin(s->e, "parts");
    for (int64_t m = 0; m < s->micro; m++)
        if (count(s, m))
            ls__evidence_say(s->e, (uint32_t)count(s, m));
    ls__evidence_end(s->e);
}

static void give_rows(const side *s)
{
    ls__evidence_begin(s->e, "w");
    for (int64_t m = 0; m < s->micro; m++) {
        const ls__kept *w = weights_of(s, m);
        int64_t rows = rows_of(s, m);

        for (int64_t i = 0; i < rows && s->e->status == 0; i++)
            give_weight(s, w, i);
    }
    ls__evidence_end(s->e);
    give_parts(s, rows_of);
}

/* ------ terms ------ */

/* The next terms of the device's loss after k, or the first; a node that shows
 * them again shows the same. */
static const ls__kept *next_terms(const side *s, const ls__kept *k)
{
    const ls__evidence *e = s->e;
    const ls__where *was = k ? &k->place : NULL;

    for (k = k ? k + 1 : e->kept; k < e->of; k++)
        if (strcmp(k->place.what, "terms") == 0 &&
            k->place.device == e->of->place.device &&
            (!was || k->place.micro != was->micro ||
             k->place.first != was->first))
            return k;
    return NULL;
}

static int64_t terms_of(const side *s, int64_t micro)
{
    int64_t n = 0;

    for (const ls__kept *k = NULL; (k = next_terms(s, k));)
        n += k->place.micro == micro ? k->n : 0;
    return n;
}

static int give_terms(const side *s)
{
    ls__evidence_begin(s->e, "t");
    for (const ls__kept *k = NULL; (k = next_terms(s, k));)
        for (int64_t i = 0; i < k->n; i++)
            ls__evidence_take(s->e, &k->x[i]);
    ls__evidence_end(s->e);
    ls__evidence_begin(s->e, "w");
    for (const ls__kept *k = NULL; (k = next_terms(s, k));) {
        const ls__kept *w = weights_of(s, k->place.micro);
        int64_t rows = k->place.rows, each = rows > 0 ? k->n / rows : 0;

        for (int64_t i = 0; i < k->n; i++)
            give_weight(s, w, k->place.first + (each ? i / each : i));
    }
    ls__evidence_end(s->e);
    give_parts(s, terms_of);
    return 0;
}

/* ------ values ------ */

/* Is it what the node, or an input, gave to the device? */
static bool is_value(const side *s, const ls__kept *k, const ls__said *n)
{
    if (strcmp(n->op, "input") == 0)
        return is_mine(s, k, "rows") && strcmp(k->place.what, n->name) == 0;
    return is_mine(s, k, "forward") && strcmp(k->place.what, "y") == 0 &&
           k->place.node == n->node;
}

static int64_t values_of(const side *s, const ls__said *n)
{
    int64_t all = 0;

    for (int64_t i = 0; i < s->e->count; i++)
        all += is_value(s, &s->e->kept[i], n) ? s->e->kept[i].n : 0;
    return all;
}

/* Give all that input k of the loss gave, chunk after chunk, but for the first
 * `skip` numbers of each row; false: the record does not have it. */
static bool give_values(const side *s, const char *name, int k, int64_t skip)
{
    const ls__said *n = ls__evidence_node(s->e, ls__evidence_input(s->loss, k));
    int64_t size = n ? ls__evidence_size(n->shape) : 0, count;

    if (size <= skip || (count = values_of(s, n)) % size ||
        count / size != all_rows(s))
        return false;
    ls__evidence_begin(s->e, name);
    for (int64_t i = 0; i < s->e->count; i++) {
        const ls__kept *of = &s->e->kept[i];

        count = is_value(s, of, n) ? of->n : 0;
        for (int64_t j = 0; j < count; j++)
            if (j % size >= skip)
                ls__evidence_take(s->e, &of->x[j]);
    }
    ls__evidence_end(s->e);
    return true;
}

/* Give how many terms each row has, as doubles. */
static bool give_sizes(const side *s)
{
    const ls__said *n = ls__evidence_node(s->e, ls__evidence_input(s->loss, 0));
    int64_t rows = all_rows(s);

    if (!n)
        return false;
    ls__evidence_begin(s->e, "l");
    for (int64_t i = 0; i < rows && s->e->status == 0; i++)
        ls__evidence_say_real(s->e, (double)ls__evidence_size(n->shape));
    ls__evidence_end(s->e);
    return true;
}

/* ------ what a loss is made of ------ */

static bool is_mean_loss(const side *s)
{
    return strcmp(s->loss->op, "mean_loss") == 0 ||
           strcmp(s->loss->op, "weighted_mean_loss") == 0;
}

static bool give_means(const side *s)
{
    return is_mean_loss(s) && give_values(s, "y", 0, 0) &&
           (ls__evidence_input(s->loss, 1) < 0 || give_values(s, "v", 1, 0));
}

static bool give_counts(const side *s)
{
    if (strcmp(s->loss->op, "cross entropy") == 0)
        return give_values(s, "label", 1, 0);
    if (strcmp(s->loss->op, "next token") == 0)
        return give_values(s, "label", 1, 1);
    if (strcmp(s->loss->op, "weighted_mean_loss") == 0)
        return give_values(s, "v", 1, 0);
    return give_sizes(s);
}

static bool is_loss(const ls__said *n)
{
    static const char *const of[] = {"cross entropy", "next token",
                                     "squared error", "mean_loss",
                                     "weighted_mean_loss"};

    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (strcmp(n->op, of[i]) == 0)
            return true;
    return false;
}

int ls__evidence_sums(ls__evidence *e, uint32_t a, uint32_t b)
{
    side s = {.e = e, .micro = json_integer_value(json_object_get(e->head,
                                                                  "micro"))};
    bool weight = strcmp(e->of->place.what, "weight") == 0;

    for (int i = 0; i < e->nodes; i++)
        if (is_loss(&e->node[i]))
            s.loss = &e->node[i];
    ls__evidence_rule(e, "loss.sum", a, b);
    ls__evidence_word(e, "at", (uint32_t)e->element);
    if (!weight && next_terms(&s, NULL))
        return give_terms(&s);
    if (!s.loss || !rows_of(&s, 0) ||
        !(weight ? give_counts(&s) : give_means(&s)))
        return ls__asked_unknown("sums of a loss without terms, or of another "
                                 "device than the record's");
    give_rows(&s);
    return 0;
}
