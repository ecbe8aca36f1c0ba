! An MPI program in Fortran: marks by MPI_Pcontrol, or with -DMODULE by hindmost.f90, exchange by
! persistent and immediate calls.
program loop_fortran
#if defined(F08)
  use mpi_f08
#elif !defined(MPIF)
  use mpi
#endif
#ifdef MODULE
  use hindmost
#endif
  implicit none
#ifdef MPIF
  include 'mpif.h'
#endif
  integer :: rank, ranks, step, error
  double precision :: mine, theirs, total
#ifdef F08
  type(MPI_Request) :: requests(2)
#else
  integer :: requests(2)
#endif
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  mine = 1.0d0
  call MPI_Recv_init(theirs, 1, MPI_DOUBLE_PRECISION, modulo(rank - 1, ranks), 0, MPI_COMM_WORLD, requests(1), error)
  call MPI_Send_init(mine, 1, MPI_DOUBLE_PRECISION, modulo(rank + 1, ranks), 0, MPI_COMM_WORLD, requests(2), error)
  do step = 1, 20
#ifdef MODULE
    call hindmost_iteration()
    call hindmost_phase_begin("stencil  ")
    mine = mine + sin(mine)
    call hindmost_phase_end()
    call hindmost_work(1000 + step)
    call hindmost_work(0.5)
#else
    call MPI_Pcontrol(1)
#endif
    call MPI_Startall(2, requests, error)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    mine = mine + theirs
    call MPI_Allreduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  end do
  call MPI_Request_free(requests(1), error)
  call MPI_Request_free(requests(2), error)
  if (rank == 0) print '(es12.4)', total
  call MPI_Finalize(error)
end program loop_fortran
