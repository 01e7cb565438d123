/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening a model of a table: a predictor, and what its note says. */
#include "table/table_model.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"
#include <lockstep/archive.h>

#include <stdlib.h>
#include <string.h>

LS__DEFAULTS(ls_table_model_options, ls_table_model_defaults_bytes)

/* ------ The two go together ------ */

static int64_t elements(const ls_array_spec *spec)
{
    return ls__count(spec->rank, spec->shape);
}

/* Compares the table of a file with the model that it holds. */
static int check_coding(const ls_table_model *m)
{
    const ls_coding *c = m->coding;
    int64_t outputs = ls__coding_outputs(c);
    int64_t inputs = ls_coding_width(c) * (c->window ? c->window : 1);

    if (elements(&m->in) == inputs && elements(&m->out) == outputs &&
        m->in.dtype == LS_F32)
        return 0;
    return ls__fail(LS_EFORMAT, "the description of its table is not of its "
                    "model: %lld inputs and %lld outputs, not %lld and %lld",
                    (long long)inputs, (long long)outputs,
                    (long long)elements(&m->in), (long long)elements(&m->out));
}

static int join(ls_table_model *m)
{
    ls_array_spec second;

    if (!ls_predictor_input(m->predictor, 0, &m->in) ||
        !ls_predictor_output(m->predictor, 0, &m->out))
        return ls__fail(LS_EFORMAT, "the model has no input");
    if (ls_predictor_input(m->predictor, 1, &second))
        return ls__fail(LS_EFORMAT, "the model has more than one input, "
                        "\"%s\" and \"%s\"", m->in.name, second.name);
    return check_coding(m);
}

/* ------ Files ------ */

int ls__coding_of_file(ls_coding **coding, const char *path)
{
    const char *name, *value;
    ls_archive *a;
    int status = ls_archive_open(&a, path);

    if (status < 0)
        return status;
    status = LS_ENOTFOUND;
    for (int i = 0; ls_archive_note(a, i, &name, &value); i++)
        if (!strcmp(name, LS_CODING_NOTE)) {
            status = ls_coding_read(coding, value, path);
            break;
        }
    if (status == LS_ENOTFOUND)
        ls__fail(status, "%s: does not say what the columns of its table were",
                 path);
    ls_archive_close(a);
    return status;
}

static int open_file(ls_table_model *m, const char *path,
                     const ls_table_model_options *o)
{
    int status = o->adapters
                     ? ls_predictor_load_lora(&m->own, path, o->adapters)
                     : ls_predictor_load(&m->own, path);

    if (status < 0)
        return status;
    status = o->adapters ? ls__coding_of_file(&m->read, o->adapters)
                         : LS_ENOTFOUND;
    if (status == LS_ENOTFOUND)
        status = ls__coding_of_file(&m->read, path);
    m->predictor = m->own;
    m->coding = m->read;
    if (status == 0 && (status = join(m)) < 0)
        ls__fail(status, "%s: %s", path, ls_errmsg());
    return status;
}

int ls_table_model_open(ls_table_model **model, const char *path,
                        const ls_table_model_options *options)
{
    LS__NEED(model);
    LS__NEED(path);

    ls_table_model_options o = ls_table_model_defaults();
    int status = ls__sized_take("table_model", &o, sizeof o, options);
    ls_table_model *m;

    if (status < 0)
        return status;
    if (!(m = ls__new(1, sizeof *m, path)))
        return LS_ENOMEM;
    if ((status = open_file(m, path, &o)) < 0)
        ls_table_model_close(m);
    else
        *model = m;
    return status;
}

int ls_table_model_of(ls_table_model **model, ls_predictor *predictor,
                      const ls_coding *coding)
{
    LS__NEED(model);
    LS__NEED(predictor);
    LS__NEED(coding);

    ls_table_model *m = ls__new(1, sizeof *m, "model of a table");
    int status;

    if (!m)
        return LS_ENOMEM;
    m->predictor = predictor;
    m->coding = coding;
    if ((status = join(m)) < 0)
        free(m);
    else
        *model = m;
    return status;
}

void ls_table_model_close(ls_table_model *model)
{
    if (!model)
        return;
    ls_predictor_close(model->own);
    ls_coding_free(model->read);
    free(model);
}

const ls_coding *ls_table_model_coding(const ls_table_model *model)
{
    LS__NEED_OR(model, NULL);
    return model->coding;
}

ls_predictor *ls_table_model_predictor(const ls_table_model *model)
{
    LS__NEED_OR(model, NULL);
    return model->predictor;
}

/* ------ Contexts ------ */

static int make_room(ls_table_context *t)
{
    const ls_coding *c = t->model->coding;
    size_t columns = (size_t)c->columns + 1;
    size_t inputs = (size_t)elements(&t->model->in);
    size_t outputs = (size_t)elements(&t->model->out);

    t->raw = ls__new(columns, sizeof *t->raw, "rows to predict");
    t->map = ls__new(columns, sizeof *t->map, "rows to predict");
    t->x = ls__new(inputs, LS__TABLE_ROWS * sizeof *t->x, "rows to predict");
    t->y = ls__new(outputs, LS__TABLE_ROWS * sizeof *t->y, "predictions");
    t->last = ls__new(c->window ? inputs : 1, sizeof *t->last,
                      "rows to predict");
    return t->raw && t->map && t->x && t->y && t->last ? 0 : LS_ENOMEM;
}

int ls_table_context_open(ls_table_context **context,
                          const ls_table_model *model, ls_pool *pool)
{
    LS__NEED(context);
    LS__NEED(model);

    ls_table_context *t = ls__new(1, sizeof *t, "rows to predict");
    int status;

    if (!t)
        return LS_ENOMEM;
    t->model = model;
    status = ls_context_open(&t->context, model->predictor, pool);
    if (status == 0)
        status = make_room(t);
    if (status < 0)
        ls_table_context_close(t);
    else
        *context = t;
    return status;
}

void ls_table_context_close(ls_table_context *context)
{
    if (!context)
        return;
    ls_context_close(context->context);
    free(context->raw);
    free(context->map);
    free(context->x);
    free(context->y);
    free(context->last);
    free(context);
}
