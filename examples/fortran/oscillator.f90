! SPDX-License-Identifier: BSD-3-Clause
! A simulation in fixed time steps that trains a surrogate while it runs.  The
! force of a Duffing oscillator, x" = x - x^3 - 0.1 x', is taken as expensive:
! each time step gives one pair (x, x') -> force, which takes the place of the
! oldest of 512, and after 32 time steps the surrogate is trained on them all.
! Then the oscillator goes on with the surrogate's force, beside the true one.
!
!     gfortran oscillator.f90 $(pkg-config --cflags --libs lockstep_fortran)
program oscillator
  use, intrinsic :: iso_fortran_env, only: real32, real64
  use lockstep
  implicit none
  integer, parameter :: rows = 512, each = 32
  real(real64), parameter :: dt = 0.05d0
  type(ls_mesh) :: mesh
  type(ls_pool) :: pool
  type(ls_trainer) :: trainer
  type(ls_batch) :: batch
  type(ls_result) :: result
  type(ls_predictor) :: predictor
  type(ls_context) :: surrogate
  real(real32), target :: seen(2, rows), force(1, rows) ! what batches borrow
  real(real64) :: state(2), f
  integer :: step, i, at

  call ls_mesh_open(mesh, devices=4)
  call ls_pool_open(pool, mesh)
  call open_trainer()
  at = 0
  do step = 1, 1000
    if (mod(step, 4) == 1) state = start(step)
    do i = 1, each
      f = true_force(state)
      at = mod(at, rows) + 1
      seen(:, at) = real(state, real32)
      force(1, at) = real(f, real32)
      state = moved(state, f)
    end do
    if (step < rows / each) cycle ! not yet 512 pairs
    call ls_step(trainer, batch, result)
    if (mod(step, 250) == 0) &
      print "(a, i5, a, f6.3)", "time step ", step * each, "  loss", result%loss
  end do
  call go_on()
  call ls_batch_close(batch)
  call ls_trainer_close(trainer)
  call ls_pool_close(pool)
  call ls_mesh_close(mesh)

contains

  subroutine open_trainer()
    type(ls_graph) :: graph
    type(ls_node) :: x, y, target
    type(ls_schedule) :: schedule

    call ls_graph_new(graph)
    x = ls_input(graph, "state", [2])
    target = ls_input(graph, "force", [1])
    y = ls_tanh(ls_dense(x, 32, "hidden"))
    y = ls_dense(ls_tanh(ls_dense(y, 32, "again")), 1, "out")
    call ls_output(graph, y, "force")
    call ls_loss(graph, ls_mean_squared_error(y, target))
    schedule = ls_schedule_defaults(LS_COSINE)
    schedule%decay_steps = 1000
    call ls_trainer_open(trainer, pool, graph, ls_adam(1d-2), &
                         schedule=schedule)
    call ls_batch_open(batch, trainer)
    call ls_batch_set(batch, "state", seen)
    call ls_batch_set(batch, "force", force)
  end subroutine open_trainer

  ! Returns a place to begin: spread over the region without random numbers.
  function start(step) result(s)
    integer, intent(in) :: step
    real(real64) :: s(2)

    s = [mod(step * 7, 37) / 9d0 - 2, mod(step * 13, 29) / 9d0 - 1.5d0]
  end function start

  function true_force(s) result(f)
    real(real64), intent(in) :: s(2)
    real(real64) :: f

    f = s(1) - s(1)**3 - 0.1d0 * s(2)
  end function true_force

  ! Returns the state one time step later (symplectic Euler).
  function moved(s, f) result(next)
    real(real64), intent(in) :: s(2), f
    real(real64) :: next(2)

    next(2) = s(2) + dt * f
    next(1) = s(1) + dt * next(2)
  end function moved

  ! Goes on from one state with both forces, for 100 time steps.
  subroutine go_on()
    real(real64) :: truth(2), made(2), by_net(1, 1)

    call ls_predictor_open(predictor, trainer)
    call ls_context_open(surrogate, predictor)
    truth = [1.5d0, 0d0]
    made = truth
    do step = 1, 100
      truth = moved(truth, true_force(truth))
      call ls_context_set(surrogate, "state", reshape(made, [2, 1]))
      call ls_context_predict(surrogate, "force", by_net)
      made = moved(made, by_net(1, 1))
    end do
    print "(a, 2f7.2)", "true position and velocity ", truth
    print "(a, 2f7.2)", "by the surrogate           ", made
    call ls_context_close(surrogate)
    call ls_predictor_close(predictor)
  end subroutine go_on

end program oscillator
