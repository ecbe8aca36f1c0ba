! Steps of subroutines that end with calls of others.
subroutine sum_all(x)
  use mpi
  real(8) :: x, total
  integer :: error
  call MPI_Allreduce(x, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  x = total / 2
end subroutine
subroutine heat(x)
  real(8) :: x
  call sum_all(x)
  x = x + 1
  call sum_all(x)
end subroutine
subroutine flux(x)
  real(8) :: x
  call sum_all(x)
  x = x + 2
  call heat(x)
end subroutine
subroutine advance(x)
  real(8) :: x
  integer :: i
  do i = 1, 300000
    x = 0.5 * x + sin(x)
  end do
  call flux(x)
end subroutine
program steps
  use mpi
  integer :: error, step
  real(8) :: x = 1
  call MPI_Init(error)
  do step = 1, 60
    call advance(x)
    x = x + 1
  end do
  call MPI_Finalize(error)
end program
