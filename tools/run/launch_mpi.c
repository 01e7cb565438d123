/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks over MPI: of programs built with it. */
#include "opt/opt.h"
#include "run/launch.h"

#include <lockstep/mpi.h>

bool launch_has_mpi(void)
{
    return true;
}

int launch_connect(launch *l, const launcher *by)
{
    int status = ls_mpi_open_world(&l->mpi), ranks;

    if (status < 0)
        return opt_check(status);
    l->transport = ls_mpi_transport(l->mpi);
    ranks = l->transport->ranks;
    if (ranks < by->ranks || (by->is_all && ranks > by->ranks))
        return opt_fail(OPT_FAILED, "the launcher says that it started %d "
                        "rank%s%s (%s), and MPI that there %s %d: the launcher "
                        "is not that of the MPI that the program was built "
                        "with", by->ranks, opt_s(by->ranks),
                        by->is_all ? "" : " or more", by->name,
                        ranks == 1 ? "is" : "are", ranks);
    if (ranks == 1)
        launch_disconnect(l);
    return OPT_GO;
}

void launch_disconnect(launch *l)
{
    ls_mpi_close(l->mpi);
    *l = (launch){0};
}
