/* SPDX-License-Identifier: BSD-3-Clause */
/* See figures.h. */
#include "train/figures.h"
#include "data/largest.h"
#include "opt/characters.h"
#include "run/score.h"
#include "run/worth.h"
#include "train/stop.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SHOWN = 20, CHUNK_BYTES = 1 << 26 };

/* ------ The outputs ------ */

/* Read n rows from `first` on; the targets of all rows are kept. */
static int read_rows(figures *f, int64_t first, int64_t n)
{
    size_t bytes = data_row_bytes(&f->held.arrays[1]);
    void *out[] = {f->x, (char *)f->y + (size_t)first * bytes};

    return data_read(&f->held, first, n, out);
}

static int make_room(figures *f)
{
    size_t rows = (size_t)f->rows;

    f->x = malloc((size_t)f->chunk * data_row_bytes(&f->held.arrays[0]));
    f->y = malloc(rows * data_row_bytes(&f->held.arrays[1]));
    f->out = malloc(rows * (size_t)f->width * sizeof *f->out);
    return f->x && f->y && f->out
               ? OPT_GO : opt_fail(OPT_FAILED, "no memory to evaluate");
}

int figures_check(const run *r, int64_t top_k)
{
    const model_settings *s = &r->set.model;

    if (!r->data.inputs && !r->data.again.rows)
        return OPT_GO;
    return worth_check_top(top_k, s->regression ? 0 : s->classes);
}

/* Large images are not read by hundreds. */
static int64_t choose_chunk(const figures *f)
{
    size_t bytes = data_row_bytes(&f->held.arrays[0]);
    int64_t n = bytes < CHUNK_BYTES ? (int64_t)(CHUNK_BYTES / bytes) : 1;

    return n < DATA_CHUNK ? n : DATA_CHUNK;
}

int figures_open(figures *f, const run *r, int64_t top_k)
{
    const data *d = &r->data;
    const char *wanted = r->set.model.output;
    ls_array_spec spec;
    int status;

    *f = (figures){.run = r, .top_k = top_k};
    if ((r->model->tokens && !d->table) || r->set.model.unscored)
        return OPT_GO;
    f->of_images = d->again.rows > 0;
    status = f->of_images ? OPT_GO : data_held_source(d, &f->held);
    if (f->of_images)
        f->held = d->again;
    if (status != OPT_GO || f->held.rows == 0)
        return status;
    status = opt_check(ls_predictor_open(&f->predictor, r->trainer));
    if (status == OPT_GO)
        status = opt_check(ls_context_open(&f->context, f->predictor,
                                           f->of_images ? r->pool : NULL));
    if (status != OPT_GO)
        return status;
    for (int i = 0; ls_predictor_output(f->predictor, i, &spec); i++)
        if (!wanted || strcmp(spec.name, wanted) == 0)
            break;
    f->output = spec.name;
    f->rows = f->held.rows;
    f->width = spec.rank ? spec.shape[0] : 1;
    f->chunk = choose_chunk(f);
    return make_room(f);
}

int figures_take(figures *f)
{
    f->computed = false;
    f->taken = f->rows > 0;
    return f->rows ? opt_check(ls_predictor_refresh(f->predictor,
                                                    f->run->trainer))
                   : OPT_GO;
}

/* A chunk of rows from `first` on. */
static int compute_rows(figures *f, int64_t first)
{
    int64_t n = f->rows - first < f->chunk ? f->rows - first : f->chunk;
    int status = read_rows(f, first, n);

    if (status == 0)
        status = ls_context_set(f->context, f->held.arrays[0].name,
                                f->held.arrays[0].dtype, f->x, n);
    if (status == 0)
        status = ls_context_predict(f->context, f->output, n * f->width,
                                    f->out + first * f->width);
    return status;
}

int figures_compute(figures *f)
{
    int status = stop_asked(f->run, &f->stopped);

    for (int64_t i = 0; i < f->rows && status == OPT_GO && !f->stopped;
         i += f->chunk) {
        status = opt_check(compute_rows(f, i));
        if (status == OPT_GO)
            status = stop_asked(f->run, &f->stopped);
    }
    f->computed = f->rows && status == OPT_GO && !f->stopped;
    return status;
}

/* ------ What is printed ------ */

static void print_numbers(const figures *f, FILE *file)
{
    const data *d = &f->run->data;
    ls_column target = d->table ? data_target(d) : (ls_column){.scale = 1};
    worth w = worth_of(f->rows, f->width, f->out, f->y, target);

    worth_print(&w, file);
}

static void print_classes(const figures *f, FILE *file)
{
    ls_column target = {.words = (int)f->width};
    worth w = worth_of(f->rows, f->width, f->out, f->y, target);
    int64_t k = f->top_k;

    if (f->width == 2 && !f->of_images)
        worth_print_rest(&w, w.rest, file);
    if (k)
        worth_print_top(k, score_top(f->rows, f->width, f->out, f->y, k),
                        file);
}

