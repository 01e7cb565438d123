/* SPDX-License-Identifier: BSD-3-Clause */
/* lockstep-inspect: the contents of a safetensors file or a checkpoint, or the
 * first array in which two of them differ.
 *
 * Two are equal when they have the same arrays: names, types, shapes and bytes.
 * The order of a file and its notes do not count; the step of a checkpoint
 * does.  Of two records of a step (.lsr) it tells the first thing that was made
 * otherwise. */
#define _GNU_SOURCE
#include "inspect/difference.h"
#include "inspect/entry.h"
#include "opt/json_parts.h"
#include "opt/opt.h"
#include "run/record_option.h"

#include <lockstep.h>

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char opt_program_name[] = "lockstep-inspect";

typedef struct settings {
    bool json;
} settings;

static const opt options[] = {
    {OPT_ROW("json", NULL, OPT_FLAG, offsetof(settings, json), NULL, "",
             "one object of JSON")},
};

static const opt_model only = {
    .name = "",
    .about = "Show what a safetensors file or a checkpoint holds, and the "
             "graph of a model\nfile; of two, the first array that differs "
             "(exit status 1); of two records\nof a step (.lsr), the first "
             "operator and element.",
};
static const opt_model *const models[] = {&only};

typedef struct run {
    opt_program program;
    settings set;
    opt_line line;
    ls_archive *archive[2];
} run;

/* The key of a model file's graph. */
static const char GRAPH[] = "lockstep.graph";

/* ------ Numbers of an array ------ */

typedef struct stats {
    bool known;
    double min, mean, max, norm; /* NaN where one of the elements is */
} stats;

static stats stats_of(const ls_archive *a, int i)
{
    int64_t n = entry_of(a, i).elements;
    float *x = entry_floats(a, i);
    double sum = 0, squares = 0;
    stats s = {x && n > 0, HUGE_VAL, 0, -HUGE_VAL, 0};

    for (int64_t k = 0; s.known && k < n; k++) {
        double v = (double)x[k];

        s.min = v < s.min || v != v ? v : s.min;
        s.max = v > s.max || v != v ? v : s.max;
        sum += v;
        squares += v * v;
    }
    s.mean = n ? sum / (double)n : 0;
    s.norm = sqrt(squares);
    free(x);
    return s;
}

/* ------ One: a table ------ */

static void print_notes(const ls_archive *a)
{
    const char *name, *value;

    for (int i = 0; ls_archive_note(a, i, &name, &value); i++) {
        if (!strcmp(name, GRAPH)) /* which is drawn */
            continue;
        entry_print(name, 0);
        fputs(": ", stdout);
        entry_print(value, 0);
        putchar('\n');
    }
}

static void print_number(bool known, double x)
{
    if (known)
        printf("  %11.4g", opt_shown(x));
    else
        printf("  %11s", "-");
}

static void print_row(const ls_archive *a, int i, int name_width,
                      int shape_width)
{
    ls_entry e = entry_of(a, i);
    stats s = stats_of(a, i);
    char shape[ENTRY_TEXT];

    entry_shape(&e, shape);
    entry_print(e.name, name_width);
    printf("  %-5s  %-*s", e.dtype, shape_width, shape);
    print_number(s.known, s.min);
    print_number(s.known, s.mean);
    print_number(s.known, s.max);
    print_number(s.known, s.norm);
    printf("  %11" PRId64 "\n", e.bytes);
}

static int max_width(int a, size_t b)
{
    return a > (int)b ? a : (int)b;
}

static void print_table(const ls_archive *a)
{
    int names = 4, shapes = 5, n = ls_archive_entries(a);
    int64_t elements = 0, bytes = 0;

    for (int i = 0; i < n; i++) {
        ls_entry e = entry_of(a, i);
        char shape[ENTRY_TEXT];

        entry_shape(&e, shape);
        names = max_width(names, strlen(e.name));
        shapes = max_width(shapes, strlen(shape));
        elements += e.elements;
        bytes += e.bytes;
    }
    print_notes(a);
    printf("%-*s  %-5s  %-*s  %11s  %11s  %11s  %11s  %11s\n", names, "name",
           "dtype", shapes, "shape", "min", "mean", "max", "norm", "bytes");
    for (int i = 0; i < n; i++)
        print_row(a, i, names, shapes);
    printf("%d array%s, %" PRId64 " element%s, %" PRId64 " bytes\n", n,
           opt_s(n), elements, opt_s(elements), bytes);
}

/* ------ One: JSON ------ */

/* null where it is no number. */
static json_t *number(bool known, double x)
{
    return known && isfinite(x) ? json_real(x) : json_null();
}

static json_t *shape_json(const ls_entry *e)
{
    json_t *shape = json_array();

    for (int i = 0; i < e->rank; i++)
        shape = json_and(shape, json_integer(e->shape[i]));
    return shape;
}

static json_t *row_json(const ls_archive *a, int i)
{
    ls_entry e = entry_of(a, i);
    stats s = stats_of(a, i);

    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:I}", "name", e.name,
                     "dtype", e.dtype, "shape", shape_json(&e), "min",
                     number(s.known, s.min), "mean", number(s.known, s.mean),
                     "max", number(s.known, s.max), "norm",
                     number(s.known, s.norm), "bytes", (json_int_t)e.bytes);
}

