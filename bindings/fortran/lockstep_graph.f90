! SPDX-License-Identifier: BSD-3-Clause
! Graphs: inputs, builders of nodes, outputs, metrics and the loss.
!
! A shape is that of the Fortran array for one row, its first index being the
! one that moves fastest: what lockstep's documents call (H,W,C) is (C,W,H)
! here, and a batch of such rows is x(C,W,H,rows).  It is the same memory, and
! nothing is transposed.  Axes are counted likewise: axis 1 is the first index.
module lockstep_graph
  use, intrinsic :: iso_c_binding
  use lockstep_base
  implicit none
  public

  type, extends(ls_handle) :: ls_graph
  end type ls_graph

  ! A node lives as long as its graph, and copies of it are the same node.  One
  ! that could not be built is not associated; what was wrong is told when a
  ! trainer is opened with the graph.
  type :: ls_node
    type(c_ptr) :: p = c_null_ptr
  end type ls_node

  interface operator(+)
    module procedure ls_add, shifted, shifted_left
  end interface
  interface operator(-)
    module procedure ls_sub, ls_neg, lowered, lowered_left
  end interface
  interface operator(*)
    module procedure ls_mul, scaled, scaled_left
  end interface
  interface operator(/)
    module procedure ls_div, divided
  end interface

  private :: axis_of, axes_of, shifted, shifted_left, lowered, lowered_left, &
    scaled, scaled_left, divided

contains

  ! Declares an array of every batch by the shape of one of its rows: [2] for
  ! x(2,rows), nothing for labels(rows).  type is LS_F32 (the default) or LS_I32.
  function ls_input(graph, name, shape, type) result(y)
    class(ls_graph), intent(in) :: graph
    character(*), intent(in) :: name
    integer, intent(in), optional :: shape(:)
    integer, intent(in), optional :: type
    integer(c_int64_t), target :: extents(LS_MAX_RANK)
    integer :: rank, dtype
    type(ls_node) :: y

    rank = 0
    if (present(shape)) rank = size(shape)
    if (rank > 0) extents(:min(rank, LS_MAX_RANK)) = &
      shape(rank:max(1, rank - LS_MAX_RANK + 1):-1)
    dtype = LS_F32
    if (present(type)) dtype = type
    y%p = c_input(pointer_of(graph), c_text(name), dtype, rank, &
                  c_loc(extents))
  end function ls_input

  ! A parameter of that shape, the same in every row: nothing for one number.
  function ls_parameter(graph, name, shape) result(y)
    class(ls_graph), intent(in) :: graph
    character(*), intent(in) :: name
    integer, intent(in), optional :: shape(:)
    integer(c_int64_t), target :: extents(LS_MAX_RANK)
    integer :: rank
    type(ls_node) :: y

    rank = 0
    if (present(shape)) rank = size(shape)
    if (rank > 0) extents(:min(rank, LS_MAX_RANK)) = &
      shape(rank:max(1, rank - LS_MAX_RANK + 1):-1)
    y%p = c_parameter(pointer_of(graph), c_text(name), rank, c_loc(extents))
  end function ls_parameter

  ! Returns the shape of a row of the node's value.
  function ls_node_shape(node) result(shape)
    type(ls_node), intent(in) :: node
    integer, allocatable :: shape(:)
    integer(c_int64_t), target :: extents(LS_MAX_RANK)
    integer :: rank

    rank = c_node_shape(node%p, c_loc(extents))
    shape = turned(rank, extents)
  end function ls_node_shape

  ! Lists the inputs of a graph.
  subroutine list_inputs(graph, inputs)
    type(ls_graph), intent(in) :: graph
    type(named_row), allocatable, intent(out) :: inputs(:)
    type(ls_node) :: node
    integer :: i, n, pass

    do pass = 1, 2
      n = 0
      do i = 1, c_graph_nodes(pointer_of(graph))
        node%p = c_graph_node(pointer_of(graph), i - 1)
        if (text_of(c_node_op(node%p)) /= "input") cycle
        n = n + 1
        if (pass == 1) cycle
        inputs(n)%name = text_of(c_node_name(node%p))
        inputs(n)%shape = ls_node_shape(node)
      end do
      if (pass == 1) allocate (inputs(n))
    end do
  end subroutine list_inputs

  ! Lists the outputs of a graph likewise.
  subroutine list_outputs(graph, outputs)
    type(ls_graph), intent(in) :: graph
    type(named_row), allocatable, intent(out) :: outputs(:)
    type(ls_node) :: node
    type(c_ptr), target :: name
    integer :: i, n

    n = 0
    do while (c_associated(c_graph_output(pointer_of(graph), n, c_null_ptr)))
      n = n + 1
    end do
    allocate (outputs(n))
    do i = 1, n
      node%p = c_graph_output(pointer_of(graph), i - 1, c_loc(name))
      outputs(i)%name = text_of(name)
      outputs(i)%shape = ls_node_shape(node)
    end do
  end subroutine list_outputs

  ! Watches the mean of a node over each batch; place is its index in the
  ! result's metric(:), from 1.
  subroutine ls_metric(graph, node, place, stat, errmsg)
    type(ls_graph), intent(in) :: graph
    type(ls_node), intent(in) :: node
    integer, intent(out), optional :: place
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer :: s

    s = c_metric(pointer_of(graph), node%p)
    if (present(place) .and. s >= 0) place = s + 1
    call ended(s, stat, errmsg)
  end subroutine ls_metric

  ! Lets the parameters that are declared so far and whose names a pattern
  ! matches start by the initialiser of a name: "he-normal", "zeros".
  subroutine ls_init_params(graph, names, initialiser, stat, errmsg)
    type(ls_graph), intent(in) :: graph
    character(*), intent(in) :: names, initialiser
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_init), target :: init
    integer :: s

    s = c_init_named(c_loc(init), c_text(initialiser))
    if (s >= 0) s = c_init_params(pointer_of(graph), c_text(names), &
                                  c_loc(init))
    call ended(s, stat, errmsg)
  end subroutine ls_init_params

  ! ------ axes ------

  ! Returns C's number, from 0 and from the slowest, of a Fortran axis of x.
  function axis_of(x, axis) result(c)
    type(ls_node), intent(in) :: x
    integer, intent(in) :: axis
    integer :: c

    c = size(ls_node_shape(x)) - axis
  end function axis_of

  ! Returns C's list for a list of axes: for a transposition the order of
  ! indices is turned too.
  function axes_of(x, axes) result(c)
    type(ls_node), intent(in) :: x
    integer, intent(in) :: axes(:)
    integer :: c(size(axes))

    c = size(ls_node_shape(x)) - axes(size(axes):1:-1)
  end function axes_of

  include "lockstep_graph.inc"

end module lockstep_graph
