/* A coding as JSON text, and back. */
#include "data/coding.h"
#include "opt/opt.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------ To text ------ */

static json_t *column_json(const coding_column *column)
{
    json_t *list, *out;

    if (!column->words.count)
        return json_pack("{s:s, s:f, s:f}", "name", column->name, "mean",
                         column->mean, "scale", column->scale);
    list = json_array();
    for (int i = 0; i < column->words.count; i++)
        if (json_array_append_new(list, json_string(column->words.word[i])) <
            0) {
            json_decref(list);
            return NULL;
        }
    out = json_pack("{s:s, s:o}", "name", column->name, "words", list);
    return out;
}

static json_t *coding_object(const coding *c)
{
    json_t *inputs = json_array(), *all;

    for (int i = 0; inputs && i < c->columns; i++)
        if (json_array_append_new(inputs, column_json(&c->column[i])) < 0) {
            json_decref(inputs);
            return NULL;
        }
    all = json_pack("{s:i, s:s, s:o, s:o}", "version", 1, "missing",
                    c->impute ? "mean" : "refused", "inputs", inputs, "target",
                    column_json(&c->target));
    if (all && c->window &&
        (json_object_set_new(all, "window", json_integer(c->window)) < 0 ||
         json_object_set_new(all, "horizon", json_integer(c->horizon)) < 0)) {
        json_decref(all);
        return NULL;
    }
    return all;
}

char *coding_write(const coding *c)
{
    json_t *all = coding_object(c);
    char *text = all ? json_dumps(all, JSON_COMPACT) : NULL;

    json_decref(all);
    if (!text)
        opt_fail(OPT_FAILED, "no memory for the description of the table");
    return text;
}

/* ------ From text ------ */

typedef struct reader {
    const char *path;
    const char *where; /* the column */
} reader;

static int refuse(const reader *r, const char *what)
{
    return opt_fail(OPT_FAILED, "%s: the description of its table is "
                    "wrong%s%s%s: %s", r->path, *r->where ? " at \"" : "",
                    r->where, *r->where ? "\"" : "", what);
}

/* Sorted, so none is there twice, and one can be found. */
static int read_words(const reader *r, coding_column *column, json_t *list)
{
    size_t n = json_array_size(list);

    if (n < 1 || n > 1000000)
        return refuse(r, "it has no words, or too many");
    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value(json_array_get(list, i));

        if (!text || (i && words_compare(column->words.word[i - 1], text) >= 0))
            return refuse(r, "its words are no sorted texts");
        if (!words_add(&column->words, text))
            return refuse(r, "no memory");
    }
    words_sort(&column->words);
    return OPT_GO;
}

static int read_numbers(const reader *r, coding_column *column, json_t *from)
{
    json_t *mean = json_object_get(from, "mean");
    json_t *scale = json_object_get(from, "scale");

    if (!json_is_number(mean) || !json_is_number(scale) ||
        json_object_size(from) != 3)
        return refuse(r, "it has neither words nor mean and scale");
    column->mean = json_number_value(mean);
    column->scale = json_number_value(scale);
    if (!isfinite(column->mean) || !isfinite(column->scale) ||
        !(column->scale > 0))
        return refuse(r, "its mean or scale is out of range");
    return OPT_GO;
}

static int read_column(reader *r, coding_column *column, json_t *from)
{
    const char *name = json_string_value(json_object_get(from, "name"));
    json_t *list = json_object_get(from, "words");

    r->where = "";
    if (!name || !(column->name = strdup(name)))
        return refuse(r, "a column has no name");
    r->where = column->name;
    column->scale = 1;
    if (!list)
        return read_numbers(r, column, from);
    if (!json_is_array(list) || json_object_size(from) != 2)
        return refuse(r, "its words are no list");
    return read_words(r, column, list);
}

static int read_inputs(reader *r, coding *c, json_t *list)
{
    size_t n = json_array_size(list);
    int status = OPT_GO;

    if ((n < 1 && !c->window) || !json_is_array(list) || n > 1 << 20)
        return refuse(r, "it has no inputs");
    if (!(c->column = calloc(n + 1, sizeof *c->column)))
        return refuse(r, "no memory");
    for (size_t i = 0; i < n && status == OPT_GO; i++) {
        coding_column *column = &c->column[c->columns++];

        status = read_column(r, column, json_array_get(list, i));
        column->at = c->width;
        c->width += column->words.count ? column->words.count : 1;
    }
    return status;
}

/* Those of a series: both or none. */
static int read_window(const reader *r, coding *c, json_t *all)
{
    json_t *window = json_object_get(all, "window");
    json_t *horizon = json_object_get(all, "horizon");

    if (!window && !horizon)
        return OPT_GO;
    c->window = json_integer_value(window);
    c->horizon = json_integer_value(horizon);
    return c->window < 1 || c->window > INT32_MAX || c->horizon < 1 ||
                   c->horizon > INT32_MAX
               ? refuse(r, "its window or its horizon is out of range")
               : OPT_GO;
}

static bool has_words(const coding *c)
{
    bool has = c->target.words.count > 0;

    for (int i = 0; i < c->columns; i++)
        has |= c->column[i].words.count > 0;
    return has;
}

static int read_object(reader *r, coding *c, json_t *all)
{
    const char *missing = json_string_value(json_object_get(all, "missing"));
    int status;

    if (json_integer_value(json_object_get(all, "version")) != 1)
        return refuse(r, "its version is not 1");
    if ((status = read_window(r, c, all)) != OPT_GO)
        return status;
    if (!missing || (strcmp(missing, "mean") && strcmp(missing, "refused")) ||
        json_object_size(all) != (c->window ? 6 : 4))
        return refuse(r, "it says not what missing values become");
    c->impute = !strcmp(missing, "mean");
    status = read_inputs(r, c, json_object_get(all, "inputs"));
    if (status == OPT_GO)
        status = read_column(r, &c->target, json_object_get(all, "target"));
    if (status == OPT_GO && c->window && has_words(c))
        return refuse(r, "a series has numbers alone");
    return status;
}

int coding_load(coding *c, const char *text, const char *path)
{
    reader r = {path, ""};
    json_error_t error;
    json_t *all = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    int status;

    *c = (coding){0};
    status = all ? read_object(&r, c, all) : refuse(&r, error.text);
    json_decref(all);
    if (status != OPT_GO)
        coding_free(c);
    return status;
}
