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
    module procedure set_real32, set_int32, set_real64, set_int64
  end interface

  ! Computes a named output for the rows that were set.
  interface ls_context_predict
    module procedure predict_real32, predict_real64
  end interface

  ! Appends tokens; values is the output at the last of them.
  interface ls_generator_append
    module procedure append_real32, append_real64
  end interface

  private :: set_real32, set_int32, set_real64, set_int64, predict_real32, &
    predict_real64, predict, append_real32, append_real64, list_rows, row_of

contains

  ! Opens a predictor on what a trainer trains, with its weights as they are.
  subroutine ls_predictor_open(predictor, trainer, stat, errmsg)
    type(ls_predictor), intent(inout) :: predictor
    type(ls_trainer), intent(in) :: trainer
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr), target :: p
    integer :: s

    s = c_predictor_open(c_loc(p), pointer_of(trainer))
    if (s >= 0) then
      call hold(predictor, p, c_predictor_close)
      call list_rows(p, predictor%of%inputs, predictor%of%outputs)
    end if
    call ended(s, stat, errmsg)
  end subroutine ls_predictor_open

  ! Opens a predictor on a model file.
  subroutine ls_predictor_load(predictor, path, stat, errmsg)
    type(ls_predictor), intent(inout) :: predictor
    character(*), intent(in) :: path
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr), target :: p
    integer :: s

    s = c_predictor_load(c_loc(p), c_text(path))
    if (s >= 0) then
      call hold(predictor, p, c_predictor_close)
      call list_rows(p, predictor%of%inputs, predictor%of%outputs)
    end if
    call ended(s, stat, errmsg)
  end subroutine ls_predictor_load

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

  ! Takes the weights of a trainer as they are now.
  subroutine ls_predictor_refresh(predictor, trainer, stat, errmsg)
    type(ls_predictor), intent(in) :: predictor
    type(ls_trainer), intent(in) :: trainer
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    call ended(c_predictor_refresh(pointer_of(predictor), &
      pointer_of(trainer)), stat, errmsg)
  end subroutine ls_predictor_refresh

  subroutine ls_predictor_close(predictor)
    type(ls_predictor), intent(inout) :: predictor

    call release(predictor%of)
  end subroutine ls_predictor_close

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

  subroutine ls_context_close(context)
    type(ls_context), intent(inout) :: context

    call release(context%of)
  end subroutine ls_context_close

  subroutine set_real32(context, input, values, stat, errmsg)
    type(ls_context), intent(in) :: context
    character(*), intent(in) :: input
    real(real32), pointer, intent(in) :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer :: s

    if (associated(values)) then
      s = put_rows(context, "ls_context_set", c_context_set_view, input, &
                   LS_F32, values, c_loc(values))
    else
      s = refuse(context, "ls_context_set", c_context_set_view, input, &
                 LS_EINVAL, "is not allocated")
    end if
    call ended(s, stat, errmsg)
  end subroutine set_real32

  subroutine set_int32(context, input, values, stat, errmsg)
    type(ls_context), intent(in) :: context
    character(*), intent(in) :: input
    integer(int32), pointer, intent(in) :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer :: s

    if (associated(values)) then
      s = put_rows(context, "ls_context_set", c_context_set_view, input, &
                   LS_I32, values, c_loc(values))
    else
      s = refuse(context, "ls_context_set", c_context_set_view, input, &
                 LS_EINVAL, "is not allocated")
    end if
    call ended(s, stat, errmsg)
  end subroutine set_int32

  subroutine set_real64(context, input, values, stat, errmsg)
    type(ls_context), intent(in) :: context
    character(*), intent(in) :: input
    real(real64), intent(in), contiguous, target :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer :: s
    type(c_ptr) :: p

    p = c_null_ptr
    if (associated(context%of) .and. is_there(values)) &
      p = as_floats(context%of, trim(input), values)
    s = put_rows(context, "ls_context_set", c_context_set_view, input, &
                 LS_F32, values, p)
    call ended(s, stat, errmsg)
  end subroutine set_real64

  subroutine set_int64(context, input, values, stat, errmsg)
    type(ls_context), intent(in) :: context
    character(*), intent(in) :: input
    integer(int64), intent(in), contiguous, target :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer :: s
    type(c_ptr) :: p

    p = c_null_ptr
    if (associated(context%of) .and. is_there(values)) &
      p = as_integers(context%of, trim(input), values)
    s = put_rows(context, "ls_context_set", c_context_set_view, input, &
                 LS_I32, values, p)
    call ended(s, stat, errmsg)
  end subroutine set_int64

  ! Predicts to the floats at p, which are those of x.
  function predict(context, output, x, p) result(s)
    type(ls_context), intent(in) :: context
    character(*), intent(in) :: output
    type(*), intent(in), target :: x(..)
    type(c_ptr), intent(in) :: p
    integer, allocatable :: wanted(:)
    integer :: s

    if (associated(context%of)) &
      call rows_wanted(context%of%outputs, output, wanted)
    s = judged("ls_context_predict", output, x, wanted)
    if (s == 0) &
      s = c_context_predict(pointer_of(context), c_text(output), count_of(x), p)
  end function predict

  subroutine predict_real32(context, output, values, stat, errmsg)
    type(ls_context), intent(in) :: context
    character(*), intent(in) :: output
    real(real32), intent(inout), target, contiguous :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    call ended(predict(context, output, values, c_loc(values)), stat, errmsg)
  end subroutine predict_real32

  subroutine predict_real64(context, output, values, stat, errmsg)
    type(ls_context), intent(in) :: context
    character(*), intent(in) :: output
    real(real64), intent(inout), target, contiguous :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(real32), allocatable, target :: floats(:)
    integer :: s

    floats = floats_of(values) ! rows of weight 0 stay as they are
    s = predict(context, output, values, c_loc(floats))
    call give_floats(s, floats, values)
    call ended(s, stat, errmsg)
  end subroutine predict_real64

  ! ------ generation ------

  ! Opens a generator of one sequence, position by position.
  subroutine ls_generator_open(generator, predictor, output, stat, errmsg)
    type(ls_generator), intent(inout) :: generator
    type(ls_predictor), intent(in) :: predictor
    character(*), intent(in) :: output
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr), target :: p
    integer :: s

    s = c_generator_open(c_loc(p), pointer_of(predictor), c_text(output))
    if (s >= 0) call hold(generator, p, c_generator_close, predictor)
    call ended(s, stat, errmsg)
  end subroutine ls_generator_open

  subroutine ls_generator_close(generator)
    type(ls_generator), intent(inout) :: generator

    call release(generator%of)
  end subroutine ls_generator_close

  subroutine append_real32(generator, tokens, values, stat, errmsg)
    type(ls_generator), intent(in) :: generator
    integer(int32), intent(in), target, contiguous :: tokens(:)
    real(real32), intent(inout), target, contiguous :: values(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    call ended(c_generator_append(pointer_of(generator), &
      size(tokens, kind=c_int64_t), c_loc(tokens), &
      count_of(values), c_loc(values)), stat, errmsg)
  end subroutine append_real32

  subroutine append_real64(generator, tokens, values, stat, errmsg)
    type(ls_generator), intent(in) :: generator
    integer(int32), intent(in), target, contiguous :: tokens(:)
    real(real64), intent(inout), target, contiguous :: values(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(real32), allocatable, target :: floats(:)
    integer :: s

    allocate (floats(count_of(values)))
    s = c_generator_append(pointer_of(generator), &
      size(tokens, kind=c_int64_t), c_loc(tokens), &
      size(floats, kind=c_int64_t), c_loc(floats))
    call give_floats(s, floats, values)
    call ended(s, stat, errmsg)
  end subroutine append_real64

  ! Forgets all positions behind the first `length`.
  subroutine ls_generator_cut(generator, length, stat, errmsg)
    type(ls_generator), intent(in) :: generator
    integer(int64), intent(in) :: length
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    call ended(c_generator_cut(pointer_of(generator), length), stat, errmsg)
  end subroutine ls_generator_cut

  ! Returns how many positions there are.
  function ls_generator_length(generator) result(n)
    type(ls_generator), intent(in) :: generator
    integer(int64) :: n

    n = c_generator_length(pointer_of(generator))
  end function ls_generator_length

  ! Returns how many there can be.
  function ls_generator_window(generator) result(n)
    type(ls_generator), intent(in) :: generator
    integer(int64) :: n

    n = c_generator_window(pointer_of(generator))
  end function ls_generator_window

end module lockstep_predictor
