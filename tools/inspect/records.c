/* SPDX-License-Identifier: BSD-3-Clause */
/* See records.h. */
#include "inspect/records.h"
#include "opt/opt.h"

#include <lockstep/record.h>

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

bool records_is(const char *path)
{
    size_t n = strlen(path);

    return n > 4 && strcmp(path + n - 4, ".lsr") == 0;
}

static json_t *bits(uint32_t x)
{
    char text[9];

    snprintf(text, sizeof text, "%08" PRIx32, x);
    return json_string(text);
}

static void print_json(const ls_record_difference *d)
{
    json_t *all = json_pack("{s:b,s:s}", "same", d->same, "text", d->text);

    if (all && d->element >= 0) {
        json_object_set_new(all, "element", json_integer(d->element));
        json_object_set_new(all, "a", bits(d->a));
        json_object_set_new(all, "b", bits(d->b));
    }
    json_dumpf(all, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(all);
}

int records_compare(const char *a, const char *b, bool json)
{
    ls_record_difference d;
    int status = opt_check(ls_record_compare(a, b, &d));

    if (status != OPT_GO)
        return status;
    if (json)
        print_json(&d);
    else
        puts(d.same ? "same: every array and number of the step" : d.text);
    return opt_end(d.same ? OPT_GO : OPT_FAILED);
}
