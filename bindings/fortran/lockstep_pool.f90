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

  include "lockstep_pool.inc"

end module lockstep_pool
