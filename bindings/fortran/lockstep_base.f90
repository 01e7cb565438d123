! SPDX-License-Identifier: BSD-3-Clause
! What the modules of lockstep share: errors, texts, and handles that count who
! holds an object.
module lockstep_base
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use lockstep_c
  implicit none
  public

  ! What a step or an evaluation computed: C's ls_result.
  type :: ls_result
    integer(int64) :: step = 0, rows = 0
    real(real32) :: loss = 0, accuracy = 0, lr = 0, grad_norm = 0
    logical :: updated = .false.
    real(real64) :: weight = 0
    real(real32) :: metric(LS_METRICS) = 0
    real(real64) :: gradient_seconds = 0, reduce_seconds = 0, &
      update_seconds = 0
  end type ls_result

  ! Numbers of a batch that were converted; they live as long as it does.
  type :: kept_numbers
    character(:), allocatable :: name
    real(c_float), pointer :: reals(:) => null()
    integer(c_int32_t), pointer :: integers(:) => null()
    type(kept_numbers), pointer :: next => null()
  end type kept_numbers

  ! An input or output of a graph, and the shape of a row of it.
  type :: named_row
    character(:), allocatable :: name
    integer, allocatable :: shape(:)
  end type named_row

  type :: box_pointer
    type(box), pointer :: to => null()
  end type box_pointer

  ! An object of the library: how many hold it, who ends it, and which objects
  ! must not end before it.
  type :: box
    type(c_ptr) :: p = c_null_ptr
    integer :: holders = 0
    procedure(closer), pointer, nopass :: close => null()
    type(box_pointer) :: needs(2)
    type(kept_numbers), pointer :: kept => null()
    type(named_row), allocatable :: inputs(:), outputs(:)
  end type box

  abstract interface
    subroutine closer(p) bind(c)
      import :: c_ptr
      type(c_ptr), value :: p
    end subroutine closer

    ! ls_batch_set_view or ls_context_set_view.
    function setter(of, input, dtype, n, data, rows) result(r) bind(c)
      import :: c_ptr, c_char, c_int, c_int64_t
      type(c_ptr), value :: of
      character(kind=c_char), intent(in), optional :: input(*)
      integer(c_int), value :: dtype
      integer(c_int64_t), value :: n
      type(c_ptr), value :: data
      integer(c_int64_t), value :: rows
      integer(c_int) :: r
    end function setter
  end interface

  ! The parent of all types that own something.  b = a makes b another handle
  ! of the same object, which ends when its last handle is closed or goes out
  ! of scope.
  type :: ls_handle
    type(box), pointer :: of => null()
  contains
    procedure, private :: share
    generic :: assignment(=) => share
    final :: let_go
  end type ls_handle

