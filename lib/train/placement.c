/* SPDX-License-Identifier: BSD-3-Clause */
/* Placement: the text that says it, and the pieces that follow. */
#include "train/placement.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/least.h"
#include "pool/pool.h"
#include <lockstep/collective.h>
#include <lockstep/placement.h>

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMS, OPTIMIZER, PARTS };

/* ------ pieces ------ */

const ls__split *ls__placement_of(const ls_trainer *t, int i)
{
    const ls__split *moments = &t->placed.of[OPTIMIZER][i];

    return moments->axis >= 0 ? moments : &t->placed.of[PARAMS][i];
}

ls__piece ls__placement_piece(const ls__slot *s, int axis, int devices,
                              int first, int last)
{
    int64_t n = s->shape[axis], each = (n + devices - 1) / devices;
    int64_t lo = ls__least(first * each, n), hi = ls__least(last * each, n);
    int64_t outer = ls__count(axis, s->shape);
    int64_t inner = s->size / (outer * n);

    LS__ASSERT(axis >= 0 && axis < s->rank);
    LS__ASSERT(0 <= first && first <= last && last <= devices);
    if (lo == 0 && hi == n) /* all of it is one run */
        return (ls__piece){s->offset, s->size, s->size, 1};
    return (ls__piece){s->offset + lo * inner, (hi - lo) * inner, n * inner,
                       hi > lo ? outer : 0};
}

/* Zeroes elements first .. first+n-1, as far as they exist. */
static void zero(const ls__owned *owned, float *array, int64_t first, int64_t n)
{
    for (ls__stretch s = {0}; ls__owned_next(owned, &s);) {
        ls__range r = ls__range_common((ls__range){first, first + n}, s.range);

        memset(array + s.at + (r.first - s.range.first), 0,
               (size_t)(r.last - r.first) * sizeof *array);
    }
}

void ls__placement_zero(const ls_trainer *t, int first, int last, bool rest,
                        bool all, const ls__owned *owned, float *array)
{
    for (int i = 0; i < t->model.params.count; i++) {
        const ls__slot *s = &t->model.params.slot[i];
        int axis = ls__placement_of(t, i)->axis;
        int64_t end = s->offset + s->size, full = (s->size + 15) / 16 * 16;
        ls__piece p = {0};

        if (!all && !t->trained.slot[i])
            continue;
        if (axis >= 0)
            p = ls__placement_piece(s, axis, t->devices.count, first, last);
        for (int64_t at = p.first; p.runs > 0; p.runs--, at += p.stride)
            zero(owned, array, at, p.length);
        if (rest && axis < 0)
            zero(owned, array, s->offset, s->size);
        if (rest)
            zero(owned, array, end, full - s->size);
    }
}

/* ------ the text ------ */

/* "PATTERN=HOW,PATTERN=HOW": its entries, in a copy cut into strings. */
enum { NONE = -1, BIGGEST = -2 };

typedef struct rule {
    const char *pattern;
    ls__split place; /* its axis may be one of these */
    bool used;       /* it matches a parameter */
} rule;

typedef struct rules {
    const char *text; /* all of it, for messages */
    char *copy;
    int count;
    rule *rule;
} rules;

