/* SPDX-License-Identifier: BSD-3-Clause */
/* See bundle.h. */
#define _GNU_SOURCE
#include "verify/bundle.h"
#include "opt/opt.h"
#include "run/publish_files.h"
#include "verify/find_file.h"
#include "verify/tar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *path_in(const char *folder, const char *name)
{
    char *path = NULL;

    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static int open_folder(bundle *b, const char *folder)
{
    b->transcript = path_in(folder, PUBLISH_TRANSCRIPT);
    b->model = path_in(folder, PUBLISH_MODEL);
    b->sums = path_in(folder, PUBLISH_SUMS);
    if (!b->transcript || !b->model || !b->sums)
        return opt_fail(OPT_FAILED, "no memory for the names of files");
    if (access(b->transcript, F_OK) != 0)
        return opt_fail(OPT_FAILED, "%s: has no " PUBLISH_TRANSCRIPT ": it is "
                        "no folder of lockstep-train --publish", folder);
    if (access(b->model, F_OK) != 0) {
        free(b->model);
        b->model = NULL;
    }
    return OPT_GO;
}

int bundle_open(bundle *b, const char *path)
{
    int status;

    *b = (bundle){.unpacked = {.lock = -1}};
    if (is_folder(path))
        return open_folder(b, path);
    if (!tar_is(path)) {
        b->transcript = strdup(path);
        return b->transcript ? OPT_GO
                             : opt_fail(OPT_FAILED, "no memory for a name");
    }
    status = scratch_open(&b->unpacked, "verify");
    if (status == OPT_GO)
        status = tar_unpack(path, b->unpacked.folder);
    return status == OPT_GO ? open_folder(b, b->unpacked.folder) : status;
}

void bundle_close(bundle *b)
{
    free(b->transcript);
    free(b->model);
    free(b->sums);
    scratch_close(&b->unpacked);
    *b = (bundle){.unpacked = {.lock = -1}};
}
