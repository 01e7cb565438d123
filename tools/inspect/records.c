/* SPDX-License-Identifier: BSD-3-Clause */
/* See records.h. */
#include "inspect/records.h"
#include "opt/json_parts.h"
#include "opt/opt.h"
#include "run/record_option.h"

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

static int print_json(const ls_record_difference *d)
{
    json_t *all = json_pack("{s:b,s:s}", "same", d->same, "text", d->text);

    if (d->element >= 0) {
        all = json_with(all, "element", json_integer(d->element));
        all = json_with(all, "a", bits(d->a));
        all = json_with(all, "b", bits(d->b));
    }
    return json_print(all, JSON_COMPACT);
}

int records_compare(const char *a, const char *b, bool json)
{
    ls_record_difference d;
    int status = opt_check(ls_record_compare(a, b, &d));

    if (status != OPT_GO)
        return status;
    if (json && print_json(&d) != OPT_GO)
        return OPT_FAILED;
    if (!json)
        record_option_show(&d);
    return opt_end(d.same ? OPT_GO : OPT_FAILED);
}
