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
    module procedure batch_set_real32, batch_set_int32, &
      batch_set_real64, batch_set_int64
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
    module procedure row_losses_real32, row_losses_real64
  end interface

  private :: weigh_real32, weigh_real64, refuse_weights

contains

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

  include "lockstep_batch.inc"

end module lockstep_batch
