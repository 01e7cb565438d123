! SPDX-License-Identifier: BSD-3-Clause
! Meshes and pools: devices, and the threads that compute for them.
module lockstep_pool
  use, intrinsic :: iso_c_binding
  use lockstep_base
  implicit none
  public

  type, extends(ls_handle) :: ls_mesh
  end type ls_mesh

  type, extends(ls_handle) :: ls_pool
  end type ls_pool

contains

  ! Plans devices (8 unless given, or the product of axes) and places of
  ! workers (all usable cores unless given).
  subroutine ls_mesh_open(mesh, devices, workers, axes, topology, cpus, stat, &
                          errmsg)
    type(ls_mesh), intent(inout) :: mesh
    integer, intent(in), optional :: devices, workers
    character(*), intent(in), optional :: axes, topology, cpus
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_mesh_options), target :: o
    character(:), allocatable, target :: a, b, c
    type(c_ptr), target :: p
    integer :: s

    call c_mesh_defaults_bytes(c_loc(o), c_sizeof(o))
    if (present(devices)) o%devices = devices
    if (present(workers)) o%workers = workers
    call give(axes, a, o%axes)
    call give(topology, b, o%topology)
    call give(cpus, c, o%cpus)
    s = c_mesh_open(c_loc(p), c_loc(o))
    if (s >= 0) call hold(mesh, p, c_mesh_close)
    call ended(s, stat, errmsg)
  end subroutine ls_mesh_open

  subroutine ls_mesh_close(mesh)
    type(ls_mesh), intent(inout) :: mesh

    call release(mesh%of)
  end subroutine ls_mesh_close

  function ls_mesh_devices(mesh) result(n)
    type(ls_mesh), intent(in) :: mesh
    integer :: n

    n = c_mesh_devices(pointer_of(mesh))
  end function ls_mesh_devices

  function ls_mesh_workers(mesh) result(n)
    type(ls_mesh), intent(in) :: mesh
    integer :: n

    n = c_mesh_workers(pointer_of(mesh))
  end function ls_mesh_workers

  ! Returns "8 devices on 2 workers (PU 0, 1)".
  function ls_mesh_text(mesh) result(text)
    type(ls_mesh), intent(in) :: mesh
    character(:), allocatable :: text

    text = text_of(c_mesh_text(pointer_of(mesh)))
  end function ls_mesh_text

  ! Starts the workers.
  subroutine ls_pool_open(pool, mesh, no_pin, pin_caller, stat, errmsg)
    type(ls_pool), intent(inout) :: pool
    type(ls_mesh), intent(in) :: mesh
    logical, intent(in), optional :: no_pin, pin_caller
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_pool_options), target :: o
    type(c_ptr), target :: p
    integer :: s

    call c_pool_defaults_bytes(c_loc(o), c_sizeof(o))
    if (present(no_pin)) o%no_pin = no_pin
    if (present(pin_caller)) o%pin_caller = pin_caller
    s = c_pool_open(c_loc(p), pointer_of(mesh), c_loc(o))
    if (s >= 0) call hold(pool, p, c_pool_close)
    call ended(s, stat, errmsg)
  end subroutine ls_pool_open

  ! Lets the pool go.  Its workers end with the last trainer that uses it.
  subroutine ls_pool_close(pool)
    type(ls_pool), intent(inout) :: pool

    call release(pool%of)
  end subroutine ls_pool_close

  function ls_pool_workers(pool) result(n)
    type(ls_pool), intent(in) :: pool
    integer :: n

    n = c_pool_workers(pointer_of(pool))
  end function ls_pool_workers

  ! Sets a member of a struct of options to a text, where there is one.
  subroutine give(text, room, member)
    character(*), intent(in), optional :: text
    character(:), allocatable, target, intent(inout) :: room
    type(c_ptr), intent(inout) :: member

    if (.not. present(text)) return
    room = c_text(text)
    member = c_loc(room)
  end subroutine give

end module lockstep_pool
