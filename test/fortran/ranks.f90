! SPDX-License-Identifier: BSD-3-Clause
! Trains on the processes of MPI_COMM_WORLD, each of which is given all rows,
! and prints the hash of the state once.  Before that, where ranks give rows of
! their own, the last one's array has a wrong shape, and later those for results
! have; no rank waits for it.
program ranks
  use, intrinsic :: iso_fortran_env, only: real32
  use lockstep
  use lockstep_mpi
  implicit none
  include "mpif.h"
  type(ls_mesh) :: mesh
  type(ls_pool) :: pool
  type(ls_graph) :: graph
  type(ls_trainer) :: trainer
  type(ls_batch) :: batch
  type(ls_mpi) :: mpi
  type(ls_node) :: x, y
  real(real32), target :: xs(3, 40), ys(1, 40), turned(40, 3), ws(40) = 1
  real(real32), pointer :: w(:)
  real(real32) :: out(1, 40), two(2, 20), three(3, 40), four(4, 30)
  character(64) :: hash
  character(200) :: message
  integer :: i, level, rank, ranks_here, stat, ierror

  call ls_mpi_open(mpi, MPI_COMM_WORLD, stat, message)
  if (stat /= LS_EINVAL) error stop "MPI has not been started"
  call MPI_Init_thread(MPI_THREAD_FUNNELED, level, ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks_here, ierror)
  xs = reshape([(mod(i * 7, 16) / 16., i = 1, size(xs))], shape(xs))
  ys(1, :) = xs(1, :) - 2 * xs(2, :) + xs(3, :)**2
  turned = 1
  call ls_mesh_open(mesh, workers=1)
  call ls_pool_open(pool, mesh, no_pin=.true.)
  call ls_graph_new(graph)
  x = ls_input(graph, "x", [3])
  y = ls_input(graph, "y", [1])
  x = ls_dense(ls_relu(ls_dense(x, 16, "hidden")), 1, "out")
  call ls_output(graph, x, "product")
  call ls_loss(graph, ls_mean_squared_error(x, y))
  call ls_mpi_open(mpi, MPI_COMM_WORLD)
  call ls_trainer_open(trainer, pool, graph, rows=LS_ROWS_MOVED, &
                       transport=ls_mpi_transport(mpi))
  call ls_batch_open(batch, trainer)
  if (rank == ranks_here - 1) then
    call ls_batch_set(batch, "x", turned, stat, message)
    if (index(message, "(40,3)") == 0) error stop "another message"
  else
    call ls_batch_set(batch, "x", xs, stat, message)
  end if
  if (stat >= 0) error stop "a wrong shape was taken"
  w => ws
  if (rank == ranks_here - 1) w => null()
  call ls_batch_set_weights(batch, w, stat, message)
  if (stat >= 0) error stop "no weights were taken"
  call ls_trainer_open(trainer, pool, graph, ls_adam(1d-2), &
                       transport=ls_mpi_transport(mpi))
  call ls_batch_open(batch, trainer)
  call ls_batch_set(batch, "x", xs)
  call ls_batch_set(batch, "y", ys)
  do i = 1, 5
    call ls_step(trainer, batch)
  end do
  if (rank == ranks_here - 1) then
    call ls_predict(trainer, batch, "product", two, stat, message)
    if (index(message, "(2,20)") == 0) error stop "another message"
  else
    call ls_predict(trainer, batch, "product", out, stat, message)
  end if
  if (stat /= LS_ESHAPE) error stop "a wrong shape was filled"
  if (rank == ranks_here - 1) then
    call ls_input_gradient(trainer, batch, "x", four, stat=stat, errmsg=message)
    if (index(message, "(4,30)") == 0) error stop "another message"
  else
    call ls_input_gradient(trainer, batch, "x", three, stat=stat, errmsg=message)
  end if
  if (stat /= LS_ESHAPE) error stop "a wrong shape was filled"
  call ls_predict(trainer, batch, "product", out)
  call ls_trainer_hash(trainer, hash)
  if (rank == 0) print "(2a)", "state ", hash
  call ls_mpi_close(mpi) ! the trainer keeps it
  call ls_batch_close(batch)
  call ls_trainer_close(trainer)
  call MPI_Finalize(ierror)
end program ranks
