/* Placement: the text that says it, and the pieces that follow. */
#include "train/placement.h"
#include "base/error.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMS, OPTIMIZER, PARTS };

/* ------ pieces ------ */

int ls__placement_axis(const ls_trainer *t, int i)
{
    return t->axis[OPTIMIZER][i] >= 0 ? t->axis[OPTIMIZER][i]
                                      : t->axis[PARAMS][i];
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

ls__piece ls__placement_piece(const ls__slot *s, int axis, int devices,
                              int first, int last)
{
    int64_t n = s->shape[axis], each = (n + devices - 1) / devices;
    int64_t lo = least(first * each, n), hi = least(last * each, n);
    int64_t outer = ls__count(axis, s->shape);
    int64_t inner = s->size / (outer * n);

    if (lo == 0 && hi == n) /* all of it is one run */
        return (ls__piece){s->offset, s->size, s->size, 1};
    return (ls__piece){s->offset + lo * inner, (hi - lo) * inner, n * inner,
                       hi > lo ? outer : 0};
}

/* What there is of elements first .. first+n-1. */
static void zero(const ls__held *h, int64_t first, int64_t n)
{
    for (ls__stretch s = {0}; ls__owned_next(&h->owned, &s);) {
        ls__range r = ls__range_common((ls__range){first, first + n}, s.range);

        memset(h->array + s.at + (r.first - s.range.first), 0,
               (size_t)(r.last - r.first) * sizeof *h->array);
    }
}

void ls__placement_zero(const ls_trainer *t, int first, int last, bool rest,
                        const ls__held *array)
{
    for (int i = 0; i < t->model.params.count; i++) {
        const ls__slot *s = &t->model.params.slot[i];
        int axis = ls__placement_axis(t, i);
        int64_t end = s->offset + s->size, full = (s->size + 15) / 16 * 16;
        ls__piece p = {0};

        if (axis >= 0)
            p = ls__placement_piece(s, axis, t->devices.count, first, last);
        for (int64_t at = p.first; p.runs > 0; p.runs--, at += p.stride)
            zero(array, at, p.length);
        if (rest && axis < 0)
            zero(array, s->offset, s->size);
        if (rest)
            zero(array, end, full - s->size);
    }
}

/* ------ the text ------ */

/* "PATTERN=AXIS,PATTERN=AXIS": its entries, in a copy cut into strings. */
typedef struct rule {
    const char *pattern;
    int axis;
    bool used; /* it matches a parameter */
} rule;

typedef struct rules {
    const char *text; /* all of it, for messages */
    char *copy;
    int count;
    rule *rule;
} rules;

static int read_axis(const rules *r, const char *pattern, const char *text,
                     int *axis)
{
    if (text[0] < '0' || text[0] > '9' || text[1])
        return ls__fail(LS_EINVAL, "placement \"%s\": \"%s\" of \"%s\" is not "
                        "the number of an axis", r->text, text, pattern);
    *axis = text[0] - '0'; /* LS_MAX_RANK is below 10 */
    return 0;
}

static int read_rules(rules *r)
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
        status = read_axis(r, at, equals + 1, &u->axis);
    }
    return status;
}

static int open_rules(rules *r, const char *text)
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
    return read_rules(r);
}

static void close_rules(rules *r)
{
    free(r->copy);
    free(r->rule);
}

/* ------ what it means for each parameter ------ */

static int check_axis(const ls_trainer *t, const ls__slot *s, int axis)
{
    char text[LS__SHAPE_TEXT];

    ls__shape_text(text, s->rank, s->shape);
    if (axis >= s->rank)
        return ls__fail(LS_EINVAL, "parameter \"%s\" %s has no axis %d",
                        s->name, text, axis);
    if (s->shape[axis] % t->devices.of)
        return ls__fail(LS_ESHAPE, "parameter \"%s\" %s: axis %d does not "
                        "divide by the %d devices of the data axis", s->name,
                        text, axis, t->devices.of);
    return 0;
}

/* The first pattern that matches counts; those after it are used too. */
static int apply_rules(const ls_trainer *t, rules *r, const ls__slot *s,
                       int *axis)
{
    *axis = -1;
    for (int i = r->count - 1; i >= 0; i--)
        if (fnmatch(r->rule[i].pattern, s->name, 0) == 0) {
            r->rule[i].used = true;
            *axis = r->rule[i].axis;
        }
    return *axis < 0 ? 0 : check_axis(t, s, *axis);
}

static int by_rules(const ls_trainer *t, const char *text, int *axis)
{
    rules r;
    int status = open_rules(&r, text);

    for (int i = 0; i < t->model.params.count && status == 0; i++)
        status = apply_rules(t, &r, &t->model.params.slot[i], &axis[i]);
    for (int i = 0; i < r.count && status == 0; i++)
        if (!r.rule[i].used)
            status = ls__fail(LS_ENOTFOUND, "placement \"%s\": \"%s\" matches "
                              "no parameter; the first is \"%s\"", text,
                              r.rule[i].pattern, t->model.params.slot[0].name);
    close_rules(&r);
    return status;
}

/* The first of the longest; a single number is not cut. */
static int biggest_axis(const ls__slot *s)
{
    int axis = s->rank ? 0 : -1;

    for (int i = 1; i < s->rank; i++)
        if (s->shape[i] > s->shape[axis])
            axis = i;
    return axis;
}

static int decide(const ls_trainer *t, const char *text, int *axis)
{
    bool shard = !strcmp(text, "shard");

    if (!shard && strcmp(text, "replicate"))
        return by_rules(t, text, axis);
    for (int i = 0; i < t->model.params.count; i++)
        axis[i] = shard ? biggest_axis(&t->model.params.slot[i]) : -1;
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
    LS__NEED(placement);

    size_t n = (size_t)t->model.params.count;
    int *axis, status;

    if (!known(part))
        return ls__fail(LS_EINVAL, "placement of part %d: there is no such "
                        "part", (int)part);
    if (!(axis = ls__new(n, sizeof *axis, "placement")))
        return LS_ENOMEM;
    status = decide(t, placement, axis);
    for (int p = PARAMS; p < PARTS && status == 0; p++)
        if ((int)part >> p & 1)
            memcpy(t->axis[p], axis, n * sizeof *axis);
    free(axis);
    return status;
}

int ls_state_axis(const ls_trainer *t, ls_state_part part, const char *name,
                  int *axis)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(name);
    LS__NEED(axis);

    const ls__slot *s = ls__params_find(&t->model.params, name);

    if (!s)
        return LS_ENOTFOUND;
    if (part != LS_STATE_PARAMS && part != LS_STATE_OPTIMIZER)
        return ls__fail(LS_EINVAL, "placement of \"%s\": part %d is not one "
                        "of the two", name, (int)part);
    *axis = t->axis[part == LS_STATE_OPTIMIZER][s - t->model.params.slot];
    return 0;
}

int ls__placement_open(ls_trainer *t)
{
    for (int p = PARAMS; p < PARTS; p++) {
        t->axis[p] = ls__arena_new(&t->arena, (size_t)t->model.params.count,
                                   sizeof *t->axis[p]);
        if (!t->axis[p])
            return LS_ENOMEM;
    }
    return ls_state_place(t, LS_STATE_ALL, t->options.state == LS_SHARD
                                               ? "shard" : "replicate");
}
