/* SPDX-License-Identifier: BSD-3-Clause */
/* See healing.h. */
#include "train/healing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool healing_step(healing *h, const ls_trainer *trainer)
{
    int64_t wrong = h->found.wrong;

    h->found = ls_trainer_checks(trainer);
    return h->found.wrong > wrong;
}

/* Steps that were not drawn may have taken the same core's errors in. */
static void tell_onset(const healing *h)
{
    if (h->found.drawn == h->found.steps)
        return;
    fprintf(stderr, "note: of the %lld steps so far %lld were checked; what "
            "this core did in the others stays in the weights.  To be sure, "
            "end the run and go on from a checkpoint that is older than the "
            "fault (delete the younger ones, then --resume), or start again; "
            "without PU %d (--cpus)\n", (long long)h->found.steps,
            (long long)h->found.drawn, h->found.pu);
}

void healing_tell(const healing *h, metrics *m)
{
    fprintf(stderr, "%s: %s\n", opt_program_name, h->found.text);
    tell_onset(h);
    metrics_check(m, &h->found);
}

/* How likely a core that errs in a share p of its devices' gradients is in no
 * check of the drawn steps. */
static double unseen(const healing *h, const run *r, double p)
{
    double each = (double)ls_mesh_devices(r->mesh) /
                  (double)ls_mesh_workers(r->mesh);

    return pow(1 - p, each * (double)h->found.drawn);
}

void healing_end(const healing *h, const run *r)
{
    const ls_checks *c = &h->found;

    if (!r->how.check || !*r->how.check)
        return;
    fprintf(stderr, "note: a core that errs in each of its devices' gradients "
            "went unseen with probability %.3g, in one of 10 with %.3g, in "
            "one of 100 with %.3g; faults that all cores share, and memory "
            "that changes between steps, are not seen at all\n",
            unseen(h, r, 1), unseen(h, r, 0.1), unseen(h, r, 0.01));
    if (ls_mesh_workers(r->mesh) == 1)
        fputs("note: the only worker checked itself, which finds what passes, "
              "and not what stays\n", stderr);
    printf("check %lld of %lld computations wrong, %lld of %lld steps drawn\n",
           (long long)c->wrong, (long long)c->checks, (long long)c->drawn,
           (long long)c->steps);
}
