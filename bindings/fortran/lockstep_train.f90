! SPDX-License-Identifier: BSD-3-Clause
! Trainers: one model, its optimizer, its parameters and its files.
module lockstep_train
  use, intrinsic :: iso_c_binding
  use lockstep_base
  use lockstep_graph
  use lockstep_pool
  implicit none
  public

  type, extends(ls_handle) :: ls_trainer
  end type ls_trainer

  ! The way to other ranks; lockstep_mpi makes one.
  type :: ls_transport
    type(c_ptr) :: p = c_null_ptr
    type(box), pointer :: of => null()
  end type ls_transport

  ! Parameters that are trained otherwise than the rest.
  type :: ls_group
    character(:), allocatable :: names ! a pattern: "head.*", "!head.*"
    logical :: vectors = .false.       ! of these biases and scales alone
    logical :: frozen = .false.        ! never updated
    real(real64) :: rate = 1           ! multiplies the learning rate
    real(real64) :: decay = 1          ! multiplies weight_decay and l2
  end type ls_group

  ! Copies a parameter, or an array of the optimizer's state, to values.
  interface ls_trainer_get
    module procedure trainer_get_real32, trainer_get_real64
  end interface

  interface ls_trainer_set
    module procedure trainer_set_real32, trainer_set_real64
  end interface

  private :: give_groups