/* Finds the axis of the mesh, and keeps its name. */
static int find_along(const ls_trainer *t, const rules *r, const char *name,
                      ls__split *place)
{
    ls_sharding cut;
    char why[256];

    if (ls_sharding_data_parallel(&cut, ls__pool_mesh(t->pool), name) < 0) {
        snprintf(why, sizeof why, "%s", ls_errmsg());
        return ls__fail(LS_EINVAL, "placement \"%s\": %s", r->text, why);
    }
    place->owners = cut.shards;
    _Static_assert(sizeof cut.axis == sizeof place->along, "names of axes");
    if (strcmp(name, t->placed.data_axis))
        memcpy(place->along, cut.axis, sizeof place->along);
    return 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool begins_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* "replicate", "1", "1:model" or "model". */
static int read_place(const ls_trainer *t, const rules *r, const char *pattern,
                      const char *text, ls__split *place)
{
    *place = (ls__split){NONE, t->devices.of, ""};
    if (strcmp(text, "replicate") == 0)
        return 0;
    place->axis = begins_name(text[0]) ? BIGGEST : text[0] - '0';
    if (place->axis == BIGGEST)
        return find_along(t, r, text, place);
    if (!is_digit(text[0]) || (text[1] && text[1] != ':'))
        return ls__fail(LS_EINVAL, "placement \"%s\": \"%s\" of \"%s\" is not "
                        "the number of an axis, nor an axis of the mesh, nor "
                        "replicate", r->text, text, pattern);
    return text[1] ? find_along(t, r, text + 2, place) : 0;
}

static int read_rules(const ls_trainer *t, rules *r)
{
    int status = 0;
    char *end;

    for (char *at = r->copy; at && status == 0; at = end) {
        rule *u = &r->rule[r->count++];
        char *equals;

        if ((end = strchr(at, ',')))
            *end++ = 0;
        equals = strrchr(at, '=');
        if (!equals || equals == at)
            return ls__fail(LS_EINVAL, "placement \"%s\": \"%s\" is none of "
                            "replicate, shard and PATTERN=AXIS", r->text, at);
        *equals = 0;
        u->pattern = at;
        status = read_place(t, r, at, equals + 1, &u->place);
    }
    return status;
}

static int open_rules(const ls_trainer *t, rules *r, const char *text)
{
    size_t n = strlen(text) + 1, count = 1;

    for (const char *c = text; *c; c++)
        count += *c == ',';
    *r = (rules){.text = text};
    r->copy = ls__new(n, 1, "placement");
    r->rule = ls__new(count, sizeof *r->rule, "placement");
    if (!r->copy || !r->rule)
        return LS_ENOMEM;
    memcpy(r->copy, text, n);
    return read_rules(t, r);
}

static void close_rules(rules *r)
{
    free(r->copy);
    free(r->rule);
}

/* ------ what it means for each parameter ------ */

static int check_axis(const ls__slot *s, const ls__split *place)
{
    char text[LS__SHAPE_TEXT];
    int axis = place->axis;

    ls__shape_text(text, s->rank, s->shape);
    if (axis >= s->rank)
        return ls__fail(LS_EINVAL, "parameter \"%s\" %s has no axis %d",
                        s->name, text, axis);
    if (s->shape[axis] % place->owners == 0)
        return 0;
    if (*place->along)
        return ls__fail(LS_ESHAPE, "parameter \"%s\" %s: axis %d does not "
                        "divide by the %d devices along \"%s\"", s->name, text,
                        axis, place->owners, place->along);
    return ls__fail(LS_ESHAPE, "parameter \"%s\" %s: axis %d does not divide "
                    "by the %d devices of the data axis", s->name, text, axis,
                    place->owners);
}

/* The first of the longest; a single number is not cut. */
static int biggest_axis(const ls__slot *s)
{
    int axis = s->rank ? 0 : NONE;

    for (int i = 1; i < s->rank; i++)
        if (s->shape[i] > s->shape[axis])
            axis = i;
    return axis;
}

/* The first pattern that matches counts; those after it are used too. */
static int apply_rules(rules *r, const ls__slot *s, ls__split *place)
{
    *place = (ls__split){.axis = NONE};
    for (int i = r->count - 1; i >= 0; i--)
        if (fnmatch(r->rule[i].pattern, s->name, 0) == 0) {
            r->rule[i].used = true;
            *place = r->rule[i].place;
        }
    if (place->axis == BIGGEST)
        place->axis = biggest_axis(s); /* the last owners may have less */
    else if (place->axis != NONE)
        return check_axis(s, place);
    return 0;
}

static int by_rules(const ls_trainer *t, const char *text, ls__split *place)
{
    rules r;
    int status = open_rules(t, &r, text);

    for (int i = 0; i < t->model.params.count && status == 0; i++)
        status = apply_rules(&r, &t->model.params.slot[i], &place[i]);
    for (int i = 0; i < r.count && status == 0; i++)
        if (!r.rule[i].used)
            status = ls__fail(LS_ENOTFOUND, "placement \"%s\": \"%s\" matches "
                              "no parameter; the first is \"%s\"", text,
                              r.rule[i].pattern, t->model.params.slot[0].name);
    close_rules(&r);
    return status;
}

static int decide(const ls_trainer *t, const char *text, ls__split *place)
{
    bool shard = !strcmp(text, "shard");

    if (!shard && strcmp(text, "replicate"))
        return by_rules(t, text, place);
    for (int i = 0; i < t->model.params.count; i++)
        place[i] = (ls__split){
            .axis = shard ? biggest_axis(&t->model.params.slot[i]) : NONE};
    return 0;
}

/* ------ the public functions ------ */

static bool known(ls_state_part part)
{
    return (int)part >= LS_STATE_PARAMS && part <= LS_STATE_ALL;
}

int ls_state_place(ls_trainer *t, ls_state_part part, const char *placement)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);

    size_t n = (size_t)t->model.params.count;
    ls__split *place;
    int status;

    if (!known(part))
        return ls__fail(LS_EINVAL, "placement of part %d: there is no such "
                        "part", (int)part);
    if (!placement)
        return 0;
    if (!(place = ls__new(n, sizeof *place, "placement")))
        return LS_ENOMEM;
    status = decide(t, placement, place);
    for (int p = PARAMS; p < PARTS && status == 0; p++)
        if ((int)part >> p & 1)
            memcpy(t->placed.of[p], place, n * sizeof *place);
    free(place);
    return status;
}

