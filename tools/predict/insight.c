/* SPDX-License-Identifier: BSD-3-Clause */
/* See insight.h. */
#include "predict/insight.h"
#include "data/largest.h"
#include "opt/characters.h"
#include "opt/opt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 5 };

/* ------ Importance ------ */

/* The places of a column among the inputs: of a date several columns of one
 * name. */
typedef struct places {
    const char *name;
    int64_t at, width;
    int next; /* the coding's column behind it */
} places;

static places places_of(const ls_coding *c, int i)
{
    ls_column column;
    places p = {.next = i + 1};

    ls_coding_column(c, i, &column);
    p.name = column.name;
    p.at = column.at;
    p.width = column.words ? column.words : 1;
    while (column.date && ls_coding_column(c, p.next, &column) &&
           !strcmp(column.name, p.name)) {
        p.width++;
        p.next++;
    }
    return p;
}

/* Copy the values of a column from rows of other numbers. */
static void shuffle(float *x, const float *from, const int64_t *order,
                    int64_t rows, int64_t width, places p)
{
    for (int64_t i = 0; i < rows; i++)
        memcpy(x + i * width + p.at, from + order[i] * width + p.at,
               (size_t)p.width * sizeof *x);
}

/* The score lost by one permutation of a column. */
static int lose(const judged *j, ls_array *x, const int64_t *order, places p,
                double *loss)
{
    float *out = NULL;
    int64_t width;
    int status;

    shuffle(x->data, j->x.data, order, j->rows, x->shape[1], p);
    status = worth_predict(j->predictor, x, &out, &width);
    if (status == OPT_GO)
        *loss = j->worth.good -
                worth_of(j->rows, width, out, j->y.data, j->target).good;
    free(out);
    return status;
}

static int measure(const judged *j, ls_array *x, int64_t *order, places p,
                   importance *to)
{
    double sum = 0, squares = 0, loss = 0;
    int status = OPT_GO;
    ls_numpy rs;

    ls_numpy_seed(&rs, 0);
    for (int r = 0; r < REPEATS && status == OPT_GO; r++) {
        ls_numpy_permutation(&rs, j->rows, order);
        status = lose(j, x, order, p, &loss);
        sum += loss;
        squares += loss * loss;
    }
    for (int64_t i = 0; i < j->rows; i++)
        order[i] = i;
    shuffle(x->data, j->x.data, order, j->rows, x->shape[1], p);
    to->name = p.name;
    to->mean = sum / REPEATS;
    to->deviation = sqrt(fmax(squares / REPEATS - to->mean * to->mean, 0));
    return status;
}

static int by_mean(const void *a, const void *b)
{
    double x = ((const importance *)a)->mean, y = ((const importance *)b)->mean;

    return (x < y) - (x > y);
}

static int measure_all(insight *in, ls_array *x, int64_t *order)
{
    const judged *j = in->of;
    int status = OPT_GO, i = 0;
    ls_column c;

    while (status == OPT_GO && ls_coding_column(j->coding, i, &c)) {
        places p = places_of(j->coding, i);

        status = measure(j, x, order, p, &in->column[in->columns++]);
        i = p.next;
    }
    qsort(in->column, (size_t)in->columns, sizeof *in->column, by_mean);
    return status;
}

static int find_importance(insight *in)
{
    const judged *j = in->of;
    ls_array x = j->x;
    size_t size = (size_t)(j->rows * x.shape[1]) * sizeof(float);
    int64_t *order = malloc((size_t)j->rows * sizeof *order);
    int count = 0, status;
    ls_column c;

    while (ls_coding_column(j->coding, count, &c))
        count++;
    in->column = calloc((size_t)count, sizeof *in->column);
    if ((x.data = malloc(size)) && order && in->column) {
        memcpy(x.data, j->x.data, size);
        status = measure_all(in, &x, order);
    } else {
        status = opt_fail(OPT_FAILED, "no memory to shuffle the columns");
    }
    free(x.data);
    free(order);
    return status;
}

/* ------ Calibration ------ */

typedef struct pair {
    double said, is;
} pair;

/* Take of two classes the second, of more the one that is predicted. */
static pair pair_of(const judged *j, int64_t row)
{
    const float *out = j->out + row * j->width;
    int64_t top = j->width == 2 ? 1 : largest(j->width, out);

    if (!j->target.words)
        return (pair){j->target.mean + j->target.scale * (double)*out,
                      j->target.mean +
                          j->target.scale *
                              (double)((const float *)j->y.data)[row]};
    return (pair){judge_probability(j, row, top),
                  ((const int32_t *)j->y.data)[row] == top};
}

static int by_said(const void *a, const void *b)
{
    double x = ((const pair *)a)->said, y = ((const pair *)b)->said;

    return (x > y) - (x < y);
}

/* Find the bin of a probability; one that is no number is in the first. */
static int bin_of(double said)
{
    return said > 0 ? (int)(said * INSIGHT_BINS) : 0;
}

static int find_calibration(insight *in)
{
    const judged *j = in->of;
    pair *all = malloc((size_t)j->rows * sizeof *all);

    if (!all)
        return opt_no_memory("the predictions");
    for (int64_t i = 0; i < j->rows; i++)
        all[i] = pair_of(j, i);
    qsort(all, (size_t)j->rows, sizeof *all, by_said);
    for (int64_t i = 0; i < j->rows; i++) {
        int k = j->target.words ? bin_of(all[i].said)
                                : (int)(i * INSIGHT_BINS / j->rows);
        calibration *bin = &in->bin[k < INSIGHT_BINS ? k : INSIGHT_BINS - 1];

        bin->rows++;
        bin->said += (all[i].said - bin->said) / (double)bin->rows;
        bin->is += (all[i].is - bin->is) / (double)bin->rows;
    }
    free(all);
    return OPT_GO;
}

int insight_open(insight *in, judged *of)
{
    int status;

    *in = (insight){.of = of};
    status = find_importance(in);
    return status == OPT_GO ? find_calibration(in) : status;
}

void insight_close(insight *in)
{
    free(in->column);
}

/* ------ As text ------ */

void insight_print(const insight *in, FILE *file)
{
    const judged *j = in->of;
    bool classes = j->target.words > 0;

    fprintf(file, "\nimportance: %s that is lost where a column is shuffled "
            "(mean, deviation of %d)\n", j->worth.name, REPEATS);
    for (int i = 0; i < in->columns; i++)
        fprintf(file, "%9.4f %9.4f  %s\n", opt_shown(in->column[i].mean),
                opt_shown(in->column[i].deviation),
                characters_shown(in->column[i].name));
    fprintf(file, "\ncalibration: %s %s\n%12s %12s %9s\n",
            !classes ? "the mean of"
            : j->width == 2 ? "the share of rows that are"
                            : "the share of right rows, by the probability of",
            !classes ? characters_shown(j->target.name)
            : j->width == 2 ? characters_shown(j->target.word[1]) : "the class",
            "predicted", "is", "rows");
    for (int k = 0; k < INSIGHT_BINS; k++)
        if (in->bin[k].rows)
            fprintf(file, classes ? "%12.4f %12.4f %9lld\n"
                                  : "%12.6g %12.6g %9lld\n",
                    opt_shown(in->bin[k].said), opt_shown(in->bin[k].is),
                    (long long)in->bin[k].rows);
}
