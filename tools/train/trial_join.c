/* SPDX-License-Identifier: BSD-3-Clause */
/* --cv K --save F: the models of the folds are one, of which each row was held
 * from one part: see trials.h. */
#include "train/trials.h"

#include <lockstep/columns.h>

#include <stdio.h>
#include <stdlib.h>

const char *trial_path(const scratch *folder, int64_t job,
                       char path[TRIAL_PATH])
{
    snprintf(path, TRIAL_PATH, "%s/%lld", folder->folder, (long long)job);
    return path;
}

static int join(session *s, const char *const *path, int64_t folds)
{
    int status = run_open_mesh(&s->run);

    if (status == OPT_GO)
        status = run_open_pool(&s->run);
    if (status == OPT_GO)
        status = opt_check(ls_table_model_join(s->set.save, (int)folds, path,
                                               s->run.pool));
    if (status == OPT_GO)
        opt_note("the model is saved, the mean of these %lld: lockstep-predict "
                 "%s ROWS.csv", (long long)folds, s->set.save);
    return status;
}

int trial_join(session *s, const scratch *folder, int64_t folds)
{
    char (*room)[TRIAL_PATH] = malloc((size_t)folds * sizeof *room);
    const char **path = malloc((size_t)folds * sizeof *path);
    int status;

    for (int64_t i = 0; room && path && i < folds; i++)
        path[i] = trial_path(folder, i, room[i]);
    status = room && path ? join(s, path, folds) : opt_no_memory("the folds");
    free(room);
    free(path);
    return status;
}