/* Find where a parameter or its optimizer state is; NULL with a message. */
static const ls__split *find_place(const ls_trainer *t, ls_state_part part,
                                   const char *name, int *status)
{
    const ls__slot *s = ls__params_find(&t->model.params, name);

    *status = s ? LS_EINVAL : LS_ENOTFOUND;
    if (s && (part == LS_STATE_PARAMS || part == LS_STATE_OPTIMIZER))
        return &t->placed.of[part == LS_STATE_OPTIMIZER]
                            [s - t->model.params.slot];
    if (s)
        ls__fail(LS_EINVAL, "placement of \"%s\": part %d is not one of the "
                 "two", name, (int)part);
    return NULL;
}

int ls_state_axis(const ls_trainer *t, ls_state_part part, const char *name,
                  int *axis)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(name);
    LS__NEED(axis);

    int status;
    const ls__split *place = find_place(t, part, name, &status);

    if (!place)
        return status;
    *axis = place->axis;
    return 0;
}

const char *ls_state_owners(const ls_trainer *t, ls_state_part part,
                            const char *name, int *owners)
{
    LS__NEED_AS(t, "trainer", NULL);
    LS__NEED_OR(name, NULL);
    LS__NEED_OR(owners, NULL);

    int status;
    const ls__split *place = find_place(t, part, name, &status);

    if (!place || place->axis == NONE)
        return NULL;
    *owners = *place->along ? place->owners : t->devices.of;
    return *place->along ? place->along : t->placed.data_axis;
}

int ls__placement_open(ls_trainer *t)
{
    for (int p = PARAMS; p < PARTS; p++) {
        t->placed.of[p] = ls__arena_new(&t->arena,
                                        (size_t)t->model.params.count,
                                        sizeof *t->placed.of[p]);
        if (!t->placed.of[p])
            return LS_ENOMEM;
    }
    return ls_state_place(t, LS_STATE_ALL, t->options.state == LS_SHARD
                                               ? "shard" : "replicate");
}
