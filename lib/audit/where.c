/* SPDX-License-Identifier: BSD-3-Clause */
/* Positions in words. */
#include "audit/where.h"
#include "base/assert.h"
#include <lockstep/record.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const ls__phases[LS__PHASES_OF_RECORD] = {
    "start", "before", "batch", "rows", "forward", "backward", "gradient",
    "mean", "rule", "after"};

int ls__phase_of(const char *name)
{
    int i = 0;

    while (strcmp(ls__phases[i], name))
        i++;
    LS__ASSERT(i < LS__PHASES_OF_RECORD);
    return i;
}

bool ls__where_is_layout(const ls__where *w)
{
    return strcmp(w->phase, "before") == 0 || strcmp(w->phase, "after") == 0 ||
           strcmp(w->what, "gradient") == 0 ||
           strcmp(w->what, "mean gradient") == 0;
}

const char *ls__sizes_text(char out[LS__SIZES_TEXT], int rank,
                           const int64_t *sizes)
{
    size_t at = 0;

    *out = 0;
    for (int k = 0; k < rank; k++)
        at += (size_t)snprintf(out + at, LS__SIZES_TEXT - at, "%s%" PRId64,
                               k ? "x" : "", sizes[k]);
    return out;
}

void ls__where_add(char *text, const char *format, ...)
{
    size_t at = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + at, LS_RECORD_TEXT - at, format, args);
    va_end(args);
}

/* "13 layer_norm "blocks_0.ln_2"", and what of it that is. */
static void add_node(char *text, const ls__where *w)
{
    const char *what = w->what;

    ls__where_add(text, "%" PRId64 " %s", w->node, w->op);
    if (*w->name)
        ls__where_add(text, " \"%.80s\"", w->name);
    if (strcmp(what, "dx") == 0)
        ls__where_add(text, ", gradient of input %" PRId64, w->index);
    else if (strcmp(what, "dparam") == 0)
        ls__where_add(text, ", gradient of the parameter");
    else if (strcmp(what, "y"))
        ls__where_add(text, ", %s", what);
}

void ls__where_text(const ls__where *w, char *text)
{
    bool of_chunk = w->op && *w->op;

    *text = 0;
    if (strcmp(w->phase, "rows") == 0 || strcmp(w->phase, "gradient") == 0 ||
        of_chunk)
        ls__where_add(text, "device %" PRId64 ", ", w->device);
    if (w->micro)
        ls__where_add(text, "micro-batch %" PRId64 ", ", w->micro);
    if (w->rows)
        ls__where_add(text, "rows %" PRId64 " to %" PRId64 ", ", w->first,
                      w->first + w->rows - 1);
    if (of_chunk) {
        ls__where_add(text, "%s: ", w->phase);
        add_node(text, w);
    } else if (strcmp(w->phase, w->what) == 0) {
        ls__where_add(text, "%s", w->phase);
    } else {
        ls__where_add(text, "%s: %s", w->phase, w->what);
        if (w->first && !w->rows)
            ls__where_add(text, " %" PRId64, w->first);
    }
}
