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

  ! Copies the mean gradient of a parameter to values.
  interface ls_gradients_get
    module procedure gradients_get_real32, gradients_get_real64
  end interface

  ! Copies the own gradient of device 1, 2, .. to values.
  interface ls_gradients_get_device
    module procedure gradients_get_device_real32, gradients_get_device_real64
  end interface

  ! Makes a parameter's mean gradient another.
  interface ls_gradients_set
    module procedure gradients_set_real32, gradients_set_real64
  end interface

  ! Stores the gradient of the batch's loss by one of its inputs.
  interface ls_input_gradient
    module procedure input_gradient_real32, input_gradient_real64
  end interface

  private :: wanted_of

contains

  ! The shape of an array for a parameter's gradient.
  subroutine wanted_of(gradients, name, wanted)
    type(ls_gradients), intent(in) :: gradients
    character(*), intent(in) :: name
    integer, allocatable, intent(out) :: wanted(:)

    if (associated(gradients%of)) &
      call param_wanted(gradients%of%needs(1)%to, name, wanted)
  end subroutine wanted_of

  include "lockstep_gradients.inc"

end module lockstep_gradients
