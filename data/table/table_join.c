/* SPDX-License-Identifier: BSD-3-Clause */
/* Several models of one table as one.  Rows come by the coding of the first;
 * before each of the others stands the line that makes its own of that, and
 * behind it the line back to the first one's target. */
#include "base/error.h"
#include "base/memory.h"
#include "table/coding.h"
#include "table/realmlp_parts.h"
#include <lockstep/model.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCOPE = 32 };

typedef struct joiner {
    int n;
    const char *const *path;
    ls_coding **coding; /* [n] */
    ls_node **out;      /* [n] */
    ls_graph *graph;
    ls_trainer *trainer;
    float *line; /* [2][width] */
} joiner;

/* The name of model i, and of something of it. */
static const char *scope(int i, const char *of, char room[SCOPE])
{
    snprintf(room, SCOPE, "model%d%s", i, of);
    return room;
}

/* ------ One table ------ */

static bool same_column(const ls__column *a, const ls__column *b)
{
    bool same = !strcmp(a->name, b->name) && a->date == b->date &&
                a->at == b->at && a->words.count == b->words.count;

    for (int i = 0; same && i < a->words.count; i++)
        same = !strcmp(a->words.word[i], b->words.word[i]);
    return same;
}

static int check_alike(const joiner *j, int i)
{
    const ls_coding *a = j->coding[0], *b = j->coding[i];
    const char *other = a->columns != b->columns || a->impute != b->impute ||
                        !same_column(&a->target, &b->target)
                            ? a->target.name : NULL;

    for (int k = 0; !other && k < a->columns; k++)
        if (!same_column(&a->column[k], &b->column[k]))
            other = a->column[k].name;
    if (a->window || b->window)
        return ls__fail(LS_EINVAL, "%s: a model of a series is joined to no "
                        "other", j->path[i]);
    return other ? ls__fail(LS_EINVAL, "%s and %s: \"%s\" is another column, "
                            "or has other words: models of one table are "
                            "joined", j->path[0], j->path[i], other)
                 : 0;
}

static int read_codings(joiner *j)
{
    int status = 0;

    for (int i = 0; i < j->n && status == 0; i++) {
        status = ls__coding_of_file(&j->coding[i], j->path[i]);
        if (status == 0)
            status = check_alike(j, i);
    }
    return status;
}

/* ------ One graph ------ */

/* What makes (x - mean of a) / scale of a that of b. */
static double factor(const ls__column *a, const ls__column *b)
{
    return a->scale / b->scale;
}

static double shift(const ls__column *a, const ls__column *b)
{
    return (a->mean - b->mean) / b->scale;
}

/* Model i of rows as the first one has them. */
static ls_node *build(joiner *j, ls_node *x, int i)
{
    const ls__column *a = &j->coding[0]->target, *b = &j->coding[i]->target;
    int64_t width = j->coding[0]->width;
    char room[SCOPE];

    if (i > 0) {
        x = ls_mul(x, ls_buffer(j->graph, scope(i, ".factor", room), 1,
                                &width));
        x = ls_add(x, ls_buffer(j->graph, scope(i, ".shift", room), 1, &width));
    }
    x = ls_graph_add_saved(x, scope(i, "", room), j->path[i]);
    return a->words.count || i == 0
               ? x : ls_scale_shift(x, factor(b, a), shift(b, a));
}

static int build_all(joiner *j)
{
    bool classes = j->coding[0]->target.words.count > 0;
    ls_node *x = ls_input(j->graph, "x", LS_F32, 1, &j->coding[0]->width), *y;

    for (int i = 0; i < j->n; i++)
        j->out[i] = build(j, x, i);
    if (classes) {
        y = ls_input(j->graph, "y", LS_I32, 0, NULL);
        x = ls__mean_logits(j->out, j->n);
        ls_loss(j->graph, ls_cross_entropy(x, y));
    } else {
        y = ls_input(j->graph, "y", LS_F32, 1, (int64_t[]){1});
        x = ls__mean_number(j->out, j->n);
        ls_loss(j->graph, ls_mean_squared_error(x, y));
    }
    return ls_output(j->graph, x, classes ? "logits" : "prediction");
}

/* ------ Their weights ------ */

