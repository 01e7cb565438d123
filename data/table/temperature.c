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

/* The log loss of a row: log(sum of e^(x_k - x_label)), the largest taken
 * off. */
static double row_loss(int64_t classes, const float *x, int32_t label,
                       double by)
{
    double most = (double)x[0], sum = 0;

    for (int64_t k = 1; k < classes; k++)
        most = (double)x[k] > most ? (double)x[k] : most;
    for (int64_t k = 0; k < classes; k++) {
        double d = ((double)x[k] - most) * by;

        sum += d > -700 ? ls__exp(d) : 0;
    }
    return ls__log(sum) - ((double)x[label] - most) * by;
}

double ls_log_loss(int64_t rows, int64_t classes, const float *logits,
                   const int32_t *label, double temperature)
{
    LS__NEED_OR(logits, (double)NAN);
    LS__NEED_OR(label, (double)NAN);

    double sum = 0;
    int64_t n = 0;

    for (int64_t i = 0; i < rows; i++)
        if (label[i] >= 0 && label[i] < classes) {
            sum += row_loss(classes, logits + i * classes, label[i],
                            1 / temperature);
            n++;
        }
    return n ? sum / (double)n : (double)NAN;
}

/* The loss has one least value as a function of the logarithm, too. */
double ls_temperature(int64_t rows, int64_t classes, const float *logits,
                      const int32_t *label)
{
    LS__NEED_OR(logits, (double)NAN);
    LS__NEED_OR(label, (double)NAN);

    const double golden = 0.6180339887498949;
    double low = -4, high = 4, at[2], loss[2];

    for (int i = 0; i < 2; i++) {
        at[i] = i ? low + golden * (high - low) : high - golden * (high - low);
        loss[i] = ls_log_loss(rows, classes, logits, label, ls__exp(at[i]));
    }
    for (int i = 0; i < STEPS; i++) {
        bool left = loss[0] <= loss[1]; /* the least is left of at[1] */

        *(left ? &high : &low) = at[left];
        at[left] = at[!left];
        loss[left] = loss[!left];
        at[!left] = left ? high - golden * (high - low)
                         : low + golden * (high - low);
        loss[!left] = ls_log_loss(rows, classes, logits, label,
                                  ls__exp(at[!left]));
    }
    return isnan(loss[0]) ? 1 : ls__exp(at[0]);
}
