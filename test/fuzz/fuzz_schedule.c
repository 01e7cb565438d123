/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules of any numbers: what is accepted gives a finite learning rate from
 * 0 up, and what is refused leaves the result alone. */
#include "lockstep.h"
#include "mutate.h"

enum { BOUNDARIES = 4 };

typedef struct input {
    int64_t kind, warmup, decay_steps, done[3];
    double decay_rate, end_lr, peak;
    ls_boundary boundary[BOUNDARIES];
} input;

static void try(const input *in, const ls_schedule *s, int64_t done)
{
    float lr = -1;
    int status = ls_schedule_lr(s, in->peak, done, &lr);

    if (status == 0 ? !(lr >= 0 && lr - lr == 0) : lr != -1)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in = {0};
    ls_schedule s;

    memcpy(&in, data, size < sizeof in ? size : sizeof in);
    s = (ls_schedule){.kind = (ls_schedule_kind)(int)in.kind};
    s.warmup = in.warmup;
    s.decay_steps = in.decay_steps;
    s.decay_rate = in.decay_rate;
    s.end_lr = in.end_lr;
    s.n_boundaries = BOUNDARIES;
    s.boundaries = in.boundary;
    for (int i = 0; i < 3; i++)
        try(&in, &s, in.done[i] < 0 ? 0 : in.done[i]);
    try(&in, &s, INT64_MAX);
    return 0;
}

#ifndef FUZZING
int main(void)
{
    for (int kind = -1; kind < 6; kind++) {
        input in = {kind, 10, 100, {5, 50, 500}, 0.5, 0.01, 0.1,
                    {{20, 0.5}, {30, 0.1}, {40, 2}, {50, 0}}};

        feed(&in, sizeof in, 3000);
        in.decay_steps = INT64_MIN; /* a schedule that has none leaves it */
        feed(&in, sizeof in, 3000);
    }
    return 0;
}
#endif
