! SPDX-License-Identifier: BSD-3-Clause
! Inference from a model file or beside a training.
module lockstep_predictor
  use, intrinsic :: iso_c_binding
  use lockstep_base
  use lockstep_train
  implicit none
  public

  type, extends(ls_handle) :: ls_predictor
  end type ls_predictor

  ! The memory of one thread's calls.
  type, extends(ls_handle) :: ls_context
  end type ls_context

  ! One sequence of tokens, position by position.
  type, extends(ls_handle) :: ls_generator
  end type ls_generator

  ! Gives a context the rows of an input, as ls_batch_set does.
  interface ls_context_set
    module procedure context_set_real32, context_set_int32, &
      context_set_real64, context_set_int64
  end interface

  ! Computes a named output for the rows that were set.
  interface ls_context_predict
    module procedure context_predict_real32, context_predict_real64
  end interface

  ! Appends tokens; values is the output at the last of them.
  interface ls_generator_append
    module procedure generator_append_real32, generator_append_real64
  end interface

  private :: list_rows, row_of

contains

  ! Lists the inputs and outputs of a predictor.
  subroutine list_rows(p, inputs, outputs)
    type(c_ptr), intent(in) :: p
    type(named_row), allocatable, intent(out) :: inputs(:), outputs(:)
    type(c_array_spec), target :: one
    integer :: i, n

    n = 0
    do while (c_predictor_input(p, n, c_loc(one)))
      n = n + 1
    end do
    allocate (inputs(n))
    do i = 1, n
      if (c_predictor_input(p, i - 1, c_loc(one))) inputs(i) = row_of(one)
    end do
    n = 0
    do while (c_predictor_output(p, n, c_loc(one)))
      n = n + 1
    end do
    allocate (outputs(n))
    do i = 1, n
      if (c_predictor_output(p, i - 1, c_loc(one))) outputs(i) = row_of(one)
    end do
  end subroutine list_rows

  function row_of(one) result(row)
    type(c_array_spec), intent(in) :: one
    type(named_row) :: row

    row%name = text_of(one%name)
    row%shape = turned(one%rank, one%shape)
  end function row_of

  ! Makes the memory of one thread's calls; with a pool, rows are spread over
  ! its workers.
  subroutine ls_context_open(context, predictor, pool, stat, errmsg)
    type(ls_context), intent(inout) :: context
    type(ls_predictor), intent(in) :: predictor
    type(ls_pool), intent(in), optional :: pool
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr), target :: p
    type(c_ptr) :: workers
    type(box), pointer :: shared
    integer :: s

    workers = c_null_ptr
    shared => null()
    if (present(pool)) then
      workers = pointer_of(pool)
      shared => pool%of
    end if
    s = c_context_open(c_loc(p), pointer_of(predictor), workers)
    if (s >= 0) then
      call hold(context, p, c_context_close, also=shared)
      call copy_rows(predictor%of%inputs, context%of%inputs)
      call copy_rows(predictor%of%outputs, context%of%outputs)
    end if
    call ended(s, stat, errmsg)
  end subroutine ls_context_open

  include "lockstep_predictor.inc"

end module lockstep_predictor
