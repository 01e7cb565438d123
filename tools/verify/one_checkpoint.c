/* SPDX-License-Identifier: BSD-3-Clause */
/* See one_checkpoint.h. */
#define _GNU_SOURCE
#include "verify/one_checkpoint.h"
#include "opt/opt.h"

#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int one_checkpoint_open(one_checkpoint *s, const char *all, int64_t batches)
{
    char *from = NULL, *to = NULL, *full = batches ? realpath(all, NULL) : NULL;
    int status = OPT_GO;

    snprintf(s->folder, sizeof s->folder, "/tmp/lockstep-verify-XXXXXX");
    if (!batches)
        return mkdtemp(s->folder) ? OPT_GO
                                  : opt_fail(OPT_FAILED, "%s: no folder could "
                                             "be made", s->folder);
    if (!full)
        return opt_fail(OPT_FAILED, "%s: no such folder", all);
    if (!mkdtemp(s->folder) ||
        asprintf(&from, "%s/step-%012" PRId64, full, batches) < 0 ||
        asprintf(&to, "%s/step-%012" PRId64, s->folder, batches) < 0)
        status = opt_fail(OPT_FAILED, "%s: no folder could be made", s->folder);
    if (status == OPT_GO && access(from, R_OK) != 0)
        status = opt_fail(OPT_FAILED, "%s: there is none", from);
    if (status == OPT_GO && symlink(from, to) != 0)
        status = opt_fail(OPT_FAILED, "%s: no link could be made", to);
    if (status != OPT_GO)
        rmdir(s->folder);
    free(from);
    free(to);
    free(full);
    return status;
}

static int remove_one(const char *name, const struct stat *info, int flag,
                      struct FTW *at)
{
    (void)info, (void)flag, (void)at;
    return remove(name);
}

/* Links in it are removed, not followed. */
void one_checkpoint_close(one_checkpoint *s)
{
    if (nftw(s->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) != 0)
        fprintf(stderr, "note: %s is left\n", s->folder);
}