static int set_line(joiner *j, int i)
{
    const ls_coding *a = j->coding[0], *b = j->coding[i];
    float *by = j->line, *add = j->line + a->width;
    char room[SCOPE];
    int status;

    for (int64_t k = 0; k < a->width; k++)
        by[k] = 1;
    memset(add, 0, (size_t)a->width * sizeof *add);
    for (int c = 0; c < a->columns; c++) {
        const ls__column *from = &a->column[c], *to = &b->column[c];

        if (from->words.count)
            continue;
        by[from->at] = (float)factor(from, to);
        add[from->at] = (float)shift(from, to);
    }
    status = ls_trainer_set(j->trainer, scope(i, ".factor", room), a->width,
                            by);
    return status == 0 ? ls_trainer_set(j->trainer, scope(i, ".shift", room),
                                        a->width, add)
                       : status;
}

static bool is_line(const char *name)
{
    return !strcmp(name, "factor") || !strcmp(name, "shift");
}

/* The array of a file is that of the trainer which is so called. */
static int set_array(joiner *j, const ls_archive *a, int i, const char *name,
                     const char *called)
{
    ls_entry e;
    int at = 0, status;
    float *x;

    while (ls_archive_entry(a, at, &e) && strcmp(e.name, name))
        at++;
    if (!ls_archive_entry(a, at, &e))
        return ls__fail(LS_ENOTFOUND, "%s: has no \"%s\"", j->path[i], name);
    if (!(x = ls__new((size_t)e.elements, sizeof *x, name)))
        return LS_ENOMEM;
    status = ls_archive_read(a, at, e.elements, x);
    if (status == 0)
        status = ls_trainer_set(j->trainer, called, e.elements, x);
    free(x);
    return status;
}

/* The parameters of model i are those of its file. */
static int set_model(joiner *j, int i)
{
    char room[SCOPE];
    size_t n = strlen(scope(i, "", room));
    ls_archive *a = NULL;
    int status = ls_archive_open(&a, j->path[i]);

    for (int k = 0; status == 0 && k < ls_trainer_params(j->trainer); k++) {
        const char *name = ls_trainer_param_name(j->trainer, k);

        if (!strncmp(name, room, n) && name[n] == '.' &&
            !is_line(name + n + 1))
            status = set_array(j, a, i, name + n + 1, name);
    }
    ls_archive_close(a);
    return status == 0 && i > 0 ? set_line(j, i) : status;
}

static int save(joiner *j, const char *path)
{
    ls_setting note = {LS_CODING_NOTE, ls_coding_note(j->coding[0])};
    ls_save_options o = ls_save_defaults();
    int status = 0;

    o.n_notes = 1;
    o.notes = &note;
    for (int i = 0; i < j->n && status == 0; i++)
        status = set_model(j, i);
    return status == 0 ? ls_trainer_save_with(j->trainer, path, &o) : status;
}

static int join(joiner *j, const char *path, ls_pool *pool)
{
    ls_trainer_options o = ls_trainer_defaults();
    int status = read_codings(j);

    o.optimizer = ls_sgd(0);
    if (status == 0)
        j->line = ls__new((size_t)j->coding[0]->width, 2 * sizeof *j->line,
                          path);
    if (status == 0)
        status = j->line ? ls_graph_new(&j->graph) : LS_ENOMEM;
    if (status == 0)
        status = build_all(j);
    if (status == 0)
        status = ls_trainer_open(&j->trainer, pool, j->graph, &o);
    return status == 0 ? save(j, path) : status;
}

int ls_table_model_join(const char *path, int n, const char *const *model,
                        ls_pool *pool)
{
    LS__NEED(path);
    LS__NEED(model);
    LS__NEED(pool);

    joiner j = {.n = n, .path = model};
    int status = LS_ENOMEM;

    if (n < 1)
        return ls__fail(LS_EINVAL, "%s: %d models are joined to none", path, n);
    j.coding = ls__new((size_t)n, sizeof *j.coding, path);
    j.out = ls__new((size_t)n, sizeof *j.out, path);
    if (j.coding && j.out)
        status = join(&j, path, pool);
    ls_trainer_close(j.trainer);
    ls_graph_free(j.graph);
    for (int i = 0; j.coding && i < n; i++)
        ls_coding_free(j.coding[i]);
    free(j.coding);
    free(j.out);
    free(j.line);
    return status;
}
