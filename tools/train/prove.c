/* SPDX-License-Identifier: BSD-3-Clause */
/* See prove.h. */
#include "train/prove.h"
#include "train/judged.h"

#include <inttypes.h>
#include <stdio.h>

/* The name of the input begins at *name. */
static bool read_claim(const char *text, ls_row_claim *c, int *name)
{
    *name = 0;
    return sscanf(text, "%" SCNd64 ":%" SCNd64 ":%8" SCNx32 ":%8" SCNx32 ":%n",
                  &c->step, &c->element, &c->a, &c->b, name) == 4 &&
           *name && text[*name] && c->step >= 0 && c->element >= 0;
}

int prove_batch(run *r, const char *what, const char *path)
{
    ls_row_claim c = ls_row_claim_defaults();
    int name, status;

    if (!read_claim(what, &c, &name))
        return opt_fail(OPT_WRONG, "--prove %s: it takes a step and an element "
                        "of its batch, counted from 0, the bits that two sides "
                        "say it has, and the input, as "
                        "4:117:3f800000:3f800001:x", what);
    if (judged_tell_rows(r))
        return OPT_DONE;
    status = data_evidence(&r->data, what + name, &c, path);
    return status == OPT_GO ? OPT_DONE : status;
}