bool figures_each(const figures *f)
{
    bool classes = f->rows && f->held.arrays[1].dtype == LS_I32;

    const model_settings *m = &f->run->set.model;

    if (f->rows && !f->of_images && (m->select || m->calibrate))
        return true;
    return f->top_k || (!f->of_images && (!classes || f->width == 2));
}

void figures_print(const figures *f, FILE *file)
{
    if (!f->computed)
        return;
    if (f->rows && f->held.arrays[1].dtype == LS_I32)
        print_classes(f, file);
    else if (f->rows)
        print_numbers(f, file);
}

double figures_selected(const figures *f, int64_t select)
{
    return f->rows && f->computed
               ? worth_figure(select, f->rows, f->width, f->out, f->y,
                              data_target(&f->run->data))
               : (double)NAN;
}

double figures_accuracy(const figures *f)
{
    if (!f->rows || !f->computed || f->held.arrays[1].dtype != LS_I32)
        return (double)NAN;
    return score_accuracy(f->rows, f->width, f->out, f->y);
}

/* ------ Those of the best weights ------ */

int figures_keep(figures *f)
{
    size_t size = (size_t)(f->rows * f->width) * sizeof *f->out;

    if (f->rows && !f->best && !(f->best = malloc(size)))
        return opt_fail(OPT_FAILED, "no memory to evaluate");
    if (f->rows)
        memcpy(f->best, f->out, size);
    return OPT_GO;
}

int figures_take_back(figures *f)
{
    float *last = f->out;

    if (!f->best)
        return f->computed ? OPT_GO : figures_compute(f);
    f->out = f->best;
    f->best = last;
    return OPT_GO;
}

/* ------ Confusions ------ */

int64_t figures_said(const figures *f, int64_t row)
{
    return largest(f->width, f->out + row * f->width);
}

const char *figures_class(const figures *f, int64_t i, char room[FIGURES_NAME])
{
    ls_column target = data_target(&f->run->data);
    const normal *n = &f->run->data.normal;

    if (i < target.words)
        return target.word[i];
    if (i < n->classes)
        return n->class_name[i];
    snprintf(room, FIGURES_NAME, "%lld", (long long)i);
    return room;
}

enum { CELL_LEAST = 5, CELL_MOST = 11 };

/* A cell has room for the longest name and count, within what is readable. */
static int cell_width(const figures *f, const int64_t *count)
{
    char text[FIGURES_NAME];
    const char *end;
    int64_t n = f->width;
    int width = CELL_LEAST;

    for (int64_t i = 0; i < n * n + n; i++) {
        const char *cell = i < n ? figures_class(f, i, text) : text;
        int each;

        if (i >= n)
            snprintf(text, sizeof text, "%lld", (long long)count[i - n]);
        each = characters_count(characters_shown(cell), CELL_MOST, &end);
        width = each > width ? each : width;
    }
    return width;
}

static void print_cell(int width, const char *text)
{
    const char *shown = characters_shown(text), *end;
    int n = characters_count(shown, width, &end);

    printf(" %*s%.*s", width - n, "", (int)(end - shown), shown);
}

static void print_counts(const figures *f, const int64_t *count, int64_t done)
{
    char text[FIGURES_NAME];
    int width = cell_width(f, count);
    int64_t n = f->width;

    printf("[lockstep] eval confusion at step %04lld: a line for each class, a "
           "column a guess\n", (long long)done);
    print_cell(width, "");
    for (int64_t k = 0; k < n; k++)
        print_cell(width, figures_class(f, k, text));
    putchar('\n');
    for (int64_t i = 0; i < n; i++) {
        print_cell(width, figures_class(f, i, text));
        for (int64_t k = 0; k < n; k++) {
            snprintf(text, sizeof text, "%lld", (long long)count[i * n + k]);
            print_cell(width, text);
        }
        putchar('\n');
    }
}

/* Are there classes to be confused, and is it known what they are called? */
static bool are_named(const figures *f)
{
    const data *d = &f->run->data;

    return data_target(d).words > 0 || d->normal.classes > 0;
}

void figures_confusion(const figures *f, int64_t done)
{
    const int32_t *label = f->y;
    int64_t count[MOST_SHOWN * MOST_SHOWN] = {0};

    if (!f->computed || f->width > MOST_SHOWN || !are_named(f))
        return;
    for (int64_t i = 0; i < f->rows; i++)
        count[label[i] * f->width + figures_said(f, i)]++;
    print_counts(f, count, done);
}

void figures_close(figures *f)
{
    ls_context_close(f->context);
    ls_predictor_close(f->predictor);
    if (!f->of_images)
        ls_source_close(&f->held);
    free(f->x);
    free(f->y);
    free(f->out);
    free(f->best);
    *f = (figures){0};
}
