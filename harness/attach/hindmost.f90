! hindmost.f90: name the iterations, phases and work of a program for `hindmost attach`, and ask it for the time
! that is left, in Fortran.
!
!   use hindmost
!   ...
!   do step = 1, steps
!     call hindmost_phase_begin("halo")
!     call exchange()
!     call hindmost_phase_end()
!     call hindmost_work(cells)
!     call hindmost_iteration()
!   end do
!
! With `hindmost attach --stop-before 2h`, hindmost_should_stop() says whether to stop after this iteration, and
! hindmost_time_left() how many seconds are left (huge without a limit). Both are collective over
! MPI_COMM_WORLD, and all ranks get the same answer.
!
! hindmost_iteration ends an iteration and begins the next; phases do not nest. Compile this file with the
! program, before the files that use it. It knows nothing of MPI, so it goes with mpif.h, mpi and mpi_f08.
! The recorder's functions are looked up when the program runs: without the recorder the calls do nothing.
module hindmost
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_f_procpointer, c_funptr, &
    c_int, c_null_char, c_null_funptr, c_null_ptr, c_ptr, c_associated
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  implicit none
  private
  public :: hindmost_iteration, hindmost_phase_begin, hindmost_phase_end, hindmost_work
  public :: hindmost_should_stop, hindmost_time_left

  integer, parameter :: iteration = 1, phase_begin = 2, phase_end = 3, work = 4, should_stop = 5, time_left = 6
  integer, parameter :: longest_name = 63

  ! A recorder that is linked into the program fills this table before the program begins.
  type(c_funptr), bind(C, name="hindmost_functions") :: calls(6) = c_null_funptr
  logical, save :: found = .false.

  abstract interface
    subroutine without_argument() bind(C)
    end subroutine
    subroutine with_name(name) bind(C)
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
    subroutine with_amount(amount) bind(C)
      import :: c_double
      real(c_double), value :: amount
    end subroutine
    function whether() bind(C) result(answer)
      import :: c_int
      integer(c_int) :: answer
    end function
    function how_long() bind(C) result(seconds)
      import :: c_double
      real(c_double) :: seconds
    end function
  end interface

  interface
    function dlsym(library, name) bind(C) result(address)
      import :: c_char, c_funptr, c_ptr
      type(c_ptr), value :: library ! null: all libraries of the process
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr) :: address
    end function
  end interface

  interface hindmost_work
    module procedure work_int32, work_int64, work_real32, work_real64
  end interface

contains

  subroutine hindmost_iteration()
    procedure(without_argument), pointer :: call_recorder
    if (is_there(iteration)) then
      call c_f_procpointer(calls(iteration), call_recorder)
      call call_recorder()
    end if
  end subroutine

  subroutine hindmost_phase_begin(name)
    character(*), intent(in) :: name
    character(kind=c_char) :: text(longest_name + 1)
    procedure(with_name), pointer :: call_recorder
    integer :: i, length
    if (is_there(phase_begin)) then
      length = min(len_trim(name), longest_name)
      do i = 1, length
        text(i) = name(i:i)
      end do
      text(length + 1) = c_null_char
      call c_f_procpointer(calls(phase_begin), call_recorder)
      call call_recorder(text)
    end if
  end subroutine

  subroutine hindmost_phase_end()
    procedure(without_argument), pointer :: call_recorder
    if (is_there(phase_end)) then
      call c_f_procpointer(calls(phase_end), call_recorder)
      call call_recorder()
    end if
  end subroutine

  subroutine work_real64(amount)
    real(real64), intent(in) :: amount
    procedure(with_amount), pointer :: call_recorder
    if (is_there(work)) then
      call c_f_procpointer(calls(work), call_recorder)
      call call_recorder(real(amount, c_double))
    end if
  end subroutine

  subroutine work_real32(amount)
    real(real32), intent(in) :: amount
    call work_real64(real(amount, real64))
  end subroutine

  subroutine work_int32(amount)
    integer(int32), intent(in) :: amount
    call work_real64(real(amount, real64))
  end subroutine

  subroutine work_int64(amount)
    integer(int64), intent(in) :: amount
    call work_real64(real(amount, real64))
  end subroutine

  logical function hindmost_should_stop()
    procedure(whether), pointer :: ask
    hindmost_should_stop = .false.
    if (is_there(should_stop)) then
      call c_f_procpointer(calls(should_stop), ask)
      hindmost_should_stop = ask() /= 0
    end if
  end function

  real(real64) function hindmost_time_left()
    procedure(how_long), pointer :: ask
    hindmost_time_left = huge(hindmost_time_left)
    if (is_there(time_left)) then
      call c_f_procpointer(calls(time_left), ask)
      hindmost_time_left = min(ask(), huge(hindmost_time_left))
    end if
  end function

  ! Whether the recorder has a function; all are looked up at the first call.
  logical function is_there(which)
    integer, intent(in) :: which
    if (.not. found) then
      call look_up(iteration, "hindmost_iteration")
      call look_up(phase_begin, "hindmost_phase_begin")
      call look_up(phase_end, "hindmost_phase_end")
      call look_up(work, "hindmost_work")
      call look_up(should_stop, "hindmost_should_stop")
      call look_up(time_left, "hindmost_time_left")
      found = .true.
    end if
    is_there = c_associated(calls(which))
  end function

  subroutine look_up(which, name)
    integer, intent(in) :: which
    character(*), intent(in) :: name
    if (.not. c_associated(calls(which))) calls(which) = dlsym(c_null_ptr, name // c_null_char)
  end subroutine
end module hindmost