contains

  ! Opens a trainer.  Each option is the member of that name of C's
  ! ls_trainer_options; boundaries are those of a piecewise schedule.
  subroutine ls_trainer_open(trainer, pool, graph, optimizer, seed, keys, &
      schedule, boundaries, clip_norm, clip_value, accumulate, mean, state, &
      data_axis, precision, transport, rows, even_rows, average, groups, &
      backend, bucket, check, dropout_key, decay_schedule, dropout_schedule, &
      stat, errmsg)
    type(ls_trainer), intent(inout) :: trainer
    type(ls_pool), intent(in) :: pool
    type(ls_graph), intent(in) :: graph
    type(ls_optimizer), intent(in), optional :: optimizer
    integer(int64), intent(in), optional :: seed, bucket
    integer, intent(in), optional :: keys, accumulate, mean, state, precision, &
      rows
    type(ls_schedule), intent(in), optional :: schedule, decay_schedule, &
      dropout_schedule
    type(ls_boundary), intent(in), optional, target :: boundaries(:)
    real(real64), intent(in), optional :: clip_norm, clip_value, average, check
    character(*), intent(in), optional :: data_axis, backend
    type(ls_transport), intent(in), optional :: transport
    logical, intent(in), optional :: even_rows
    type(ls_group), intent(in), optional :: groups(:)
    type(ls_key), intent(in), optional :: dropout_key
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_trainer_options), target :: o
    type(c_group), allocatable, target :: list(:)
    character(:), allocatable, target :: axis, names, who
    type(box), pointer :: ranks
    type(c_ptr), target :: p
    integer :: s

    call c_trainer_defaults_bytes(c_loc(o), c_sizeof(o))
    ranks => null()
    if (present(optimizer)) o%optimizer = optimizer
    if (present(seed)) o%seed = seed
    if (present(keys)) o%keys = keys
    if (present(schedule)) o%schedule = schedule
    if (present(boundaries)) then
      o%schedule%n_boundaries = size(boundaries)
      o%schedule%boundaries = c_loc(boundaries)
    end if
    if (present(clip_norm)) o%clip_norm = clip_norm
    if (present(clip_value)) o%clip_value = clip_value
    if (present(accumulate)) o%accumulate = accumulate
    if (present(mean)) o%mean = mean
    if (present(state)) o%state = state
    call give(data_axis, axis, o%data_axis)
    if (present(precision)) o%precision = precision
    if (present(transport)) then
      o%transport = transport%p
      ranks => transport%of
    end if
    if (present(rows)) o%rows = rows
    if (present(even_rows)) o%even_rows = even_rows
    if (present(average)) o%average = average
    if (present(groups)) then
      call give_groups(groups, list, names)
      o%n_groups = size(list)
      o%groups = c_loc(list)
    end if
    call give(backend, who, o%backend)
    if (present(bucket)) o%bucket = bucket
    if (present(check)) o%check = check
    if (present(dropout_key)) then
      o%own_dropout_key = .true.
      o%dropout_key = dropout_key
    end if
    if (present(decay_schedule)) o%decay_schedule = decay_schedule
    if (present(dropout_schedule)) o%dropout_schedule = dropout_schedule
    s = c_trainer_open(c_loc(p), pointer_of(pool), pointer_of(graph), c_loc(o))
    if (s >= 0) then
      call hold(trainer, p, c_trainer_close, pool, ranks)
      call list_inputs(graph, trainer%of%inputs)
      call list_outputs(graph, trainer%of%outputs)
    end if
    call ended(s, stat, errmsg)
  end subroutine ls_trainer_open

  ! Writes groups as C wants them; names holds all their patterns.
  subroutine give_groups(groups, list, names)
    type(ls_group), intent(in) :: groups(:)
    type(c_group), allocatable, intent(out) :: list(:)
    character(:), allocatable, target, intent(out) :: names
    integer :: i, at(size(groups))

    names = ""
    do i = 1, size(groups)
      at(i) = len(names) + 1
      if (allocated(groups(i)%names)) names = names // trim(groups(i)%names)
      names = names // c_null_char
    end do
    allocate (list(size(groups)))
    do i = 1, size(groups)
      list(i) = c_group_of(c_text("*"))
      list(i)%names = c_loc(names(at(i):))
      list(i)%vectors = groups(i)%vectors
      list(i)%frozen = groups(i)%frozen
      list(i)%rate = groups(i)%rate
      list(i)%decay = groups(i)%decay
    end do
  end subroutine give_groups

  ! ------ parameters ------

  ! Returns the shape of parameter i = 1, 2, ..: a kernel of I inputs and n
  ! units, (I,n) in C, is (n,I) here.
  function ls_trainer_param_shape(trainer, i) result(shape)
    type(ls_trainer), intent(in) :: trainer
    integer, intent(in) :: i
    integer, allocatable :: shape(:)
    integer(c_int64_t), target :: extents(LS_MAX_RANK)
    integer :: rank

    rank = c_trainer_param_shape(pointer_of(trainer), i - 1, c_loc(extents))
    shape = turned(max(rank, 0), extents)
  end function ls_trainer_param_shape

  ! The shape of an array for a parameter; not allocated where there is none of
  ! the name.
  subroutine param_wanted(trainer, name, wanted)
    type(box), pointer, intent(in) :: trainer
    character(*), intent(in) :: name
    integer, allocatable, intent(out) :: wanted(:)
    integer(c_int64_t), target :: extents(LS_MAX_RANK)
    integer :: i, rank

    if (.not. associated(trainer)) return
    do i = 0, c_trainer_params(trainer%p) - 1
      if (text_of(c_trainer_param_name(trainer%p, i)) /= trim(name)) cycle
      rank = c_trainer_param_shape(trainer%p, i, c_loc(extents))
      wanted = turned(rank, extents)
    end do
  end subroutine param_wanted

  ! Stores the SHA-256 of the state, as 64 hex digits.
  subroutine ls_trainer_hash(trainer, hex, stat, errmsg)
    type(ls_trainer), intent(in) :: trainer
    character(64), intent(inout) :: hex
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), target :: text(65)
    integer :: i, s

    s = c_trainer_hash(pointer_of(trainer), c_loc(text))
    if (s >= 0) then
      do i = 1, 64
        hex(i:i) = text(i)
      end do
    end if
    call ended(s, stat, errmsg)
  end subroutine ls_trainer_hash

  ! ------ files ------

  ! Loads parameters, all or those that a pattern matches.
  subroutine ls_trainer_load(trainer, path, names, stat, errmsg)
    type(ls_trainer), intent(in) :: trainer
    character(*), intent(in) :: path
    character(*), intent(in), optional :: names
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer :: s

    if (present(names)) then
      s = c_trainer_load(pointer_of(trainer), c_text(path), c_text(names))
    else
      s = c_trainer_load(pointer_of(trainer), c_text(path))
    end if
    call ended(s, stat, errmsg)
  end subroutine ls_trainer_load

  include "lockstep_train.inc"

end module lockstep_train
