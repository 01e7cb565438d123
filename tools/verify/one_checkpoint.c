/* SPDX-License-Identifier: BSD-3-Clause */
/* See one_checkpoint.h. */
#define _GNU_SOURCE
#include "verify/one_checkpoint.h"
#include "opt/opt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int put_link(const scratch *s, const char *all, int64_t batches)
{
    char *from = NULL, *to = NULL, *full = realpath(all, NULL);
    int status = OPT_GO;

    if (!full)
        return opt_fail(OPT_FAILED, "%s: no such folder", all);
    if (asprintf(&from, "%s/step-%012" PRId64, full, batches) < 0 ||
        asprintf(&to, "%s/step-%012" PRId64, s->folder, batches) < 0)
        status = opt_fail(OPT_FAILED, "no memory for the names of files");
    if (status == OPT_GO && access(from, R_OK) != 0)
        status = opt_fail(OPT_FAILED, "%s: there is none", from);
    if (status == OPT_GO && symlink(from, to) != 0)
        status = opt_fail(OPT_FAILED, "%s: no link could be made", to);
    free(from);
    free(to);
    free(full);
    return status;
}

int one_checkpoint_open(scratch *s, const char *all, int64_t batches)
{
    int status = scratch_open(s, "verify");

    if (status == OPT_GO && batches)
        status = put_link(s, all, batches);
    if (status != OPT_GO)
        scratch_close(s);
    return status;
}
