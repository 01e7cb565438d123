/* SPDX-License-Identifier: BSD-3-Clause */
/* Predictions as lines of text. */
#include "predict/table.h"
#include "data/largest.h"
#include "opt/characters.h"
#include "opt/opt.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static int64_t elements(const ls_node *n, int64_t *width)
{
    int64_t shape[LS_MAX_RANK], size = 1;
    int rank = ls_node_shape(n, shape);

    for (int i = 0; i < rank; i++)
        size *= shape[i];
    *width = rank ? shape[rank - 1] : 1;
    return size;
}

/* Does the loss of labels read these logits?  Cross entropy does, and so do its
 * terms with smoothing, or of two labels, behind log_softmax. */
static bool are_classes(const ls_graph *graph, const ls_node *logits)
{
    const ls_node *loss = ls_graph_loss(graph);

    if (!loss)
        return false;
    if (!strcmp(ls_node_op(loss), "cross entropy"))
        return ls_node_input(loss, 0) == logits;
    for (int i = 0; i < ls_graph_nodes(graph); i++) {
        const ls_node *n = ls_graph_node(graph, i);

        if (!strcmp(ls_node_op(n), "log_softmax") &&
            ls_node_input(n, 0) == logits)
            return true;
    }
    return false;
}

table table_new(FILE *file, const ls_graph *graph, int i, ls_column target)
{
    const ls_node *loss = ls_graph_loss(graph);
    table t = {.file = file, .target = target,
               .is_terminal = file && isatty(fileno(file))};
    const ls_node *output = ls_graph_output(graph, i, &t.name);
    int64_t width;

    t.columns = t.size = elements(output, &width);
    if (width == t.size && are_classes(graph, output))
        t.label = "class";
    if (loss && ls_node_input(loss, 0) == output &&
        !strcmp(ls_node_op(loss), "next token")) {
        t.label = "token";
        t.columns = width;
    }
    return t;
}

void table_text(const table *t, const char *before, const char *text)
{
    FILE *file = t->file;

    text = t->is_terminal ? characters_shown(text) : text;
    if (!text[strcspn(text, ",;\t\"\r\n")] && *text != ' ') {
        fprintf(file, "%s%s", before, text);
        return;
    }
    fprintf(file, "\"%s", before);
    for (; *text; text++)
        fprintf(file, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', file);
}

/* "diagnosis,p_benign,p_malignant", or the target alone. */
static void coded_head(const table *t)
{
    if (t->keep)
        keep_head(t->keep, t);
    table_text(t, "", t->target.name);
    for (int i = 0; i < t->target.words; i++) {
        fputc(',', t->file);
        table_text(t, "p_", t->target.word[i]);
    }
    fputc('\n', t->file);
}

void table_head(const table *t)
{
    if (t->target.name) {
        coded_head(t);
        return;
    }
    if (t->files)
        fputs("file,", t->file);
    if (t->label)
        fprintf(t->file, "%s%s", t->label, t->files ? ",probability" : "");
    for (int64_t i = 0; i < t->columns; i++)
        if (t->label && t->class_name) {
            fputc(',', t->file);
            table_text(t, "p_", t->class_name[i]);
        } else if (t->label)
            fprintf(t->file, ",p%lld", (long long)i);
        else if (t->columns > 1)
            fprintf(t->file, "%s%s%lld", i ? "," : "",
                    characters_shown(t->name), (long long)i);
        else
            table_text(t, "", t->name);
    putc('\n', t->file);
}

/* The class of the largest logit, and softmax of all. */
static void classes(const table *t, const float *y)
{
    int64_t top = largest(t->columns, y);
    double sum = 0;

    for (int64_t i = 0; i < t->columns; i++)
        sum += exp((double)y[i] - (double)y[top]);
    if (t->class_name)
        table_text(t, "", t->class_name[top]);
    else
        fprintf(t->file, "%lld", (long long)top);
    if (t->files)
        fprintf(t->file, ",%.6g", opt_shown(1 / sum));
    for (int64_t i = 0; i < t->columns; i++)
        fprintf(t->file, ",%.6g",
                opt_shown(exp((double)y[i] - (double)y[top]) / sum));
}

static void numbers(const table *t, const float *y)
{
    for (int64_t i = 0; i < t->columns; i++)
        fprintf(t->file, "%s%.9g", i ? "," : "", opt_shown((double)y[i]));
}

void table_rows(table *t, int64_t rows, const float *y)
{
    for (int64_t i = 0; i < rows; i++, y += t->size) {
        const float *shown = y + t->size - t->columns;

        if (t->files) {
            table_text(t, "", ls_images_file(t->files, t->row++));
            fputc(',', t->file);
        }
        if (t->label)
            classes(t, shown);
        else
            numbers(t, shown);
        putc('\n', t->file);
    }
}

void table_lines(const table *t, int64_t rows, const double *out,
                 const int *best)
{
    int words = t->target.words;

    for (int64_t i = 0; i < rows; i++) {
        if (t->keep)
            keep_row(t->keep, t);
        if (words)
            table_text(t, "", t->target.word[best[i]]);
        else
            fprintf(t->file, "%.9g", opt_shown(out[i]));
        for (int k = 0; k < words; k++)
            fprintf(t->file, ",%.6g", opt_shown(out[i * words + k]));
        putc('\n', t->file);
    }
}
