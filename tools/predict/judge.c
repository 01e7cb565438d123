/* SPDX-License-Identifier: BSD-3-Clause */
/* See judge.h. */
#include "predict/judge.h"
#include "data/standard_input.h"
#include "opt/opt.h"

#include <stdlib.h>

int judge_open(judged *j, const ask *a, const char *path, const char *option)
{
    int status;

    *j = (judged){.predictor = ls_table_model_predictor(a->model),
                  .coding = a->coding};
    if (ls_coding_window(a->coding, NULL))
        return opt_fail(OPT_WRONG, "--%s is for tables whose rows stand alone, "
                        "not for a series", option);
    if (!a->table)
        return opt_fail(OPT_WRONG, "--%s: %s: has no target; a table has one",
                        option, path);
    if (!(path = standard_input(path)))
        return OPT_FAILED;
    status = ls_table_data_open_as(&j->data, path, a->coding);
    if (status == 0)
        status = ls_table_data_take(j->data, NULL, &j->x, &j->y);
    if (status < 0)
        return opt_check_usage(status);
    ls_coding_target(a->coding, &j->target);
    j->rows = ls_table_data_rows(j->data);
    status = worth_predict(j->predictor, &j->x, &j->out, &j->width);
    if (status == OPT_GO)
        j->worth = worth_of(j->rows, j->width, j->out, j->y.data, j->target);
    return status;
}

void judge_close(judged *j)
{
    ls_array_free(&j->x);
    ls_array_free(&j->y);
    ls_table_data_close(j->data);
    free(j->out);
}

void judge_print(const judged *j, FILE *file)
{
    fprintf(file, "rows %lld", (long long)j->rows);
    worth_print(&j->worth, file);
    fputc('\n', file);
}
