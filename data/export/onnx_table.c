/* SPDX-License-Identifier: BSD-3-Clause */
/* A model of a table in ONNX: its columns are inputs, numbers and texts as they
 * stand in the table, and the target is the output.  What is between them and
 * the model is done as table/coding.c does it, in doubles. */
#include "base/error.h"
#include "export/onnx_pieces.h"
#include "table/coding.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------ The columns ------ */

/* A float has too few digits for numbers that differ little and are large. */
static int type_of(const ls__column *column)
{
    if (column->words.count)
        return LS__ONNX_STRING;
    return fabs(column->mean) > 4096 * column->scale ? LS__ONNX_DOUBLE
                                                     : LS__ONNX_FLOAT;
}

/* The name of an input; of a date with the number that it is, as
 * "sold.weekday". */
static const char *name_of(ls__onnx *o, const ls__column *column)
{
    size_t size = strlen(column->name) + 16;
    char *name = column->date ? ls__onnx_room(o, (int64_t)size, 1) : NULL;

    if (!name)
        return column->name;
    snprintf(name, size, "%s.%s", column->name, ls__date_name[column->date]);
    return name;
}

/* All values of a graph have a name of their own; those that are made here
 * begin with a colon. */
static int check_names(int n, const char *const *name)
{
    int same, *sorted;

    for (int i = 0; i < n; i++)
        if (!*name[i] || *name[i] == ':')
            return ls__fail(LS_EINVAL, "column %d is called \"%.80s\": for "
                            "ONNX it needs a name, and none that begins with a "
                            "colon", i + 1, name[i]);
    if (!(sorted = ls__sort_texts(n, name, &same)))
        return LS_ENOMEM;
    free(sorted);
    return same < 0 ? 0
                    : ls__fail(LS_EINVAL, "two columns are \"%.80s\" for ONNX: "
                               "a date's numbers are called so", name[same]);
}

/* The places of words, as raw values have them: NaN where there is none, or of
 * a model that takes missing values -1. */
static const char *places(ls__onnx *o, const ls__column *column, const char *x)
{
    int n = column->words.count;
    float *place = ls__onnx_room(o, n, sizeof *place);
    ls__proto list = {0};

    for (int i = 0; place && i < n; i++)
        place[i] = (float)i;
    ls__onnx_attribute(&list, "keys_strings", LS__ONNX_TEXTS, n,
                       column->words.word);
    ls__onnx_attribute(&list, "values_floats", LS__ONNX_REALS, place ? n : 0,
                       place);
    ls__onnx_attribute(&list, "default_float", LS__ONNX_REAL, 1,
                       &(float){o->coding->impute ? -1 : NAN});
    return ls__onnx_call(o, "LabelEncoder", 1, &x, &list);
}

/* A column's input, and its raw values: doubles (rows,1), of a series
 * (rows,window,1). */
static const char *column_values(ls__onnx *o, const ls__column *column,
                                 const char *name)
{
    int64_t window = o->coding->window, wide = window ? window : 1;
    int type = type_of(column);

    ls__onnx_value(o, LS__ONNX_INPUT, name, type, 1, &wide);
    if (type == LS__ONNX_STRING)
        name = places(o, column, name);
    if (type != LS__ONNX_DOUBLE)
        name = ls__onnx_of(o, "Cast(v0; to=11)", name);
    return window ? ls__onnx_text_of(o, NULL, "Reshape(v0, [0, i0, 1])", &name,
                                     &window)
                  : name;
}

/* ------ The model's input ------ */

/* (raw - mean) / scale as floats; a missing number becomes 0, if it may. */
static const char *standardised(ls__onnx *o, const char *raw)
{
    const ls_coding *c = o->coding;
    int n = ls__coding_columns(c);
    double *mean = ls__onnx_room(o, n, sizeof *mean);
    double *scale = ls__onnx_room(o, n, sizeof *scale);
    float *fill = ls__onnx_room(o, n, sizeof *fill);
    const char *in[3];

    if (!mean || !scale || !fill)
        return "";
    for (int i = 0; i < n; i++) {
        const ls__column *column = ls__coding_input(c, i);

        mean[i] = column->words.count ? 0 : column->mean;
        scale[i] = column->words.count ? 1 : column->scale;
        fill[i] = column == &c->target ? NAN : 0;
    }
    in[0] = raw;
    in[1] = ls__onnx_doubles(o, n, mean);
    in[2] = ls__onnx_doubles(o, n, scale);
    in[0] = ls__onnx_text_of(o, NULL, "Cast(Div(Sub(v0, v1), v2); to=1)", in,
                             NULL);
    if (!c->impute)
        return in[0];
    in[1] = ls__onnx_floats(o, NULL, (ls__onnx_shape){1, {n}}, fill);
    return ls__onnx_text_of(o, NULL, "Where(IsNaN(v0), v1, v0)", in, NULL);
}

/* The sum of all times 0 is NaN where one is not finite. */
static const char *refused(ls__onnx *o, const char *x)
{
    return ls__onnx_of(o, o->coding->window
                       ? "Unsqueeze(ReduceSum(Mul(v0, 0), [1, 2]; keepdims=0), "
                         "[1])"
                       : "Unsqueeze(ReduceSum(Mul(v0, 0), [1]; keepdims=0), "
                         "[1])", x);
}

