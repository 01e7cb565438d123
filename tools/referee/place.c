/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts that say where an element stands. */
#include "find.h"
#include "verdict.h"

/* "13 layer_norm "blocks_0.ln_2"", and what of it that is. */
static const char *node_text(const array *k)
{
    const char *name = *k->name ? text_of(" \"%.200s\"", k->name) : "", *what;

    what = !strcmp(k->what, "dx")
               ? text_of(", gradient of input %lld", (long long)k->index)
           : !strcmp(k->what, "dparam") ? ", gradient of the parameter"
           : !strcmp(k->what, "y")      ? ""
                                        : text_of(", %.200s", k->what);
    return text_of("%lld %.100s%s%s", (long long)k->node, k->op, name, what);
}

const char *place_text(const array *k)
{
    bool of_chunk = *k->op, of_device = of_chunk || !strcmp(k->phase, "rows") ||
                                        !strcmp(k->phase, "gradient");
    const char *device = "", *micro = "", *rows = "", *what;

    if (of_device)
        device = text_of("device %lld, ", (long long)k->device);
    if (k->micro)
        micro = text_of("micro-batch %lld, ", (long long)k->micro);
    if (k->rows)
        rows = text_of("rows %lld to %lld, ", (long long)k->first,
                       (long long)(k->first + k->rows - 1));
    what = of_chunk ? node_text(k)
           : !strcmp(k->phase, k->what) ? NULL : text_of("%.200s", k->what);
    return text_of("%s%s%s%s%s%s", device, micro, rows, k->phase,
                   what ? ": " : "", what ? what : "");
}

/* " (row 0, position 3, channel 254)"; of a parameter, which has no rows, its
 * indices. */
static const char *indices(const char *shape, int64_t at, bool has_rows)
{
    static const char *const names[4][4] = {
        {"channel "}, {"position ", "channel "},
        {"line ", "column ", "channel "},
        {"index ", "line ", "column ", "channel "}};
    int64_t extent[MOST_RANK], index[MOST_RANK];
    int rank = size(shape) ? axes(shape, extent) : 0;
    const char *text = "";

    for (int k = rank - 1; k >= 0; k--) {
        index[k] = at % extent[k];
        at /= extent[k];
    }
    if (!rank && !has_rows)
        return "";
    if (has_rows)
        text = text_of("row %lld", (long long)at);
    for (int k = 0; k < rank; k++)
        text = text_of("%s%s%s%lld", text, *text ? ", " : "",
                       has_rows && rank <= 4 ? names[rank - 1][k] : "",
                       (long long)index[k]);
    return text_of(" (%s)", text);
}

static bool is_of_layout(const array *k)
{
    return !strcmp(k->phase, "before") || !strcmp(k->phase, "after") ||
           !strcmp(k->what, "gradient") || !strcmp(k->what, "mean gradient");
}

const char *element_text(const array *k, int64_t at)
{
    const said *slot = is_of_layout(k) ? slot_of(at) : NULL;
    bool has_rows = k->rows && (!strcmp(k->what, "y") || !strcmp(k->what, "dx")
                                || !strcmp(k->phase, "rows") ||
                                !strcmp(k->phase, "batch"));

    if (slot)
        return text_of("\"%.200s\": element %lld of %lld%s", slot->name,
                       (long long)(at - slot->at), (long long)slot->floats,
                       indices(slot->shape, at - slot->at, false));
    return text_of("element %lld of %lld%s", (long long)at, (long long)k->n,
                   indices(k->shape, at, has_rows));
}
