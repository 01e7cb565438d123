! SPDX-License-Identifier: BSD-3-Clause
! Batches, and what is computed of them: steps, evaluations, predictions.
module lockstep_batch
  use, intrinsic :: iso_c_binding
  use lockstep_base
  use lockstep_train
  implicit none
  public

  type, extends(ls_handle) :: ls_batch
  end type ls_batch

  ! Gives a batch the rows of an input, whose last index counts rows.  Numbers
  ! of the library's own kinds (real32, int32) are borrowed until the input is
  ! set again or the batch is closed: the array is a pointer or has the target
  ! attribute, and is contiguous.  real64 and int64 are converted into memory of
  ! the batch's own.
  interface ls_batch_set
    module procedure set_real32, set_int32, set_real64, set_int64
  end interface

  ! Computes a named output for every row of a batch.
  interface ls_predict
    module procedure predict_real32, predict_real64
  end interface

  ! Gives a batch a weight for each row, borrowed or converted as rows are.
  interface ls_batch_set_weights
    module procedure weigh_real32, weigh_real64
  end interface

  ! Stores the loss of each row of a batch.
  interface ls_row_losses
    module procedure losses_real32, losses_real64
  end interface

  private :: set_real32, set_int32, set_real64, set_int64, predict_real32, &
    predict_real64, predict, weigh_real32, weigh_real64, losses_real32, &
    losses_real64, refuse_weights

