! SPDX-License-Identifier: BSD-3-Clause
! What a run needs besides steps: rows by their numbers, cut into batches, and
! checkpoints to go on from.
module lockstep_run
  use, intrinsic :: iso_c_binding
  use lockstep_base
  use lockstep_batch
  use lockstep_train
  implicit none
  public

  ! Arrays in memory, whose last extent counts rows.
  type :: ls_source
    type(c_series), allocatable, private :: arrays(:)
    character(64), allocatable, private :: names(:)
  end type ls_source

  ! Batches of a source, made while steps are computed.
  type, extends(ls_handle) :: ls_loader
  end type ls_loader

  ! A text under a name.
  type :: ls_setting
    character(:), allocatable :: name, value
  end type ls_setting

  ! The checkpoints of a run in a folder.
  type, extends(ls_handle) :: ls_checkpoints
  end type ls_checkpoints

  ! Adds an array to a source, borrowed as a batch borrows.  With length a row
  ! i is its rows i + at .. i + at + length - 1, one after the other, without it
  ! row i + at; at is 0 where it is not given.
  interface ls_source_add
    module procedure add_real32, add_int32
  end interface

  private :: add_real32, add_int32, add, c_settings

contains

  ! ------ sources and loaders ------

  subroutine add_real32(source, name, values, at, length)
    type(ls_source), intent(inout) :: source
    character(*), intent(in) :: name
    real(real32), pointer, intent(in) :: values(..)
    integer, intent(in), optional :: at, length

    call add(source, name, LS_F32, values, at, length)
  end subroutine add_real32

  subroutine add_int32(source, name, values, at, length)
    type(ls_source), intent(inout) :: source
    character(*), intent(in) :: name
    integer(int32), pointer, intent(in) :: values(..)
    integer, intent(in), optional :: at, length

    call add(source, name, LS_I32, values, at, length)
  end subroutine add_int32

  subroutine add(source, name, dtype, values, at, length)
    type(ls_source), intent(inout) :: source
    character(*), intent(in) :: name
    integer, intent(in) :: dtype
    type(*), intent(in), target :: values(..)
    integer, intent(in), optional :: at, length
    type(c_series) :: one
    integer :: n

    if (.not. is_contiguous(values)) &
      error stop "ls_source_add: an array that is not contiguous"
    n = size(shape(values))
    one%array%dtype = dtype
    one%array%rank = n
    one%array%shape = 0
    one%array%shape(n:1:-1) = shape(values)
    one%array%data = c_loc(values)
    one%at = 0
    one%length = 0
    if (present(at)) one%at = at
    if (present(length)) one%length = length
    if (.not. allocated(source%arrays)) &
      allocate (source%arrays(0), source%names(0))
    source%arrays = [source%arrays, one]
    source%names = [character(64) :: source%names, name]
  end subroutine add

  ! Cuts a source into batches of so many rows (without batch: all).  With seed
  ! each epoch has an order of its own, drawn from it.
  subroutine ls_loader_open(loader, trainer, source, batch, seed, uneven, &
      no_thread, stat, errmsg)
    type(ls_loader), intent(inout) :: loader
    type(ls_trainer), intent(in) :: trainer
    type(ls_source), intent(in) :: source
    integer, intent(in), optional :: batch, uneven
    integer(int64), intent(in), optional :: seed
    logical, intent(in), optional :: no_thread
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_loader_options), target :: o
    type(c_source), target :: rows
    type(c_series), allocatable, target :: arrays(:)
    character(65), allocatable, target :: names(:)
    type(c_ptr), target :: p
    integer :: i, n, s

    n = 0
    if (allocated(source%arrays)) n = size(source%arrays)
    allocate (arrays(n), names(n))
    do i = 1, n
      arrays(i) = source%arrays(i)
      names(i) = c_text(source%names(i))
      arrays(i)%array%name = c_loc(names(i))
    end do
    call c_loader_defaults_bytes(c_loc(o), c_sizeof(o))
    if (present(batch)) o%batch = batch
    if (present(uneven)) o%uneven = uneven
    if (present(no_thread)) o%no_thread = no_thread
    if (present(seed)) then
      o%shuffle = .true.
      o%key = c_key_new(seed)
    end if
    s = c_source_series(c_loc(rows), n, c_loc(arrays))
    if (s >= 0) then
      s = c_loader_open(c_loc(p), pointer_of(trainer), c_loc(rows), c_loc(o))
      if (s < 0) call c_source_close(c_loc(rows))
    end if
    if (s >= 0) call hold(loader, p, c_loader_close, trainer)
    call ended(s, stat, errmsg)
  end subroutine ls_loader_open

  ! ------ checkpoints ------

  ! Settings as C has them, their texts in room.
  subroutine c_settings(settings, list, room)
    type(ls_setting), intent(in), optional :: settings(:)
    type(c_setting), allocatable, intent(out) :: list(:)
    character(kind=c_char), allocatable, target, intent(out) :: room(:)
    character(:), allocatable :: all
    integer, allocatable :: at(:)
    integer :: i, n

    n = 0
    if (present(settings)) n = size(settings)
    allocate (list(n), at(2 * n))
    all = ""
    do i = 1, n
      at(2 * i - 1) = len(all) + 1
      all = all // c_text(settings(i)%name)
      at(2 * i) = len(all) + 1
      all = all // c_text(settings(i)%value)
    end do
    allocate (room(len(all) + 1))
    do i = 1, len(all)
      room(i) = all(i:i)
    end do
    do i = 1, n
      list(i)%name = c_loc(room(at(2 * i - 1)))
      list(i)%value = c_loc(room(at(2 * i)))
    end do
  end subroutine c_settings

  ! Opens the checkpoints of a run.  Each option is the member of that name of
  ! C's ls_checkpoints_options.
  subroutine ls_checkpoints_open(checkpoints, trainer, folder, keep, &
      settings, may_change, keep_first, stat, errmsg)
    type(ls_checkpoints), intent(inout) :: checkpoints
    type(ls_trainer), intent(in) :: trainer
    character(*), intent(in) :: folder
    integer, intent(in), optional :: keep
    type(ls_setting), intent(in), optional :: settings(:)
    character(*), intent(in), optional :: may_change
    logical, intent(in), optional :: keep_first
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_checkpoints_options), target :: o
    type(c_setting), allocatable, target :: list(:)
    character(kind=c_char), allocatable, target :: room(:)
    character(:), allocatable, target :: path, names
    type(c_ptr), target :: p
    integer :: s

    call c_settings(settings, list, room)
    call c_checkpoints_defaults_bytes(c_loc(o), c_sizeof(o))
    path = c_text(folder)
    o%folder = c_loc(path)
    o%n_settings = size(list)
    if (size(list) > 0) o%settings = c_loc(list)
    if (present(keep)) o%keep = keep
    if (present(keep_first)) o%keep_first = keep_first
    if (present(may_change)) then
      names = c_text(may_change)
      o%may_change = c_loc(names)
    end if
    s = c_checkpoints_open(c_loc(p), pointer_of(trainer), c_loc(o))
    if (s >= 0) call hold(checkpoints, p, c_checkpoints_close, trainer)
    call ended(s, stat, errmsg)
  end subroutine ls_checkpoints_open

  ! Copies the trainer's state and has it written, notes with it.
  subroutine ls_checkpoints_save(checkpoints, notes, stat, errmsg)
    type(ls_checkpoints), intent(in) :: checkpoints
    type(ls_setting), intent(in), optional :: notes(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_setting), allocatable, target :: list(:)
    character(kind=c_char), allocatable, target :: room(:)

    call c_settings(notes, list, room)
    call ended(c_checkpoints_save(pointer_of(checkpoints), size(list), &
      c_loc(list)), stat, errmsg)
  end subroutine ls_checkpoints_save

  include "lockstep_run.inc"

end module lockstep_run
