/* SPDX-License-Identifier: BSD-3-Clause */
/* See score.h. */
#include "run/score.h"
#include "data/largest.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct scored {
    float score;
    int32_t label;
} scored;

static int by_score(const void *a, const void *b)
{
    const scored *p = a, *q = b;

    return (p->score > q->score) - (p->score < q->score);
}

/* Rows of a label by rising score, *n of them, to be freed; NULL: there is no
 * memory. */
static scored *sort(int64_t rows, int64_t width, const float *out,
                    const int32_t *label, int64_t *n)
{
    scored *s = malloc((size_t)rows * sizeof *s + 1);

    *n = 0;
    for (int64_t i = 0; s && i < rows; i++)
        if (label[i] >= 0)
            s[(*n)++] = (scored){width == 2 ? out[2 * i + 1] - out[2 * i]
                                            : out[i], label[i]};
    if (s)
        qsort(s, (size_t)*n, sizeof *s, by_score);
    return s;
}

/* Each class 1 counts the 0s below it, and half of those equal to it. */
static double count_pairs(int64_t n, const scored *s, double *ones)
{
    double below = 0, pairs = 0;

    *ones = 0;
    for (int64_t i = 0, next; i < n; i = next) {
        double zero = 0, one = 0;

        for (next = i; next < n && s[next].score <= s[i].score; next++)
            *(s[next].label ? &one : &zero) += 1;
        if (next == i)
            return (double)NAN; /* a score that is no number */
        pairs += one * (below + zero / 2);
        below += zero;
        *ones += one;
    }
    return pairs;
}

double score_auc(int64_t rows, int64_t width, const float *out,
                 const int32_t *label)
{
    int64_t n;
    scored *s = sort(rows, width, out, label, &n);
    double ones = 0, pairs = s ? count_pairs(n, s, &ones) : (double)NAN;

    free(s);
    return pairs / (ones * ((double)n - ones));
}

double score_accuracy(int64_t rows, int64_t width, const float *out,
                      const int32_t *label)
{
    double right = 0;

    for (int64_t i = 0; i < rows; i++)
        right += largest(width, out + i * width) == label[i];
    return right / (double)rows;
}

double score_f1(int64_t rows, const float *out, const int32_t *label)
{
    double both = 0, either = 0; /* rows of the class, and said to be */

    for (int64_t i = 0; i < rows; i++) {
        bool said = out[2 * i + 1] > out[2 * i], is = label[i] == 1;

        both += label[i] >= 0 && said && is;
        either += label[i] >= 0 ? said + is : 0;
    }
    return either > 0 ? 2 * both / either : 0;
}

/* Go from the highest score down; those of one score are told at once. */
static double average_precision(int64_t n, const scored *s)
{
    double said = 0, right = 0, sum = 0;

    for (int64_t i = n - 1, next; i >= 0; i = next) {
        double before = right;

        for (next = i; next >= 0 && s[next].score >= s[i].score; next--) {
            said += 1;
            right += s[next].label == 1;
        }
        if (next == i)
            return (double)NAN; /* a score that is no number */
        sum += (right - before) * right / said;
    }
    return sum / right;
}

double score_average_precision(int64_t rows, const float *out,
                               const int32_t *label)
{
    int64_t n;
    scored *s = sort(rows, 2, out, label, &n);
    double found = s ? average_precision(n, s) : (double)NAN;

    free(s);
    return found;
}

class_score score_class(double right, double taken, double rows)
{
    class_score s = {.precision = taken > 0 ? right / taken : 0,
                     .recall = rows > 0 ? right / rows : 0};

    s.f1 = right > 0 ? 2 * right / (taken + rows) : 0;
    return s;
}

/* Go from the highest down, as average_precision does. */
static double best_f1(int64_t n, const scored *s, double *f1)
{
    double all = 0, right = 0, best = (double)NAN;

    for (int64_t i = 0; i < n; i++)
        all += s[i].label == 1;
    for (int64_t i = n - 1, next; i >= 0; i = next) {
        double of;

        for (next = i; next >= 0 && s[next].score >= s[i].score; next--)
            right += s[next].label == 1;
        if (next == i)
            return (double)NAN;
        of = score_class(right, (double)(n - 1 - next), all).f1;
        if (of > *f1) {
            *f1 = of;
            best = next < 0 ? (double)s[i].score
                            : ((double)s[i].score + (double)s[next].score) / 2;
        }
    }
    return best;
}

double score_best_f1(int64_t rows, const float *probability,
                     const int32_t *label, double *f1)
{
    int64_t n;
    scored *s = sort(rows, 1, probability, label, &n);
    double best;

    *f1 = 0;
    best = s ? best_f1(n, s, f1) : (double)NAN;
    free(s);
    return best;
}

double score_mae(int64_t n, const float *out, const float *y)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += fabs((double)y[i] - (double)out[i]);
    return sum / (double)n;
}

static double column_r2(int64_t rows, int64_t width, const float *out,
                        const float *y)
{
    double mean = 0, total = 0, left = 0;

    for (int64_t i = 0; i < rows; i++)
        mean += (double)y[i * width] / (double)rows;
    for (int64_t i = 0; i < rows; i++) {
        double a = (double)y[i * width] - mean;
        double b = (double)y[i * width] - (double)out[i * width];

        total += a * a;
        left += b * b;
    }
    return total > 0 ? 1 - left / total : (double)NAN;
}

double score_r2(int64_t rows, int64_t width, const float *out, const float *y)
{
    double sum = 0;

    for (int64_t k = 0; k < width; k++)
        sum += column_r2(rows, width, out + k, y + k);
    return sum / (double)width;
}

double score_rmse(int64_t n, const float *out, const float *y)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++) {
        double d = (double)y[i] - (double)out[i];

        sum += d * d;
    }
    return sqrt(sum / (double)n);
}

double score_top(int64_t rows, int64_t width, const float *out,
                 const int32_t *label, int64_t k)
{
    double among = 0;
    int64_t n = 0;

    for (int64_t i = 0; i < rows; i++, out += width) {
        int64_t above = 0;

        if (label[i] < 0)
            continue;
        n++;
        for (int64_t c = 0; c < width; c++) /* the first of equals goes first */
            above += out[c] > out[label[i]] ||
                     (c < label[i] && out[c] == out[label[i]]);
        among += above < k;
    }
    return among / (double)n;
}
