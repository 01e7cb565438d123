! SPDX-License-Identifier: BSD-3-Clause
! Gradients in hand: read, changed, or made elsewhere before they are applied.
module lockstep_gradients
  use, intrinsic :: iso_c_binding
  use lockstep_base
  use lockstep_batch
  implicit none
  public

  ! The gradients of a trainer, which ends after them.
  type, extends(ls_handle) :: ls_gradients
  end type ls_gradients

contains

  ! Makes room for the mean of what up to `batches` batches (1) add up to.
  subroutine ls_gradients_open(gradients, trainer, batches, stat, errmsg)
    type(ls_gradients), intent(inout) :: gradients
    type(ls_trainer), intent(in) :: trainer
    integer, intent(in), optional :: batches
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr), target :: p
    integer :: n, s

    n = 1
    if (present(batches)) n = batches
    s = c_gradients_open(c_loc(p), pointer_of(trainer), n)
    if (s >= 0) call hold(gradients, p, c_gradients_close, trainer)
    call ended(s, stat, errmsg)
  end subroutine ls_gradients_open

  subroutine ls_gradients_close(gradients)
    type(ls_gradients), intent(inout) :: gradients

    call release(gradients%of)
  end subroutine ls_gradients_close

  ! Computes the mean gradient of a batch, as a step does, without an update.
  subroutine ls_gradients_compute(gradients, batch, result, stat, errmsg)
    type(ls_gradients), intent(in) :: gradients
    type(ls_batch), intent(in) :: batch
    type(ls_result), intent(inout), optional :: result
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_result), target :: r
    integer :: s

    s = c_gradients_compute_bytes(pointer_of(gradients), pointer_of(batch), &
                                  c_loc(r), c_sizeof(r))
    if (s >= 0 .and. present(result)) result = result_of(r)
    call ended(s, stat, errmsg)
  end subroutine ls_gradients_compute

  ! Adds the gradients of one more batch to each device's own.
  subroutine ls_gradients_add(gradients, batch, stat, errmsg)
    type(ls_gradients), intent(in) :: gradients
    type(ls_batch), intent(in) :: batch
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    call ended(c_gradients_add(pointer_of(gradients), pointer_of(batch)), &
               stat, errmsg)
  end subroutine ls_gradients_add

  ! Reduces what was added up to its mean.
  subroutine ls_gradients_mean(gradients, result, stat, errmsg)
    type(ls_gradients), intent(in) :: gradients
    type(ls_result), intent(inout), optional :: result
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_result), target :: r
    integer :: s

    s = c_gradients_mean_bytes(pointer_of(gradients), c_loc(r), c_sizeof(r))
    if (s >= 0 .and. present(result)) result = result_of(r)
    call ended(s, stat, errmsg)
  end subroutine ls_gradients_mean

  ! Copies the mean gradient of a parameter to values.
  subroutine ls_gradients_get(gradients, name, values, stat, errmsg)
    type(ls_gradients), intent(in) :: gradients
    character(*), intent(in) :: name
    real(real32), intent(inout), target, contiguous :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    call ended(c_gradients_get(pointer_of(gradients), c_text(name), &
      count_of(values), c_loc(values)), stat, errmsg)
  end subroutine ls_gradients_get

  ! Copies the own gradient of device 1, 2, .. to values.
  subroutine ls_gradients_get_device(gradients, device, name, values, stat, &
                                     errmsg)
    type(ls_gradients), intent(in) :: gradients
    integer, intent(in) :: device
    character(*), intent(in) :: name
    real(real32), intent(inout), target, contiguous :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    call ended(c_gradients_get_device(pointer_of(gradients), device - 1, &
      c_text(name), count_of(values), c_loc(values)), stat, errmsg)
  end subroutine ls_gradients_get_device

  ! Makes a parameter's mean gradient another.
  subroutine ls_gradients_set(gradients, name, values, stat, errmsg)
    type(ls_gradients), intent(in) :: gradients
    character(*), intent(in) :: name
    real(real32), intent(in), target, contiguous :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    call ended(c_gradients_set(pointer_of(gradients), c_text(name), &
      count_of(values), c_loc(values)), stat, errmsg)
  end subroutine ls_gradients_set

  ! Makes all gradients 0 and forgets what was added up.
  subroutine ls_gradients_clear(gradients)
    type(ls_gradients), intent(in) :: gradients

    call c_gradients_clear(pointer_of(gradients))
  end subroutine ls_gradients_clear

  ! Updates the parameters by the mean gradient.
  subroutine ls_gradients_apply(gradients, result, stat, errmsg)
    type(ls_gradients), intent(in) :: gradients
    type(ls_result), intent(inout), optional :: result
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_result), target :: r
    integer :: s

    s = c_gradients_apply_bytes(pointer_of(gradients), c_loc(r), c_sizeof(r))
    if (s >= 0 .and. present(result)) result = result_of(r)
    call ended(s, stat, errmsg)
  end subroutine ls_gradients_apply

  ! Stores the gradient of the batch's loss by one of its inputs.
  subroutine ls_input_gradient(trainer, batch, input, values, train, stat, &
                               errmsg)
    type(ls_trainer), intent(in) :: trainer
    type(ls_batch), intent(in) :: batch
    character(*), intent(in) :: input
    real(real32), intent(inout), target, contiguous :: values(..)
    logical, intent(in), optional :: train
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    logical(c_bool) :: as_step

    as_step = .false.
    if (present(train)) as_step = train
    call ended(c_input_gradient(pointer_of(trainer), pointer_of(batch), &
      as_step, c_text(input), count_of(values), c_loc(values)), &
      stat, errmsg)
  end subroutine ls_input_gradient

end module lockstep_gradients
