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

  private :: set_real32, set_int32, set_real64, set_int64, predict_real32, &
    predict_real64, list_rows

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
      call list_rows(p, predictor%of%inputs)
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
      call list_rows(p, predictor%of%inputs)
    end if
    call ended(s, stat, errmsg)
  end subroutine ls_predictor_load

  ! Lists the inputs of a predictor.
  subroutine list_rows(p, inputs)
    type(c_ptr), intent(in) :: p
    type(input_row), allocatable, intent(out) :: inputs(:)
    type(c_array_spec), target :: one
    integer :: i, n

    n = 0
    do while (c_predictor_input(p, n, c_loc(one)))
      n = n + 1
    end do
    allocate (inputs(n))
    do i = 1, n
      if (.not. c_predictor_input(p, i - 1, c_loc(one))) exit
      inputs(i)%name = text_of(one%name)
      inputs(i)%shape = turned(one%rank, one%shape)
    end do
  end subroutine list_rows

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
      call copy_inputs(predictor%of%inputs, context%of%inputs)
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

  subroutine predict_real32(context, output, values, stat, errmsg)
    type(ls_context), intent(in) :: context
    character(*), intent(in) :: output
    real(real32), intent(inout), target, contiguous :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    call ended(c_context_predict(pointer_of(context), c_text(output), &
      count_of(values), c_loc(values)), stat, errmsg)
  end subroutine predict_real32

  subroutine predict_real64(context, output, values, stat, errmsg)
    type(ls_context), intent(in) :: context
    character(*), intent(in) :: output
    real(real64), intent(inout), target, contiguous :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(real32), allocatable, target :: y(:)
    real(real64), pointer :: flat(:)
    integer :: s

    allocate (y(count_of(values)))
    call c_f_pointer(c_loc(values), flat, [size(y)])
    y = real(flat, real32) ! rows of weight 0 stay as they are
    s = c_context_predict(pointer_of(context), c_text(output), &
      size(y, kind=c_int64_t), c_loc(y))
    if (s >= 0) flat = y
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

  ! Appends tokens; values is the output at the last of them.
  subroutine ls_generator_append(generator, tokens, values, stat, errmsg)
    type(ls_generator), intent(in) :: generator
    integer(int32), intent(in), target, contiguous :: tokens(:)
    real(real32), intent(inout), target, contiguous :: values(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    call ended(c_generator_append(pointer_of(generator), &
      size(tokens, kind=c_int64_t), c_loc(tokens), &
      count_of(values), c_loc(values)), stat, errmsg)
  end subroutine ls_generator_append

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
