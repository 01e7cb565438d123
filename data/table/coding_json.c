/* SPDX-License-Identifier: BSD-3-Clause */
/* A coding as JSON text, and back. */
#include "table/coding.h"
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------ To text ------ */

static json_t *column_json(const ls__column *column)
{
    json_t *list;

    if (column->date)
        return json_pack("{s:s, s:s, s:f, s:f}", "name", column->name, "date",
                         ls__date_name[column->date], "mean", column->mean,
                         "scale", column->scale);
    if (!column->words.count)
        return json_pack("{s:s, s:f, s:f}", "name", column->name, "mean",
                         column->mean, "scale", column->scale);
    list = json_array();
    for (int i = 0; i < column->words.count; i++)
        list = ls__json_and(list, json_string(column->words.word[i]));
    return json_pack("{s:s, s:o}", "name", column->name, "words", list);
}

static json_t *coding_object(const ls_coding *c)
{
    json_t *inputs = json_array(), *all;

    for (int i = 0; i < c->columns; i++)
        inputs = ls__json_and(inputs, column_json(&c->column[i]));
    all = json_pack("{s:i, s:s, s:o, s:o}", "version", 1, "missing",
                    c->impute ? "mean" : "refused", "inputs", inputs, "target",
                    column_json(&c->target));
    if (!c->window)
        return all;
    all = ls__json_with(all, "window", json_integer(c->window));
    return ls__json_with(all, "horizon", json_integer(c->horizon));
}

int ls__coding_write(ls_coding *c)
{
    json_t *all = coding_object(c);
    char *text = all ? ls__json_text(all, JSON_COMPACT) : NULL;

    json_decref(all);
    free(c->note);
    c->note = text;
    return text ? 0
                : ls__fail(LS_ENOMEM, "no memory for the description of the "
                           "table");
}

/* ------ From text ------ */

typedef struct reader {
    const char *path;
    const char *where; /* the column */
} reader;

static int refuse(const reader *r, const char *what)
{
    return ls__fail(LS_EFORMAT, "%s: the description of its table is "
                    "wrong%s%s%s: %s", r->path, *r->where ? " at \"" : "",
                    r->where, *r->where ? "\"" : "", what);
}

/* Sorted, so none is there twice, and one can be found. */
static int read_words(const reader *r, ls__column *column, json_t *list)
{
    size_t n = json_array_size(list);

    if (n < 1 || n > 1000000)
        return refuse(r, "it has no words, or too many");
    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value(json_array_get(list, i));

        if (!text ||
            (i && ls__words_compare(column->words.word[i - 1], text) >= 0))
            return refuse(r, "its words are no sorted texts");
        if (!ls__words_add(&column->words, text))
            return LS_ENOMEM;
    }
    ls__words_sort(&column->words);
    return 0;
}

/* Reads the number of a date that the column is, if it is one. */
static int read_date(const reader *r, ls__column *column, json_t *from)
{
    json_t *date = json_object_get(from, "date");
    const char *name = json_string_value(date);

    column->date = name ? ls__date_named(name) : LS__NO_DATE;
    if (date && !column->date)
        return refuse(r, "its date is no part of one");
    return 0;
}

static int read_numbers(const reader *r, ls__column *column, json_t *from)
{
    json_t *mean = json_object_get(from, "mean");
    json_t *scale = json_object_get(from, "scale");

    if (!json_is_number(mean) || !json_is_number(scale) ||
        json_object_size(from) != (column->date ? 4 : 3))
        return refuse(r, "it has neither words nor mean and scale");
    column->mean = json_number_value(mean);
    column->scale = json_number_value(scale);
    if (!isfinite(column->mean) || !isfinite(column->scale) ||
        !(column->scale > 0))
        return refuse(r, "its mean or scale is out of range");
    return 0;
}

static int read_column(reader *r, ls__column *column, json_t *from)
{
    const char *name = json_string_value(json_object_get(from, "name"));
    json_t *list = json_object_get(from, "words");

    r->where = "";
    if (!name)
        return refuse(r, "a column has no name");
    if (!(column->name = ls__text_copy(name)))
        return LS_ENOMEM;
    r->where = column->name;
    column->scale = 1;
    if (read_date(r, column, from) < 0)
        return LS_EFORMAT;
    if (!list)
        return read_numbers(r, column, from);
    if (!json_is_array(list) || json_object_size(from) != 2)
        return refuse(r, "its words are no list");
    return read_words(r, column, list);
}

static int read_inputs(reader *r, ls_coding *c, json_t *list)
{
    size_t n = json_array_size(list);
    int status = 0;

    if ((n < 1 && !c->window) || !json_is_array(list) || n > 1 << 20)
        return refuse(r, "it has no inputs");
    if (!(c->column = ls__new(n + 1, sizeof *c->column, "columns")))
        return LS_ENOMEM;
    for (size_t i = 0; i < n && status == 0; i++) {
        ls__column *column = &c->column[c->columns++];

        status = read_column(r, column, json_array_get(list, i));
        column->at = c->width;
        c->width += column->words.count ? column->words.count : 1;
    }
    return status;
}

/* Read the window of a series: both numbers or none. */
static int read_window(const reader *r, ls_coding *c, json_t *all)
{
    json_t *window = json_object_get(all, "window");
    json_t *horizon = json_object_get(all, "horizon");

    if (!window && !horizon)
        return 0;
    c->window = json_integer_value(window);
    c->horizon = json_integer_value(horizon);
    return c->window < 1 || c->window > INT32_MAX || c->horizon < 1 ||
                   c->horizon > INT32_MAX
               ? refuse(r, "its window or its horizon is out of range")
               : 0;
}

static bool has_words(const ls_coding *c)
{
    bool has = c->target.words.count > 0;

    for (int i = 0; i < c->columns; i++)
        has |= c->column[i].words.count > 0;
    return has;
}

static int read_object(reader *r, ls_coding *c, json_t *all)
{
    const char *missing = json_string_value(json_object_get(all, "missing"));
    int status;

    if (json_integer_value(json_object_get(all, "version")) != 1)
        return refuse(r, "its version is not 1");
    if ((status = read_window(r, c, all)) != 0)
        return status;
    if (!missing || (strcmp(missing, "mean") && strcmp(missing, "refused")) ||
        json_object_size(all) != (c->window ? 6 : 4))
        return refuse(r, "it says not what missing values become");
    c->impute = !strcmp(missing, "mean");
    status = read_inputs(r, c, json_object_get(all, "inputs"));
    if (status == 0)
        status = read_column(r, &c->target, json_object_get(all, "target"));
    if (status == 0 && c->target.date)
        return refuse(&(reader){r->path, "target"}, "it is no date");
    if (status == 0 && c->window && has_words(c))
        return refuse(r, "a series has numbers alone");
    return status;
}

int ls_coding_read(ls_coding **coding, const char *note, const char *path)
{
    LS__NEED(coding);
    LS__NEED(note);
    LS__NEED(path);

    reader r = {path, ""};
    json_error_t error;
    json_t *all = json_loads(note, JSON_REJECT_DUPLICATES, &error);
    ls_coding *c = ls__new(1, sizeof *c, path);
    int status = LS_ENOMEM;

    if (c && all)
        status = read_object(&r, c, all);
    else if (c)
        status = json_error_code(&error) == json_error_out_of_memory
                     ? ls__no_memory(path, 0) : refuse(&r, error.text);

    json_decref(all);
    if (status == 0)
        status = ls__coding_write(c);
    if (status < 0)
        ls_coding_free(c);
    else
        *coding = c;
    return status;
}
