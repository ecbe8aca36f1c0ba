! Heat in a rod, by explicit steps, with names for hindmost. The same binary runs without it.
!
!   mpifort -O2 -o heat_fortran $(hindmost attach --print include)/hindmost.f90 heat.f90
!   mpiexec -n 2 hindmost attach --out runs -- ./heat_fortran
!   hindmost show runs
program heat
  use mpi          ! or mpi_f08, or include 'mpif.h'
  use hindmost
  implicit none
  integer, parameter :: cells = 20000, steps = 500
  double precision :: now(0:cells + 1) = 0, next(0:cells + 1) = 0, change, largest
  integer :: rank, ranks, left, right, step, error, status(MPI_STATUS_SIZE)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  left = merge(rank - 1, MPI_PROC_NULL, rank > 0)
  right = merge(rank + 1, MPI_PROC_NULL, rank + 1 < ranks)
  if (rank == 0) now(0) = 1    ! the hot end
  call hindmost_iteration()
  do step = 1, steps
    call hindmost_phase_begin("halo")
    call MPI_Sendrecv(now(cells), 1, MPI_DOUBLE_PRECISION, right, 0, now(0), 1, MPI_DOUBLE_PRECISION, left, 0, &
      MPI_COMM_WORLD, status, error)
    call MPI_Sendrecv(now(1), 1, MPI_DOUBLE_PRECISION, left, 1, now(cells + 1), 1, MPI_DOUBLE_PRECISION, right, 1, &
      MPI_COMM_WORLD, status, error)
    call hindmost_phase_end()
    call hindmost_phase_begin("stencil")
    next(1:cells) = now(1:cells) + 0.25d0 * (now(0:cells - 1) - 2 * now(1:cells) + now(2:cells + 1))
    change = maxval(abs(next(1:cells) - now(1:cells)))
    now(1:cells) = next(1:cells)
    call hindmost_phase_end()
    call hindmost_work(cells)
    call MPI_Allreduce(change, largest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, error)
    call hindmost_iteration()
  end do
  if (rank == 0) print '(a, es9.3)', "largest change in the last step: ", largest
  call MPI_Finalize(error)
end program heat
