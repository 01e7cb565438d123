/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs built without MPI are alone, and say so where they are not. */
#include "opt/opt.h"
#include "run/launch.h"

#include <stdio.h>

bool launch_has_mpi(void)
{
    return false;
}

int launch_connect(launch *l, const launcher *by)
{
    char count[16] = "several";

    (void)l;
    if (by->is_all)
        snprintf(count, sizeof count, "%d", by->ranks);
    return opt_fail(OPT_FAILED, "started as one of %s ranks (%s), but built "
                    "without MPI (./configure --with-mpi): each rank would do "
                    "the same by itself; unset %s if there is no other",
                    count, by->name, by->name);
}

void launch_disconnect(launch *l)
{
    *l = (launch){0};
}