contains

  ! Makes a batch for one trainer, with nothing set.
  subroutine ls_batch_open(batch, trainer, stat, errmsg)
    type(ls_batch), intent(inout) :: batch
    type(ls_trainer), intent(in) :: trainer
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr), target :: p
    integer :: s

    s = c_batch_open(c_loc(p), pointer_of(trainer))
    if (s >= 0) then
      call hold(batch, p, c_batch_close)
      call copy_rows(trainer%of%inputs, batch%of%inputs)
    end if
    call ended(s, stat, errmsg)
  end subroutine ls_batch_open

  subroutine ls_batch_close(batch)
    type(ls_batch), intent(inout) :: batch

    call release(batch%of)
  end subroutine ls_batch_close

  subroutine set_real32(batch, input, values, stat, errmsg)
    type(ls_batch), intent(in) :: batch
    character(*), intent(in) :: input
    real(real32), pointer, intent(in) :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer :: s

    if (associated(values)) then
      s = put_rows(batch, "ls_batch_set", c_batch_set_view, input, LS_F32, &
                   values, c_loc(values))
    else
      s = refuse(batch, "ls_batch_set", c_batch_set_view, input, LS_EINVAL, &
                 "is not allocated")
    end if
    call ended(s, stat, errmsg)
  end subroutine set_real32

  subroutine set_int32(batch, input, values, stat, errmsg)
    type(ls_batch), intent(in) :: batch
    character(*), intent(in) :: input
    integer(int32), pointer, intent(in) :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer :: s

    if (associated(values)) then
      s = put_rows(batch, "ls_batch_set", c_batch_set_view, input, LS_I32, &
                   values, c_loc(values))
    else
      s = refuse(batch, "ls_batch_set", c_batch_set_view, input, LS_EINVAL, &
                 "is not allocated")
    end if
    call ended(s, stat, errmsg)
  end subroutine set_int32

  subroutine set_real64(batch, input, values, stat, errmsg)
    type(ls_batch), intent(in) :: batch
    character(*), intent(in) :: input
    real(real64), intent(in), contiguous, target :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer :: s
    type(c_ptr) :: p

    p = c_null_ptr
    if (associated(batch%of) .and. is_there(values)) &
      p = as_floats(batch%of, trim(input), values)
    s = put_rows(batch, "ls_batch_set", c_batch_set_view, input, LS_F32, &
                 values, p)
    call ended(s, stat, errmsg)
  end subroutine set_real64

  subroutine set_int64(batch, input, values, stat, errmsg)
    type(ls_batch), intent(in) :: batch
    character(*), intent(in) :: input
    integer(int64), intent(in), contiguous, target :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer :: s
    type(c_ptr) :: p

    p = c_null_ptr
    if (associated(batch%of) .and. is_there(values)) &
      p = as_integers(batch%of, trim(input), values)
    s = put_rows(batch, "ls_batch_set", c_batch_set_view, input, LS_I32, &
                 values, p)
    call ended(s, stat, errmsg)
  end subroutine set_int64

  ! Says what weights are not; to C, too, as refuse does.
  function refuse_weights(batch, what) result(s)
    type(ls_batch), intent(in) :: batch
    character(*), intent(in) :: what
    real(c_float), target :: nothing
    integer :: s

    s = c_batch_set_weights(pointer_of(batch), c_loc(nothing), -1_c_int64_t)
    s = failed(LS_EINVAL, "ls_batch_set_weights: the weights are not " // what)
  end function refuse_weights

  subroutine weigh_real32(batch, weights, stat, errmsg)
    type(ls_batch), intent(in) :: batch
    real(real32), pointer, intent(in) :: weights(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer :: s

    if (.not. associated(weights)) then
      s = refuse_weights(batch, "allocated")
    else if (is_contiguous(weights)) then
      s = c_batch_set_weights(pointer_of(batch), c_loc(weights), &
                              size(weights, kind=c_int64_t))
    else
      s = refuse_weights(batch, "contiguous")
    end if
    call ended(s, stat, errmsg)
  end subroutine weigh_real32

  subroutine weigh_real64(batch, weights, stat, errmsg)
    type(ls_batch), intent(in) :: batch
    real(real64), intent(in), contiguous, target :: weights(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: p
    integer :: s

    if (.not. is_there(weights)) then
      s = refuse_weights(batch, "allocated")
    else
      p = c_null_ptr
      ! Under a name that no input has.
      if (associated(batch%of)) p = as_floats(batch%of, "", weights)
      s = c_batch_set_weights(pointer_of(batch), p, count_of(weights))
    end if
    call ended(s, stat, errmsg)
  end subroutine weigh_real64

  ! Trains on one batch.
  subroutine ls_step(trainer, batch, result, stat, errmsg)
    type(ls_trainer), intent(in) :: trainer
    type(ls_batch), intent(in) :: batch
    type(ls_result), intent(inout), optional :: result
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_result), target :: r
    integer :: s

    s = c_step_bytes(pointer_of(trainer), pointer_of(batch), c_loc(r), &
                     c_sizeof(r))
    if (s >= 0 .and. present(result)) result = result_of(r)
    call ended(s, stat, errmsg)
  end subroutine ls_step

  ! Computes loss and accuracy of a batch without an update.
  subroutine ls_evaluate(trainer, batch, result, stat, errmsg)
    type(ls_trainer), intent(in) :: trainer
    type(ls_batch), intent(in) :: batch
    type(ls_result), intent(inout) :: result
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_result), target :: r
    integer :: s

    s = c_evaluate_bytes(pointer_of(trainer), pointer_of(batch), c_loc(r), &
                         c_sizeof(r))
    if (s >= 0) result = result_of(r)
    call ended(s, stat, errmsg)
  end subroutine ls_evaluate

  subroutine losses_real32(trainer, batch, losses, stat, errmsg)
    type(ls_trainer), intent(in) :: trainer
    type(ls_batch), intent(in) :: batch
    real(real32), intent(inout), target, contiguous :: losses(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    call ended(c_row_losses(pointer_of(trainer), pointer_of(batch), &
      count_of(losses), c_loc(losses)), stat, errmsg)
  end subroutine losses_real32

  subroutine losses_real64(trainer, batch, losses, stat, errmsg)
    type(ls_trainer), intent(in) :: trainer
    type(ls_batch), intent(in) :: batch
    real(real64), intent(inout), target, contiguous :: losses(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(real32), allocatable, target :: floats(:)
    integer :: s

    allocate (floats(count_of(losses)))
    s = c_row_losses(pointer_of(trainer), pointer_of(batch), &
                     size(floats, kind=c_int64_t), c_loc(floats))
    call give_floats(s, floats, losses)
    call ended(s, stat, errmsg)
  end subroutine losses_real64

  ! Predicts to the floats at p, which are those of x.
  function predict(trainer, batch, output, x, p) result(s)
    type(ls_trainer), intent(in) :: trainer
    type(ls_batch), intent(in) :: batch
    character(*), intent(in) :: output
    type(*), intent(in), target :: x(..)
    type(c_ptr), intent(in) :: p
    integer, allocatable :: wanted(:)
    integer(c_int64_t) :: n
    integer :: s

    if (associated(trainer%of)) &
      call rows_wanted(trainer%of%outputs, output, wanted)
    n = count_of(x)
    if (judged("ls_predict", output, x, wanted) < 0) n = -1 ! for other ranks
    s = c_predict(pointer_of(trainer), pointer_of(batch), c_text(output), n, p)
    if (n < 0) s = judged("ls_predict", output, x, wanted)
  end function predict

  subroutine predict_real32(trainer, batch, output, values, stat, errmsg)
    type(ls_trainer), intent(in) :: trainer
    type(ls_batch), intent(in) :: batch
    character(*), intent(in) :: output
    real(real32), intent(inout), target, contiguous :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    call ended(predict(trainer, batch, output, values, c_loc(values)), stat, &
               errmsg)
  end subroutine predict_real32

  subroutine predict_real64(trainer, batch, output, values, stat, errmsg)
    type(ls_trainer), intent(in) :: trainer
    type(ls_batch), intent(in) :: batch
    character(*), intent(in) :: output
    real(real64), intent(inout), target, contiguous :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(real32), allocatable, target :: floats(:)
    integer :: s

    floats = floats_of(values) ! rows of weight 0 stay as they are
    s = predict(trainer, batch, output, values, c_loc(floats))
    call give_floats(s, floats, values)
    call ended(s, stat, errmsg)
  end subroutine predict_real64

end module lockstep_batch