static json_t *archive_json(const ls_archive *a, const char *path)
{
    json_t *notes = json_object(), *arrays = json_array();
    const char *name, *value;

    for (int i = 0; ls_archive_note(a, i, &name, &value); i++)
        notes = json_with(notes, name, json_string(value));
    for (int i = 0; i < ls_archive_entries(a); i++)
        arrays = json_and(arrays, row_json(a, i));
    return json_pack("{s:s*, s:o, s:o}", "path", path, "notes", notes,
                     "arrays", arrays);
}

/* ------ */

static int open_archives(run *r)
{
    int status = OPT_GO;

    if (r->line.paths == 0)
        return opt_fail(OPT_WRONG, "which file?  see %s --help",
                        opt_program_name);
    for (int i = 0; i < r->line.paths && status == OPT_GO; i++)
        status = opt_check(ls_archive_open(&r->archive[i], r->line.path[i]));
    return status;
}

/* ------ A graph: names may be anybody's, and entry_print shows them ------ */

static int number_of(const ls_graph *g, const ls_node *n)
{
    int i = 0;

    while (ls_graph_node(g, i) != n)
        i++;
    return i;
}

static void node_shape(const ls_node *n, char text[ENTRY_TEXT])
{
    ls_entry e = {0};

    e.rank = ls_node_shape(n, e.shape);
    entry_shape(&e, text);
}

/* The name of the output that a node is, or NULL. */
static const char *output_of(const ls_graph *g, const ls_node *n)
{
    const char *name = NULL;

    for (int i = 0; ls_graph_output(g, i, &name); i++)
        if (ls_graph_output(g, i, NULL) == n)
            return name;
    return NULL;
}

static void print_node(const ls_graph *g, int i)
{
    const ls_node *n = ls_graph_node(g, i);
    const char *output = output_of(g, n);
    char shape[ENTRY_TEXT];

    node_shape(n, shape);
    printf("%5d  ", i);
    entry_print(ls_node_op(n), 13);
    printf("  ");
    entry_print(ls_node_name(n), 24);
    printf("  %-14s", shape);
    for (int k = 0; ls_node_input(n, k); k++)
        printf(" %s%d", k ? "" : "<- ", number_of(g, ls_node_input(n, k)));
    if (output) {
        printf("  output ");
        entry_print(output, 0);
    }
    puts(n == ls_graph_loss(g) ? "  loss" : "");
}

static void print_graph(const ls_graph *g)
{
    printf("\n%5s  %-13s  %-24s  %-14s %s\n", "node", "operator", "name", "row",
           "from");
    for (int i = 0; i < ls_graph_nodes(g); i++)
        print_node(g, i);
}

static int draw(const char *path)
{
    ls_graph *graph = NULL;
    int status = opt_check(ls_graph_load(&graph, path));

    if (status == OPT_GO)
        print_graph(graph);
    ls_graph_free(graph);
    return status;
}

static int show_one(const run *r)
{
    const ls_archive *a = r->archive[0];
    const char *path = r->line.path[0];

    if (r->set.json)
        return opt_end(json_print(archive_json(a, path), JSON_INDENT(1)));
    print_table(a);
    return opt_end(entry_note(a, GRAPH) ? draw(path) : OPT_GO);
}

static int show_two(const run *r)
{
    pair two = {{r->archive[0], r->archive[1]},
                {r->line.path[0], r->line.path[1]}};
    difference d = difference_find(&two);
    int status = d.arrays ? OPT_FAILED : OPT_GO;

    if (!r->set.json)
        difference_print(&two, &d);
    else if (json_print(difference_json(&d), JSON_INDENT(1)) != OPT_GO)
        status = OPT_FAILED;
    return opt_end(status);
}

/* ------ Two records of a step ------ */

static bool are_records(const run *r)
{
    return r->line.paths == 2 && opt_ends_as(r->line.path[0], ".lsr") &&
           opt_ends_as(r->line.path[1], ".lsr");
}

static json_t *bits(uint32_t x)
{
    char text[9];

    snprintf(text, sizeof text, "%08" PRIx32, x);
    return json_string(text);
}

static int print_record_json(const ls_record_difference *d)
{
    json_t *all = json_pack("{s:b,s:s}", "same", d->same, "text", d->text);

    if (d->element >= 0) {
        all = json_with(all, "element", json_integer(d->element));
        all = json_with(all, "a", bits(d->a));
        all = json_with(all, "b", bits(d->b));
    }
    return json_print(all, JSON_COMPACT);
}

static int compare_records(const char *a, const char *b, bool json)
{
    ls_record_difference d;
    int status = opt_check(ls_record_compare(a, b, &d));

    if (status != OPT_GO)
        return status;
    if (json && print_record_json(&d) != OPT_GO)
        return OPT_FAILED;
    if (!json)
        record_option_show(&d);
    return opt_end(d.same ? OPT_GO : OPT_FAILED);
}

int main(int argc, char **argv)
{
    static run r; /* not of a small stack (ulimit -s) */
    int status;

    r.program = (opt_program){.models = models, .model_count = 1, .paths = 2,
                              .args = "FILE|FOLDER [FILE2|FOLDER2]"};
    opt_add(&r.program, (opt_rows)OPT_ROWS(options), &r.set);
    status = opt_parse(&r.program, argc, argv, &r.line);
    if (status == OPT_GO && are_records(&r))
        return compare_records(r.line.path[0], r.line.path[1], r.set.json);
    if (status == OPT_GO)
        status = open_archives(&r);
    if (status == OPT_GO)
        status = r.line.paths == 2 ? show_two(&r) : show_one(&r);
    ls_archive_close(r.archive[0]);
    ls_archive_close(r.archive[1]);
    return status == OPT_DONE ? 0 : status;
}
