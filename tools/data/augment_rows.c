/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows to train on, augmented. */
#include "data/data.h"
#include "opt/opt.h"

/* The graph wants the two arrays of mixed images also where it evaluates, and
 * nothing is mixed. */
static int name_mixed(data *d)
{
    ls_augment_options *o = &d->augment, held = ls_augment_defaults();

    if (!(o->mixup > 0))
        return OPT_GO;
    held.other = o->other = "other";
    held.share = o->share = "share";
    return d->evaluation.rows
               ? opt_check(ls_source_augment(&d->evaluation, &held)) : OPT_GO;
}

int data_augment(data *d)
{
    ls_augment_options *o = &d->augment;
    int status = name_mixed(d);

    o->channels = d->normal.channels;
    o->mean = d->normal.mean;
    o->std = d->normal.std;
    return status == OPT_GO ? opt_check_usage(ls_source_augment(&d->source, o))
                            : status;
}
