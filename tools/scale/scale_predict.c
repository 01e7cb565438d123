/* SPDX-License-Identifier: BSD-3-Clause */
/* Stages of a prediction.  So that a large experiment need not be trained here,
 * it is measured on few of its devices, each with the rows that it would
 * have. */
#include "scale/empty.h"
#include "scale/scale.h"

enum { MEASURED_DEVICES = 8 };

/* Measure fewer devices than train there, where that is said by rows of a
 * device. */
static void measure_few(scale *s)
{
    int64_t devices = s->run.how.devices, few = MEASURED_DEVICES;
    data_settings *d = &s->asked.data;

    few = s->prediction.here.cores > few ? s->prediction.here.cores : few;
    if (devices <= few)
        return;
    if (!d->batch_per_device) {
        if (!run_given(&s->run, "batch") || d->batch % devices)
            return;
        d->batch = d->batch / devices * few;
    }
    s->run.how.devices = few;
}

int scale_describe(scale *s)
{
    int status;

    s->predicts = s->set.predict || s->set.report;
    if (!s->predicts)
        return OPT_GO;
    if (s->launch.transport)
        return opt_fail(OPT_WRONG, "--%s is for one process, not for ranks",
                        s->set.predict ? "predict" : "report");
    status = assumed_read(&s->assumed, s->set.assume);
    if (status == OPT_GO)
        status = prediction_open(&s->prediction, s->set.predict,
                                 s->run.how.cpus);
    if (status != OPT_GO)
        return status;
    if (s->run.how.devices == 0) /* auto: the cores there */
        s->run.how.devices = s->prediction.on.cores;
    s->devices = s->run.how.devices;
    if (s->set.predict)
        measure_few(s);
    return OPT_GO;
}

/* Measure what a line takes from core to core, once for all models. */
static int measure_line(scale *s)
{
    const described *here = &s->prediction.here;
    double one = 0, two = 0;
    int status;

    if (s->has_line)
        return OPT_GO;
    status = empty_measure(s->run.how.cpus, here->cores, &one, &two);
    s->has_line = status == OPT_GO;
    s->line = status == OPT_GO && two > one
                  ? (two - one) / described_lines(here, 2) : 0;
    return status;
}

int scale_predict(scale *s)
{
    int status;

    if (!s->predicts)
        return OPT_GO;
    if ((status = measure_line(s)) != OPT_GO)
        return status;
    prediction_make(&s->prediction, &s->findings, &s->assumed, s->line,
                    (int)s->devices);
    s->findings.prediction = &s->prediction;
    return OPT_GO;
}
