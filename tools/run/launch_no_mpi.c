/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs built without MPI are alone, and say so where they are not. */
#include "opt/opt.h"
#include "run/launch.h"

bool launch_has_mpi(void)
{
    return false;
}

int launch_connect(launch *l, int ranks)
{
    (void)l;
    return opt_fail(OPT_FAILED, "started as one of %d ranks, but built without "
                    "MPI (./configure --with-mpi): each rank would do the same "
                    "by itself", ranks);
}

void launch_disconnect(launch *l)
{
    *l = (launch){0};
}
