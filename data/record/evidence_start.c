/* SPDX-License-Identifier: BSD-3-Clause */
/* Evidence of what was there before the first update: a parameter's first
 * values, which follow from its key and the number's place, and what moments
 * begin with.  What a later step begins with is what the update of the step
 * before it made.  And of the rows that a device is given, which are the
 * batch's. */
#include "record/evidence_rules.h"
#include <lockstep/record.h>

#include <string.h>

enum { MATRIX = 1 << 20 }; /* numbers that the referee makes at most */

/* What a record says of a start (lib/record/record_start.h). */
enum { KIND, SCALE, FAN = 3, KEY = 5, WORDS = 7, TABLE = 4, ORTHOGONAL };

bool ls__evidence_starts(const uint32_t *word, int64_t floats)
{
    return word[KIND] != ORTHOGONAL || floats <= MATRIX;
}

/* A number of a stream by its place, scaled; of an orthogonal matrix the place
 * is that in the matrix, all of which the referee makes from the key. */
static int drawn(ls__evidence *e, const ls__said *slot, const ls__kept *k,
                 uint32_t a, uint32_t b)
{
    static const char *const rules[] = {
        NULL, "initial.uniform", "initial.normal", "initial.truncated", NULL,
        "initial.orthogonal"};
    uint64_t place = (uint64_t)(e->element - slot->at);

    if (!ls__evidence_starts(k->x, slot->floats))
        return ls__asked_unknown("an orthogonal matrix of more than 1,048,576 "
                                 "numbers");
    ls__evidence_rule(e, rules[k->x[KIND]], a, b);
    ls__evidence_list(e, "key", 2, &k->x[KEY], 1);
    ls__evidence_begin(e, "place");
    ls__evidence_say(e, (uint32_t)(place >> 32));
    ls__evidence_say(e, (uint32_t)place);
    ls__evidence_end(e);
    ls__evidence_list(e, "scale", 2, &k->x[SCALE], 1);
    if (k->x[KIND] == ORTHOGONAL)
        ls__evidence_list(e, "shape", 2, &k->x[FAN], 1);
    else if (k->x[FAN] || k->x[FAN + 1])
        ls__evidence_list(e, "fan", 2, &k->x[FAN], 1);
    return 0;
}

static int table(ls__evidence *e, const ls__said *slot, const ls__kept *k,
                 uint32_t a, uint32_t b)
{
    uint32_t place = (uint32_t)(e->element - slot->at), width = k->x[SCALE];

    ls__evidence_rule(e, "sinusoid", a, b);
    ls__evidence_word(e, "t", width ? place / width : 0);
    ls__evidence_word(e, "j", width ? place % width : 0);
    ls__evidence_number(e, "width", &k->x[SCALE]);
    return 0;
}

static int constant(ls__evidence *e, const ls__kept *k, uint32_t a, uint32_t b)
{
    ls__evidence_rule(e, "move", a, b);
    ls__evidence_number(e, "x", &k->x[SCALE]);
    return 0;
}

int ls__evidence_start(ls__evidence *e, uint32_t a, uint32_t b)
{
    const char *what = e->of->place.what;
    bool moment = strcmp(what, "parameters") != 0;
    const ls__said *slot = ls__evidence_slot(e, e->element);
    char name[LS_RECORD_TEXT];
    const ls__kept *k;

    if (json_integer_value(json_object_get(e->head, "step")) > 0)
        return ls__fail(LS_ENOTSUP, "%s before this step were made by the "
                        "update of the step before: its record has the "
                        "evidence, as \"after: %s\"", what, what);
    if (!slot)
        return ls__asked_unknown("what lies between parameters");
    snprintf(name, sizeof name, "%s%s", moment ? "moment " : "",
             moment ? what : slot->name);
    k = ls__evidence_whole(e, "start", name);
    if (!k || k->n != WORDS || k->x[KIND] > ORTHOGONAL ||
        (moment && k->x[KIND]))
        return ls__asked_unknown("first values that no seed gives");
    if (k->x[KIND] == TABLE)
        return table(e, slot, k, a, b);
    return k->x[KIND] ? drawn(e, slot, k, a, b) : constant(e, k, a, b);
}

int ls__evidence_row(ls__evidence *e, uint32_t a, uint32_t b)
{
    const ls__where *w = &e->of->place;
    const ls__kept *all = ls__evidence_whole(e, "batch", w->what);
    int64_t size = w->rows > 0 ? e->of->n / w->rows : 0;

    if (e->of == all)
        return ls__fail(LS_ENOTSUP, "%s is what was given to this step, not "
                        "computed in it: the data that one side read is "
                        "another, or its memory", w->what);
    if (!all || size < 1 || w->first > all->n / size ||
        w->first * size + e->element >= all->n)
        return ls__asked_unknown(w->what);
    ls__evidence_rule(e, "move", a, b);
    ls__evidence_number(e, "x", &all->x[w->first * size + e->element]);
    return 0;
}
