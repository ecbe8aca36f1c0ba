! An MPI program in Fortran: marks by MPI_Pcontrol, exchange by persistent and immediate calls.
program loop_fortran
#ifdef F08
  use mpi_f08
#else
  use mpi
#endif
  implicit none
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
    call MPI_Pcontrol(1)
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