/* One place for each word, a 1 among zeros. */
static const char *one_hot(ls__onnx *o, const char *x)
{
    const ls_coding *c = o->coding;
    int64_t *from = ls__onnx_room(o, c->width, sizeof *from), at = 0, words = 0;
    int64_t *is_word = ls__onnx_room(o, c->width, sizeof *is_word);
    float *place = ls__onnx_room(o, c->width, sizeof *place);
    const char *in[4] = {x};

    if (!from || !is_word || !place)
        return "";
    for (int i = 0; i < c->columns; i++)
        for (int k = 0; k == 0 || k < c->column[i].words.count; k++, at++) {
            from[at] = i;
            is_word[at] = c->column[i].words.count > 0;
            place[at] = (float)k;
            words += is_word[at];
        }
    if (!words)
        return x;
    in[1] = ls__onnx_integers(o, (int)at, from);
    in[2] = ls__onnx_floats(o, NULL, (ls__onnx_shape){1, {at}}, place);
    in[3] = ls__onnx_integers(o, (int)at, is_word);
    in[1] = ls__onnx_text_of(o, NULL, "Gather(v0, v1; axis=1)", in, NULL);
    return ls__onnx_text_of(o, NULL, "Where(Cast(v3; to=9), Cast(Equal(v1, v2);"
                            " to=1), v1)", in, NULL);
}

int ls__onnx_columns(ls__onnx *o, const ls__net_node *node)
{
    const ls_coding *c = o->coding;
    int n = ls__coding_columns(c), status;
    const char **name = ls__onnx_room(o, n, sizeof *name);
    const char **in = ls__onnx_room(o, n, sizeof *in);
    ls__proto axis = {0};
    const char *x;

    if (!name || !in)
        return LS_ENOMEM;
    for (int i = 0; i < n; i++)
        name[i] = name_of(o, ls__coding_input(c, i));
    if ((status = check_names(n, name)) < 0)
        return status;
    for (int i = 0; i < n; i++)
        in[i] = column_values(o, ls__coding_input(c, i), name[i]);
    ls__onnx_attribute(&axis, "axis", LS__ONNX_INTEGER, 1,
                       &(int64_t){c->window ? 2 : 1});
    x = standardised(o, ls__onnx_call(o, "Concat", n, in, &axis));
    o->refused = refused(o, x);
    x = c->window ? x : one_hot(o, x);
    o->name[node->id] = ls__onnx_text_of(o, node, "Reshape(v0, [0, shape])", &x,
                                         NULL);
    return 0;
}

/* ------ The target ------ */

/* A name that no column has. */
static const char *output_name(ls__onnx *o, const char *name)
{
    size_t size = strlen(name) + 2;
    char *longer;

    for (int i = 0; i < ls__coding_columns(o->coding); i++)
        if (!strcmp(name_of(o, ls__coding_input(o->coding, i)), name)) {
            if (!(longer = ls__onnx_room(o, (int64_t)size, 1)))
                return name;
            snprintf(longer, size, "%s_", name);
            return output_name(o, longer);
        }
    return name;
}

/* The word of the largest; of a row that is refused none. */
static const char *label(ls__onnx *o, const char *logits)
{
    const ls__words *words = &o->coding->target.words;
    int64_t *place = ls__onnx_room(o, words->count, sizeof *place);
    const char *in[] = {o->refused, logits}, *x;
    ls__proto list = {0};

    for (int i = 0; place && i < words->count; i++)
        place[i] = i;
    x = ls__onnx_text_of(o, NULL, "Where(IsNaN(v0), [-1], ArgMax(v1; axis=1))",
                         in, NULL);
    ls__onnx_attribute(&list, "keys_int64s", LS__ONNX_INTEGERS,
                       place ? words->count : 0, place);
    ls__onnx_attribute(&list, "values_strings", LS__ONNX_TEXTS, words->count,
                       words->word);
    ls__onnx_attribute(&list, "default_string", LS__ONNX_TEXT, 1,
                       &(const char *){""});
    x = ls__onnx_call(o, "LabelEncoder", 1, &x, &list);
    return ls__onnx_of(o, "Squeeze(v0, [1])", x);
}

/* The number in the target's unit. */
static const char *value(ls__onnx *o, const char *y)
{
    const ls__column *target = &o->coding->target;
    const char *const in[] = {y, ls__onnx_doubles(o, 1, &target->scale),
                              ls__onnx_doubles(o, 1, &target->mean)};

    return ls__onnx_text_of(o, NULL, "Squeeze(Cast(Add(Mul(Cast(v0; to=11), "
                            "v1), v2); to=i0), [1])", in,
                            (int64_t[]){type_of(target)});
}

void ls__onnx_target(ls__onnx *o, const char *y)
{
    int64_t n = ls__coding_outputs(o->coding);
    const ls__column *target = &o->coding->target;

    y = ls__onnx_text_of(o, NULL, "Add(Reshape(v0, [0, i0]), v1)",
                         (const char *const[]){y, o->refused}, &n);
    if (!target->words.count) {
        ls__onnx_output(o, output_name(o, "value"), value(o, y),
                        type_of(target), 0, NULL);
        return;
    }
    ls__onnx_output(o, output_name(o, "label"), label(o, y), LS__ONNX_STRING,
                    0, NULL);
    ls__onnx_output(o, output_name(o, "probabilities"),
                    ls__onnx_of(o, "Softmax(v0; axis=1)", y), LS__ONNX_FLOAT, 1,
                    &n);
}