contains

  ! ------ errors and texts ------

  ! How every procedure that can fail ends.  As with allocate: without stat a
  ! failure stops the program with its message.
  subroutine ended(status, stat, errmsg)
    integer, intent(in) :: status
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: text

    if (present(stat)) stat = min(status, 0)
    if (status >= 0) return
    text = text_of(c_errmsg())
    if (present(errmsg)) errmsg = text
    if (.not. present(stat)) error stop text
  end subroutine ended

  ! Returns a status whose message is a text of this module.
  function failed(status, text) result(s)
    integer, intent(in) :: status
    character(*), intent(in) :: text
    integer :: s

    s = c_error(status, c_text(text))
  end function failed

  ! Returns a text as C wants it, without blanks at its end.
  function c_text(text) result(c)
    character(*), intent(in) :: text
    character(:), allocatable :: c

    c = trim(text) // c_null_char
  end function c_text

  ! Sets a member of a struct of options to a text, where there is one.
  subroutine give(text, room, member)
    character(*), intent(in), optional :: text
    character(:), allocatable, target, intent(inout) :: room
    type(c_ptr), intent(inout) :: member

    if (.not. present(text)) return
    room = c_text(text)
    member = c_loc(room)
  end subroutine give

  ! Returns a text of C's; "" for NULL.
  function text_of(p) result(text)
    type(c_ptr), intent(in) :: p
    character(:), allocatable :: text
    character(kind=c_char), pointer :: c(:)
    integer :: i, n

    text = ""
    if (.not. c_associated(p)) return
    call c_f_pointer(p, c, [huge(0)])
    n = 0
    do while (c(n + 1) /= c_null_char)
      n = n + 1
    end do
    deallocate (text)
    allocate (character(n) :: text)
    do i = 1, n
      text(i:i) = c(i)
    end do
  end function text_of

  ! Returns a shape of C's as Fortran's: the same array, its first index being
  ! the one that moves fastest.
  function turned(rank, shape) result(f)
    integer, intent(in) :: rank
    integer(c_int64_t), intent(in) :: shape(:)
    integer, allocatable :: f(:)

    f = int(shape(rank:1:-1))
  end function turned

  ! Whether there is an array: a caller may give one that is not allocated.
  function is_there(x) result(yes)
    type(*), intent(in), target :: x(..)
    logical :: yes

    yes = c_associated(c_loc(x))
  end function is_there

  ! Returns how many elements an array has: none where it is not allocated.
  function count_of(x) result(n)
    type(*), intent(in), target :: x(..)
    integer(c_int64_t) :: n

    n = 0
    if (is_there(x)) n = size(x, kind=c_int64_t)
  end function count_of

  ! Returns the last extent of an array, which counts rows.
  function rows_of(x) result(rows)
    type(*), intent(in), target :: x(..)
    integer(c_int64_t) :: rows
    integer :: extents(15), n

    n = size(shape(x)) ! rank(x) is 1 by flang 19, whatever it is
    extents(:n) = shape(x)
    rows = 1
    if (n > 0) rows = extents(n)
  end function rows_of

  ! Returns a shape as "(2,64)", with `rows` for more behind it.
  function shape_text(shape, more) result(text)
    integer, intent(in) :: shape(:)
    character(*), intent(in), optional :: more
    character(:), allocatable :: text
    character(12) :: number
    integer :: i

    text = ""
    do i = 1, size(shape)
      write (number, "(i0)") shape(i)
      text = text // "," // trim(number)
    end do
    if (present(more)) text = text // "," // more
    text = "(" // text(min(2, len(text) + 1):) // ")"
  end function shape_text

  subroutine copy_rows(from, to)
    type(named_row), intent(in) :: from(:)
    type(named_row), allocatable, intent(out) :: to(:)
    integer :: i

    allocate (to(size(from)))
    do i = 1, size(from)
      to(i)%name = from(i)%name
      to(i)%shape = from(i)%shape
    end do
  end subroutine copy_rows

  ! Says what is wrong with an array whose rows an input is given, in words and
  ! a status; 0 where nothing is.  C has no shape to compare, and sees only
  ! whether there are enough elements: x(rows,features) has.
  subroutine judge(of, input, x, status, words)
    type(box), pointer, intent(in) :: of
    character(*), intent(in) :: input
    type(*), intent(in), target :: x(..)
    integer, intent(out) :: status
    character(:), allocatable, intent(out) :: words
    integer :: extents(LS_MAX_RANK + 1), i, n

    status = LS_EINVAL
    words = "is not allocated"
    if (.not. is_there(x)) return
    words = "is not contiguous"
    if (.not. is_contiguous(x)) return
    status = 0
    if (.not. associated(of)) return
    if (.not. allocated(of%inputs)) return
    do i = 1, size(of%inputs)
      if (of%inputs(i)%name /= trim(input)) cycle
      n = size(of%inputs(i)%shape)
      if (size(shape(x)) == n + 1) then
        extents(:n + 1) = shape(x)
        if (any(extents(:n) /= of%inputs(i)%shape)) status = LS_ESHAPE
      else if (count_of(x) /= &
               rows_of(x) * product(int(of%inputs(i)%shape, int64))) then
        status = LS_ESHAPE
      end if
      if (status < 0) words = "has the shape " // shape_text(shape(x)) // &
        ", and the input wants " // shape_text(of%inputs(i)%shape, "rows")
    end do
  end subroutine judge

  ! Sets the rows of an array whose numbers are at p, for the procedure `name`.
  function put_rows(of, name, set, input, dtype, x, p) result(s)
    class(ls_handle), intent(in) :: of
    procedure(setter) :: set
    character(*), intent(in) :: name, input
    integer, intent(in) :: dtype
    type(*), intent(in), target :: x(..)
    type(c_ptr), intent(in) :: p
    integer :: s
    character(:), allocatable :: words

    call judge(of%of, input, x, s, words)
    if (s < 0) then
      s = refuse(of, name, set, input, s, words)
    else
      s = set(pointer_of(of), c_text(input), dtype, count_of(x), p, rows_of(x))
    end if
  end function put_rows

  ! Says what is wrong with an array; to C, too, which tells other ranks where
  ! they wait for this one.
  function refuse(of, name, set, input, status, words) result(s)
    class(ls_handle), intent(in) :: of
    procedure(setter) :: set
    character(*), intent(in) :: name, input, words
    integer, intent(in) :: status
    integer :: s
    integer, target :: nothing

    s = set(pointer_of(of), c_text(input), LS_F32, -1_c_int64_t, &
            c_loc(nothing), 1_c_int64_t)
    s = failed(status, name // ": the array of """ // trim(input) // &
               """ " // words)
  end function refuse

  ! ------ arrays for results ------

  ! The shape of an array for rows of this name, whose last extent is any, -1;
  ! not allocated where there is none of the name.
  subroutine rows_wanted(rows, name, wanted)
    type(named_row), intent(in), allocatable :: rows(:)
    character(*), intent(in) :: name
    integer, allocatable, intent(out) :: wanted(:)
    integer :: i

    if (.not. allocated(rows)) return
    do i = 1, size(rows)
      if (rows(i)%name == trim(name)) wanted = [rows(i)%shape, -1]
    end do
  end subroutine rows_wanted

  ! Returns 0, or LS_ESHAPE, with both shapes in the message, for an array that
  ! has the rank of what is wanted and another shape: C sees only how many
  ! elements there are.
  function judged(name, what, x, wanted) result(s)
    character(*), intent(in) :: name, what
    type(*), intent(in), target :: x(..)
    integer, allocatable, intent(in) :: wanted(:)
    integer :: s
    character(:), allocatable :: fits
    integer :: extents(15), n

    s = 0
    if (.not. (allocated(wanted) .and. is_there(x))) return
    n = size(shape(x))
    extents(:n) = shape(x)
    if (n /= size(wanted)) return
    if (.not. any(wanted >= 0 .and. wanted /= extents(:n))) return
    fits = shape_text(wanted)
    if (any(wanted < 0)) fits = shape_text(wanted(:n - 1), "rows")
    s = failed(LS_ESHAPE, name // ": the array for """ // trim(what) // &
      """ has the shape " // shape_text(extents(:n)) // ", and not " // fits)
  end function judged

  ! Copies an array to floats; none where it is not allocated.
  function floats_of(x) result(floats)
    real(real64), intent(in), target, contiguous :: x(..)
    real(c_float), allocatable :: floats(:)
    real(real64), pointer :: flat(:)

    call c_f_pointer(c_loc(x), flat, [count_of(x)])
    floats = real(flat, c_float)
  end function floats_of

  ! Copies floats, where a call that had a status filled them, to an array.
  subroutine give_floats(status, floats, x)
    integer, intent(in) :: status
    real(c_float), intent(in) :: floats(:)
    real(real64), intent(inout), target, contiguous :: x(..)
    real(real64), pointer :: flat(:)

    call c_f_pointer(c_loc(x), flat, [size(floats)])
    if (status >= 0) flat = floats
  end subroutine give_floats

  function result_of(r) result(f)
    type(c_result), intent(in) :: r
    type(ls_result) :: f

    f = ls_result(r%step, r%rows, r%loss, r%accuracy, r%lr, r%grad_norm, &
      logical(r%updated), r%weight, r%metric, r%gradient_seconds, &
      r%reduce_seconds, r%update_seconds)
  end function result_of

  ! ------ handles ------

  ! Returns what C knows the object by; NULL where it is not open.
  function pointer_of(handle) result(p)
    class(ls_handle), intent(in) :: handle
    type(c_ptr) :: p

    p = c_null_ptr
    if (associated(handle%of)) p = handle%of%p
  end function pointer_of

  ! Makes the handle one of a new object; what it held before is let go.
  subroutine hold(handle, p, close, needs, also)
    class(ls_handle), intent(inout) :: handle
    type(c_ptr), intent(in) :: p
    procedure(closer) :: close
    class(ls_handle), intent(in), optional :: needs
    type(box), pointer, optional :: also

    call release(handle%of)
    allocate (handle%of)
    handle%of%p = p
    handle%of%holders = 1
    handle%of%close => close
    if (present(needs)) handle%of%needs(1)%to => needs%of
    if (present(also)) handle%of%needs(2)%to => also
    call retain(handle%of%needs(1)%to)
    call retain(handle%of%needs(2)%to)
  end subroutine hold

  subroutine retain(of)
    type(box), pointer :: of

    if (associated(of)) of%holders = of%holders + 1
  end subroutine retain

  ! Lets an object go, and ends it where nobody holds it any more.
  recursive subroutine release(of)
    type(box), pointer :: of

    if (.not. associated(of)) return
    of%holders = of%holders - 1
    if (of%holders == 0) then
      call of%close(of%p)
      call release(of%needs(1)%to)
      call release(of%needs(2)%to)
      call forget(of%kept)
      deallocate (of)
    end if
    of => null()
  end subroutine release

  subroutine let_go(handle)
    type(ls_handle), intent(inout) :: handle

    call release(handle%of)
  end subroutine let_go

  subroutine share(left, right)
    class(ls_handle), intent(inout) :: left
    class(ls_handle), intent(in) :: right
    type(box), pointer :: of

    if (.not. same_type_as(left, right)) &
      error stop "lockstep: a handle is assigned one of another type"
    of => right%of
    call retain(of)
    call release(left%of)
    left%of => of
  end subroutine share

  ! ------ numbers that were converted ------

  subroutine forget(kept)
    type(kept_numbers), pointer :: kept, next

    do while (associated(kept))
      next => kept%next
      if (associated(kept%reals)) deallocate (kept%reals)
      if (associated(kept%integers)) deallocate (kept%integers)
      deallocate (kept)
      kept => next
    end do
  end subroutine forget

  ! Returns the place for the converted numbers of an input, made if needed.
  function place_for(of, name) result(kept)
    type(box), pointer, intent(in) :: of
    character(*), intent(in) :: name
    type(kept_numbers), pointer :: kept

    kept => of%kept
    do while (associated(kept))
      if (kept%name == name) return
      kept => kept%next
    end do
    allocate (kept)
    kept%name = name
    kept%next => of%kept
    of%kept => kept
  end function place_for

  ! Stores x as floats for an input of a batch or context and returns where.
  function as_floats(of, name, x) result(p)
    type(box), pointer, intent(in) :: of
    character(*), intent(in) :: name
    real(real64), intent(in), target, contiguous :: x(..)
    type(c_ptr) :: p
    type(kept_numbers), pointer :: kept
    real(real64), pointer :: flat(:)

    kept => place_for(of, name)
    call c_f_pointer(c_loc(x), flat, [size(x)])
    if (associated(kept%reals)) then
      if (size(kept%reals) /= size(flat)) deallocate (kept%reals)
    end if
    if (.not. associated(kept%reals)) allocate (kept%reals(size(flat)))
    kept%reals = real(flat, c_float)
    p = c_loc(kept%reals)
  end function as_floats

  ! Stores x as 32-bit integers likewise; numbers that do not fit become the
  ! nearest that do, which are out of range wherever indices are.
  function as_integers(of, name, x) result(p)
    type(box), pointer, intent(in) :: of
    character(*), intent(in) :: name
    integer(int64), intent(in), target, contiguous :: x(..)
    type(c_ptr) :: p
    type(kept_numbers), pointer :: kept
    integer(int64), pointer :: flat(:)
    integer(int64), parameter :: most = huge(0_int32)

    kept => place_for(of, name)
    call c_f_pointer(c_loc(x), flat, [size(x)])
    if (associated(kept%integers)) then
      if (size(kept%integers) /= size(flat)) deallocate (kept%integers)
    end if
    if (.not. associated(kept%integers)) allocate (kept%integers(size(flat)))
    kept%integers = int(max(min(flat, most), -most), c_int32_t)
    p = c_loc(kept%integers)
  end function as_integers

end module lockstep_base
