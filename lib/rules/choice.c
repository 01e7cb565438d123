/* SPDX-License-Identifier: BSD-3-Clause */
/* See choice.h. */
#include "rules/choice.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/sized.h"

#include <string.h>

double ls__option_get(const ls__option *o, const void *of)
{
    const void *at = (const char *)of + o->at;

    LS__ASSERT(o->at % (o->type == LS__FLAG ? sizeof(bool) : 8) == 0);
    if (o->type == LS__FLAG)
        return *(const bool *)at;
    return o->type == LS__WHOLE ? (double)*(const int64_t *)at
                                : *(const double *)at;
}

static void put(const ls__option *o, void *of, double value)
{
    void *at = (char *)of + o->at;

    if (o->type == LS__WHOLE)
        *(int64_t *)at = (int64_t)value;
    else if (o->type == LS__FLAG)
        *(bool *)at = value != 0;
    else
        *(double *)at = value;
}

const ls__option *ls__choice_option(const ls__choice *c, int i)
{
    return i >= 0 && i < LS__OPTIONS ? c->option[i].is : NULL;
}

void ls__choice_start(const ls__choice *c, void *of)
{
    for (int i = 0; ls__choice_option(c, i); i++)
        if (c->option[i].start == c->option[i].start)
            put(ls__choice_option(c, i), of, c->option[i].start);
}

/* Written so that NaN is outside of every range. */
static bool in_range(const ls__option *o, double value)
{
    return value >= o->least && value < o->below;
}

static int refuse(const ls__choice *c, const ls__option *o, double value)
{
    return ls__fail(LS_EINVAL, "%s %s: %s is %g; it must be %s", c->what,
                    c->name, o->name, value, o->range);
}

int ls__choice_check(const ls__choice *c, const void *of)
{
    for (int i = 0; ls__choice_option(c, i); i++) {
        double value = ls__option_get(ls__choice_option(c, i), of);

        if (!in_range(ls__choice_option(c, i), value))
            return refuse(c, ls__choice_option(c, i), value);
    }
    return 0;
}

/* Doubles count up to 2^53. */
static bool is_whole(double value)
{
    return value >= -0x1p53 && value <= 0x1p53 &&
           value == (double)(int64_t)value;
}

static bool is_counted(const ls__option *o)
{
    return o->type == LS__WHOLE || o->type == LS__FLAG;
}

int ls__choice_set(const ls__choice *c, void *of, const char *name,
                   double value)
{
    const ls__option *o;
    int i = 0;

    while ((o = ls__choice_option(c, i)) && strcmp(o->name, name))
        i++;
    if (!o)
        return ls__fail(LS_ENOTFOUND, "%s %s has no option \"%s\"", c->what,
                        c->name, name);
    if (!in_range(o, value) || (is_counted(o) && !is_whole(value)))
        return refuse(c, o, value);
    put(o, of, value);
    return 0;
}

bool ls__choice_tell(const ls__choice *c, int i, ls_option *option,
                     size_t size)
{
    const ls__option *o = c ? ls__choice_option(c, i) : NULL;
    ls_option r;

    if (!o)
        return false;
    r = (ls_option){.name = o->name, .about = o->about, .range = o->range,
                    .start = c->option[i].start, .least = o->least,
                    .below = o->below, .whole = o->type == LS__WHOLE};
    ls__sized_put(option, size, &r, sizeof r);
    return true;
}
