! SPDX-License-Identifier: BSD-3-Clause
! ../lorenz96_mpi.c in Fortran: Lorenz's two-scale model of 1996, whose columns
! are cut over ranks, learns while it runs what the fast variables do to a
! column, to the same bytes on any number of ranks.
!
!     mpifort lorenz96.f90 $(pkg-config --cflags --libs lockstep_mpi_fortran)
!     mpirun -n 4 ./a.out
program lorenz96
  use, intrinsic :: iso_fortran_env, only: real32, real64
  use lockstep
  use lockstep_mpi
  implicit none
  include "mpif.h"
  integer, parameter :: columns = 32, fast = 8, halo = 2, batches = 3000, &
    every = 4
  real(real64), parameter :: forced = 18, h = 1, c = 10, b = 10, dt = 0.005d0
  ! This rank's columns, X in index 0 and its Y behind it, with a halo.
  real(real64), allocatable :: at(:, :), rate(:, :), was(:, :), total(:, :)
  ! What a batch borrows: a row for each column here.
  real(real32), allocatable, target :: x(:, :), y(:, :)
  integer :: rank, ranks, first, n, level, ierror, step
  character(64) :: hash
  type(ls_mpi) :: mpi
  type(ls_mesh) :: mesh
  type(ls_pool) :: pool
  type(ls_trainer) :: trainer
  type(ls_batch) :: batch
  type(ls_result) :: result

  call MPI_Init_thread(MPI_THREAD_FUNNELED, level, ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  first = columns * rank / ranks
  n = columns * (rank + 1) / ranks - first
  if (n < halo) error stop "lorenz96: too many ranks"
  call begin()
  call open_network()
  do step = 1, batches / 2
    call move()
  end do
  do step = 1, batches
    call learn()
  end do
  call ls_trainer_hash(trainer, hash)
  if (rank == 0) print "(a, f8.5)", "loss", result%loss
  if (rank == 0) print "(2a)", "state ", hash
  call ls_batch_close(batch)
  call ls_trainer_close(trainer)
  call ls_pool_close(pool)
  call ls_mpi_close(mpi)
  call MPI_Finalize(ierror)

contains

  subroutine begin()
    integer :: k, j

    allocate (at(0:fast, 1 - halo:n + halo), rate(0:fast, n), was(0:fast, n), &
              total(0:fast, n), x(3, n), y(1, n))
    do k = 1, n
      at(0, k) = forced * mod((first + k - 1) * 7, 11) / 11
      do j = 1, fast
        at(j, k) = 0.01d0 * (mod(((first + k - 1) * fast + j) * 5, 13) - 6)
      end do
    end do
  end subroutine begin

  ! The two columns at each side come from the neighbours.
  subroutine exchange()
    integer :: left, right, count

    left = mod(rank + ranks - 1, ranks)
    right = mod(rank + 1, ranks)
    count = halo * (fast + 1)
    call MPI_Sendrecv(at(0, n - halo + 1), count, MPI_DOUBLE_PRECISION, right, &
      0, at(0, 1 - halo), count, MPI_DOUBLE_PRECISION, left, 0, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call MPI_Sendrecv(at(0, 1), count, MPI_DOUBLE_PRECISION, left, 1, &
      at(0, n + 1), count, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE, ierror)
  end subroutine exchange

  ! Y j = 0 .. fast + 2 of a column, those beyond it being the neighbours'.
  pure function y_of(k, j) result(v)
    integer, intent(in) :: k, j
    real(real64) :: v

    if (j < 1) then
      v = at(fast + j, k - 1)
    else if (j <= fast) then
      v = at(j, k)
    else
      v = at(j - fast, k + 1)
    end if
  end function y_of

  ! What the Y do to a column, added in their order.
  pure function forcing(k) result(f)
    integer, intent(in) :: k
    real(real64) :: f
    integer :: j

    f = 0
    do j = 1, fast
      f = f + at(j, k)
    end do
    f = -h * c / b * f
  end function forcing

  subroutine rates()
    integer :: k, j

    call exchange()
    do k = 1, n
      rate(0, k) = -at(0, k - 1) * (at(0, k - 2) - at(0, k + 1)) - at(0, k) + &
        forced + forcing(k)
      do j = 1, fast
        rate(j, k) = -c * b * y_of(k, j + 1) * (y_of(k, j + 2) - &
          y_of(k, j - 1)) - c * at(j, k) + h * c / b * at(0, k)
      end do
    end do
  end subroutine rates

  ! One time step, by Runge and Kutta's fourth order.
  subroutine move()
    real(real64), parameter :: weight(4) = [1, 2, 2, 1]
    real(real64), parameter :: next(3) = [0.5d0, 0.5d0, 1d0]
    integer :: s

    was = at(:, 1:n)
    total = 0
    do s = 1, 4
      call rates()
      total = total + weight(s) * rate
      if (s < 4) at(:, 1:n) = was + dt * next(s) * rate
    end do
    at(:, 1:n) = was + dt / 6 * total
  end subroutine move

  subroutine open_network()
    type(ls_graph) :: graph
    type(ls_node) :: input, target, out
    type(ls_schedule) :: schedule

    call ls_mpi_open(mpi, MPI_COMM_WORLD)
    call ls_mesh_open(mesh, workers=1) ! 8 devices, by this rank's core
    call ls_pool_open(pool, mesh)
    call ls_mesh_close(mesh)
    call ls_graph_new(graph)
    input = ls_input(graph, "x", [3])
    target = ls_input(graph, "y", [1])
    out = ls_tanh(ls_dense(input, 32, "first"))
    out = ls_dense(ls_tanh(ls_dense(out, 32, "second")), 1, "out")
    call ls_loss(graph, ls_mean_squared_error(out, target))
    schedule = ls_schedule_defaults(LS_COSINE)
    schedule%decay_steps = batches
    call ls_trainer_open(trainer, pool, graph, ls_adam(5d-3), &
      schedule=schedule, transport=ls_mpi_transport(mpi), rows=LS_ROWS_MOVED)
    call ls_batch_open(batch, trainer)
  end subroutine open_network

  ! The model runs on for some steps, and the network learns from its state.
  subroutine learn()
    integer :: s, k

    do s = 1, every
      call move()
    end do
    call exchange()
    do k = 1, n
      x(:, k) = real(at(0, k - 1:k + 1) / 10, real32)
      y(1, k) = real(forcing(k) / 10, real32)
    end do
    call ls_batch_set(batch, "x", x)
    call ls_batch_set(batch, "y", y)
    call ls_step(trainer, batch, result)
  end subroutine learn

end program lorenz96
