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
    module procedure get_real32, get_real64
  end interface

  ! Copies the own gradient of device 1, 2, .. to values.
  interface ls_gradients_get_device
    module procedure device_real32, device_real64
  end interface

  ! Makes a parameter's mean gradient another.
  interface ls_gradients_set
    module procedure put_real32, put_real64
  end interface

  ! Stores the gradient of the batch's loss by one of its inputs.
  interface ls_input_gradient
    module procedure by_input_real32, by_input_real64
  end interface

  private :: get, get_real32, get_real64, from_device, device_real32, &
    device_real64, put, put_real32, put_real64, by_input, by_input_real32, &
    by_input_real64, wanted_of

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

  ! The shape of an array for a parameter's gradient.
  subroutine wanted_of(gradients, name, wanted)
    type(ls_gradients), intent(in) :: gradients
    character(*), intent(in) :: name
    integer, allocatable, intent(out) :: wanted(:)

    if (associated(gradients%of)) &
      call param_wanted(gradients%of%needs(1)%to, name, wanted)
  end subroutine wanted_of

  ! Copies a gradient to the floats at p, which are those of x.
  function get(gradients, name, x, p) result(s)
    type(ls_gradients), intent(in) :: gradients
    character(*), intent(in) :: name
    type(*), intent(in), target :: x(..)
    type(c_ptr), intent(in) :: p
    integer, allocatable :: wanted(:)
    integer :: s

    call wanted_of(gradients, name, wanted)
    s = judged("ls_gradients_get", name, x, wanted)
    if (s == 0) &
      s = c_gradients_get(pointer_of(gradients), c_text(name), count_of(x), p)
  end function get

  subroutine get_real32(gradients, name, values, stat, errmsg)
    type(ls_gradients), intent(in) :: gradients
    character(*), intent(in) :: name
    real(real32), intent(inout), target, contiguous :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    call ended(get(gradients, name, values, c_loc(values)), stat, errmsg)
  end subroutine get_real32

  subroutine get_real64(gradients, name, values, stat, errmsg)
    type(ls_gradients), intent(in) :: gradients
    character(*), intent(in) :: name
    real(real64), intent(inout), target, contiguous :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(real32), allocatable, target :: floats(:)
    integer :: s

    allocate (floats(count_of(values)))
    s = get(gradients, name, values, c_loc(floats))
    call give_floats(s, floats, values)
    call ended(s, stat, errmsg)
  end subroutine get_real64

  function from_device(gradients, number, name, x, p) result(s)
    type(ls_gradients), intent(in) :: gradients
    integer, intent(in) :: number
    character(*), intent(in) :: name
    type(*), intent(in), target :: x(..)
    type(c_ptr), intent(in) :: p
    integer, allocatable :: wanted(:)
    integer :: s

    call wanted_of(gradients, name, wanted)
    s = judged("ls_gradients_get_device", name, x, wanted)
    if (s == 0) &
      s = c_gradients_get_device(pointer_of(gradients), number - 1, &
                                 c_text(name), count_of(x), p)
  end function from_device

  subroutine device_real32(gradients, device, name, values, stat, errmsg)
    type(ls_gradients), intent(in) :: gradients
    integer, intent(in) :: device
    character(*), intent(in) :: name
    real(real32), intent(inout), target, contiguous :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    call ended(from_device(gradients, device, name, values, c_loc(values)), &
               stat, errmsg)
  end subroutine device_real32

  subroutine device_real64(gradients, device, name, values, stat, errmsg)
    type(ls_gradients), intent(in) :: gradients
    integer, intent(in) :: device
    character(*), intent(in) :: name
    real(real64), intent(inout), target, contiguous :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(real32), allocatable, target :: floats(:)
    integer :: s

    allocate (floats(count_of(values)))
    s = from_device(gradients, device, name, values, c_loc(floats))
    call give_floats(s, floats, values)
    call ended(s, stat, errmsg)
  end subroutine device_real64

  ! Makes a gradient the floats at p, which are those of x.
  function put(gradients, name, x, p) result(s)
    type(ls_gradients), intent(in) :: gradients
    character(*), intent(in) :: name
    type(*), intent(in), target :: x(..)
    type(c_ptr), intent(in) :: p
    integer, allocatable :: wanted(:)
    integer :: s

    call wanted_of(gradients, name, wanted)
    s = judged("ls_gradients_set", name, x, wanted)
    if (s == 0) &
      s = c_gradients_set(pointer_of(gradients), c_text(name), count_of(x), p)
  end function put

  subroutine put_real32(gradients, name, values, stat, errmsg)
    type(ls_gradients), intent(in) :: gradients
    character(*), intent(in) :: name
    real(real32), intent(in), target, contiguous :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    call ended(put(gradients, name, values, c_loc(values)), stat, errmsg)
  end subroutine put_real32

  subroutine put_real64(gradients, name, values, stat, errmsg)
    type(ls_gradients), intent(in) :: gradients
    character(*), intent(in) :: name
    real(real64), intent(in), target, contiguous :: values(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(real32), allocatable, target :: floats(:)

    floats = floats_of(values)
    call ended(put(gradients, name, values, c_loc(floats)), stat, errmsg)
  end subroutine put_real64

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

  ! Stores a gradient as the floats at p, which are those of x.
  function by_input(trainer, batch, input, train, x, p) result(s)
    type(ls_trainer), intent(in) :: trainer
    type(ls_batch), intent(in) :: batch
    character(*), intent(in) :: input
    logical, intent(in), optional :: train
    type(*), intent(in), target :: x(..)
    type(c_ptr), intent(in) :: p
    integer, allocatable :: wanted(:)
    logical(c_bool) :: as_step
    integer(c_int64_t) :: n
    integer :: s

    as_step = .false.
    if (present(train)) as_step = train
    if (associated(trainer%of)) &
      call rows_wanted(trainer%of%inputs, input, wanted)
    n = count_of(x)
    if (judged("ls_input_gradient", input, x, wanted) < 0) n = -1 ! for ranks
    s = c_input_gradient(pointer_of(trainer), pointer_of(batch), as_step, &
                         c_text(input), n, p)
    if (n < 0) s = judged("ls_input_gradient", input, x, wanted)
  end function by_input

  subroutine by_input_real32(trainer, batch, input, values, train, stat, &
      errmsg)
    type(ls_trainer), intent(in) :: trainer
    type(ls_batch), intent(in) :: batch
    character(*), intent(in) :: input
    real(real32), intent(inout), target, contiguous :: values(..)
    logical, intent(in), optional :: train
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    call ended(by_input(trainer, batch, input, train, values, c_loc(values)), &
               stat, errmsg)
  end subroutine by_input_real32

  subroutine by_input_real64(trainer, batch, input, values, train, stat, &
      errmsg)
    type(ls_trainer), intent(in) :: trainer
    type(ls_batch), intent(in) :: batch
    character(*), intent(in) :: input
    real(real64), intent(inout), target, contiguous :: values(..)
    logical, intent(in), optional :: train
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(real32), allocatable, target :: floats(:)
    integer :: s

    allocate (floats(count_of(values)))
    s = by_input(trainer, batch, input, train, values, c_loc(floats))
    call give_floats(s, floats, values)
    call ended(s, stat, errmsg)
  end subroutine by_input_real64

end module lockstep_gradients
