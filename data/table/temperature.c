/* SPDX-License-Identifier: BSD-3-Clause */
/* Calibration by one number (Guo et al., "On Calibration of Modern Neural
 * Networks", 2017): logits are divided by the temperature at which the log loss
 * of rows that were not trained on is least. */
#include "base/error.h"
#include "base/scalar.h"

#include <lockstep/realmlp.h>

#include <math.h>

/* Temperatures are from e^-4 to e^4; forty steps of a golden-section search
 * leave one in 3e7 of that. */
enum { STEPS = 40 };

/* The log loss of a row: log(sum of e^(x_k - x_label)), the largest taken off;
 * `share` of each other class's is in it. */
static double row_loss(int64_t classes, const float *x, int32_t label,
                       double by, double share)
{
    double most = (double)x[0], sum = 0, all = 0;

    for (int64_t k = 1; k < classes; k++)
        most = (double)x[k] > most ? (double)x[k] : most;
    for (int64_t k = 0; k < classes; k++) {
        double d = ((double)x[k] - most) * by;

        sum += d > -700 ? ls__exp(d) : 0;
        all += d;
    }
    return ls__log(sum) - share * all -
           (1 - share * (double)classes) * ((double)x[label] - most) * by;
}

/* The mean of these, over the rows that have a label. */
static double loss_at(int64_t rows, int64_t classes, const float *logits,
                      const int32_t *label, double temperature, double share)
{
    double sum = 0;
    int64_t n = 0;

    for (int64_t i = 0; i < rows; i++)
        if (label[i] >= 0 && label[i] < classes) {
            sum += row_loss(classes, logits + i * classes, label[i],
                            1 / temperature, share);
            n++;
        }
    return n ? sum / (double)n : (double)NAN;
}

double ls_log_loss(int64_t rows, int64_t classes, const float *logits,
                   const int32_t *label, double temperature)
{
    LS__NEED_OR(logits, (double)NAN);
    LS__NEED_OR(label, (double)NAN);
    return loss_at(rows, classes, logits, label, temperature, 0);
}

/* A label counts (n + 1 / classes) / (n + 1) and every other class
 * 1 / classes / (n + 1), as if one row more had been seen, of all classes alike
 * (Platt 1999 has one for each, which is much where rows are few and classes
 * many): otherwise the loss of rows that are all right falls without end as the
 * temperature does.  As a function of its logarithm it has one least value. */
double ls_temperature(int64_t rows, int64_t classes, const float *logits,
                      const int32_t *label)
{
    LS__NEED_OR(logits, (double)NAN);
    LS__NEED_OR(label, (double)NAN);

    const double golden = 0.6180339887498949;
    double low = -4, high = 4, at[2], loss[2], share = 0;

    for (int64_t i = 0; i < rows; i++)
        share += label[i] >= 0 && label[i] < classes;
    share = 1 / (share + 1) / (double)classes;

    for (int i = 0; i < 2; i++) {
        at[i] = i ? low + golden * (high - low) : high - golden * (high - low);
        loss[i] = loss_at(rows, classes, logits, label, ls__exp(at[i]), share);
    }
    for (int i = 0; i < STEPS; i++) {
        bool left = loss[0] <= loss[1]; /* the least is left of at[1] */

        *(left ? &high : &low) = at[left];
        at[left] = at[!left];
        loss[left] = loss[!left];
        at[!left] = left ? high - golden * (high - low)
                         : low + golden * (high - low);
        loss[!left] = loss_at(rows, classes, logits, label,
                              ls__exp(at[!left]), share);
    }
    return isnan(loss[0]) ? 1 : ls__exp(at[0]);
}
