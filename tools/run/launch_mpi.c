/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks over MPI: of programs built with it. */
#include "opt/opt.h"
#include "run/launch.h"

#include <lockstep/mpi.h>

bool launch_has_mpi(void)
{
    return true;
}

int launch_connect(launch *l, int ranks)
{
    int status = ls_mpi_open_world(&l->mpi);

    if (status < 0)
        return opt_check(status);
    l->transport = ls_mpi_transport(l->mpi);
    if (l->transport->ranks == ranks)
        return OPT_GO;
    return opt_fail(OPT_FAILED, "the launcher says that it started %d ranks, "
                    "and MPI that there are %d: the program was built with "
                    "another MPI", ranks, l->transport->ranks);
}

void launch_disconnect(launch *l)
{
    ls_mpi_close(l->mpi);
    *l = (launch){0};
}
