! SPDX-License-Identifier: BSD-3-Clause
! The transport over MPI, in a library of its own (pkg-config
! lockstep_mpi_fortran).  MPI is started with MPI_THREAD_FUNNELED before:
!
!     call ls_mpi_open(mpi, MPI_COMM_WORLD)
!     call ls_trainer_open(trainer, .., transport=ls_mpi_transport(mpi))
!     ..
!     call ls_trainer_close(trainer)
!     call ls_mpi_close(mpi)
module lockstep_mpi
  use, intrinsic :: iso_c_binding
  use lockstep_base
  use lockstep_train, only: ls_transport
  implicit none
  private
  public :: ls_mpi, ls_mpi_open, ls_mpi_transport, ls_mpi_close

  type, extends(ls_handle) :: ls_mpi
  end type ls_mpi

  interface
    function c_mpi_open_fortran(mpi, comm) result(r) &
      bind(c, name="ls_mpi_open_fortran")
      import
      type(c_ptr), value :: mpi
      integer(c_int), value :: comm
      integer(c_int) :: r
    end function c_mpi_open_fortran

    function c_mpi_transport(mpi) result(r) bind(c, name="ls_mpi_transport")
      import
      type(c_ptr), value :: mpi
      type(c_ptr) :: r
    end function c_mpi_transport

    subroutine c_mpi_close(mpi) bind(c, name="ls_mpi_close")
      import
      type(c_ptr), value :: mpi
    end subroutine c_mpi_close
  end interface

contains

  ! Opens a transport among the processes of a communicator, all of which call
  ! this: the integer of `use mpi`, or comm%mpi_val of `use mpi_f08`.
  subroutine ls_mpi_open(mpi, comm, stat, errmsg)
    type(ls_mpi), intent(inout) :: mpi
    integer, intent(in) :: comm
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr), target :: p
    integer :: s

    s = c_mpi_open_fortran(c_loc(p), comm)
    if (s >= 0) call hold(mpi, p, c_mpi_close)
    call ended(s, stat, errmsg)
  end subroutine ls_mpi_open

  ! Returns the transport, for ls_trainer_open.
  function ls_mpi_transport(mpi) result(transport)
    type(ls_mpi), intent(in) :: mpi
    type(ls_transport) :: transport

    transport%p = c_null_ptr
    if (associated(mpi%of)) transport%p = c_mpi_transport(mpi%of%p)
    transport%of => mpi%of
  end function ls_mpi_transport

  ! Lets the transport go; it ends with the last trainer that uses it.  All
  ! processes call this, before MPI ends.
  subroutine ls_mpi_close(mpi)
    type(ls_mpi), intent(inout) :: mpi

    call release(mpi%of)
  end subroutine ls_mpi_close

end module lockstep_mpi
