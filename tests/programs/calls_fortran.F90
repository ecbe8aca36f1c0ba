! Calls of MPI from Fortran, each once between two marks: whether the recorder sees them. The module is
! chosen by -DMPIF, -DF08 or neither (mpi). Every rank sends to itself.
program calls_fortran
#if defined(F08)
  use mpi_f08
#elif !defined(MPIF)
  use mpi
#endif
  implicit none
#ifdef MPIF
  include 'mpif.h'
#endif
#ifdef F08
  type(MPI_Status) :: status, statuses(2)
  type(MPI_Request) :: q(2), one
  type(MPI_Comm) :: here, line
  type(MPI_Message) :: letter
  type(MPI_Datatype) :: kind
#else
  integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2), q(2), one, here, line, letter, kind
#endif
  double precision :: a(4) = 1, b(4) = 2, room(256)
  integer :: error, which, many, list(2), counts(1) = 4, starts(1) = 0
  logical :: flag
  call MPI_Init(error)
  here = MPI_COMM_SELF
  kind = MPI_DOUBLE_PRECISION
  call MPI_Cart_create(here, 1, (/1/), (/.true./), .false., line, error)
  call MPI_Pcontrol(1)
  call MPI_Isend(a, 4, kind, 0, 1, here, q(1), error)
  call MPI_Irecv(b, 4, kind, 0, 1, here, q(2), error)
  call MPI_Waitall(2, q, statuses, error)
  call MPI_Isend(a, 4, kind, 0, 1, here, q(1), error)
  call MPI_Probe(0, 1, here, status, error)
  call MPI_Recv(b, 4, kind, 0, 1, here, status, error)
  call MPI_Wait(q(1), status, error)
  call MPI_Irecv(b, 4, kind, 0, 1, here, q(1), error)
  call MPI_Send(a, 4, kind, 0, 1, here, error)
  call MPI_Waitany(1, q, which, status, error)
  call MPI_Irecv(b, 4, kind, 0, 1, here, q(1), error)
  call MPI_Ssend(a, 4, kind, 0, 1, here, error)
  call MPI_Waitsome(1, q, many, list, statuses, error)
  call MPI_Buffer_attach(room, 2048, error)
  call MPI_Bsend(a, 4, kind, 0, 1, here, error)
  call MPI_Iprobe(0, 1, here, flag, status, error)
  call MPI_Mprobe(0, 1, here, letter, status, error)
  call MPI_Mrecv(b, 4, kind, letter, status, error)
  call MPI_Sendrecv(a, 4, kind, 0, 1, b, 4, kind, 0, 1, here, status, error)
  call MPI_Sendrecv_replace(a, 4, kind, 0, 1, 0, 1, here, status, error)
  call MPI_Send_init(a, 4, kind, 0, 1, here, q(1), error)
  call MPI_Recv_init(b, 4, kind, 0, 1, here, q(2), error)
  call MPI_Startall(2, q, error)
  call MPI_Testall(2, q, flag, statuses, error)
  call MPI_Waitall(2, q, statuses, error)
  call MPI_Start(q(2), error)
  call MPI_Start(q(1), error)
  call MPI_Waitall(2, q, statuses, error)
  call MPI_Request_free(q(1), error)
  call MPI_Request_free(q(2), error)
  call MPI_Barrier(here, error)
  call MPI_Bcast(a, 4, kind, 0, here, error)
  call MPI_Reduce(a, b, 4, kind, MPI_SUM, 0, here, error)
  call MPI_Allreduce(a, b, 4, kind, MPI_SUM, here, error)
  call MPI_Allreduce(MPI_IN_PLACE, b, 4, kind, MPI_SUM, here, error)
  call MPI_Gather(a, 4, kind, b, 4, kind, 0, here, error)
  call MPI_Gatherv(a, 4, kind, b, counts, starts, kind, 0, here, error)
  call MPI_Scatter(a, 4, kind, b, 4, kind, 0, here, error)
  call MPI_Allgather(a, 4, kind, b, 4, kind, here, error)
  call MPI_Allgatherv(a, 4, kind, b, counts, starts, kind, here, error)
  call MPI_Alltoall(a, 4, kind, b, 4, kind, here, error)
  call MPI_Scan(a, b, 4, kind, MPI_SUM, here, error)
  call MPI_Reduce_scatter(a, b, counts, kind, MPI_SUM, here, error)
  call MPI_Iallreduce(a, b, 4, kind, MPI_SUM, here, one, error)
  call MPI_Wait(one, status, error)
  call MPI_Ibarrier(here, one, error)
  call MPI_Test(one, flag, status, error)
  call MPI_Wait(one, status, error)
  call MPI_Ibcast(a, 4, kind, 0, here, one, error)
  call MPI_Wait(one, status, error)
  call MPI_Neighbor_allgather(a, 1, kind, b, 1, kind, line, error)
  call MPI_Pcontrol(1)
  call MPI_Finalize(error)
end program calls_fortran
