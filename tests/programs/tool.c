/* A tool of others that intercepts MPI by PMPI; one of its wrappers ends in a jump where the compiler makes it one. */
#include <mpi.h>
#include <stdio.h>

static int calls, marks;

int MPI_Init(int *argc, char ***argv) {
  int error = PMPI_Init(argc, argv);
  calls = marks = 0;
  return error;
}

int MPI_Allreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  calls++;
  return PMPI_Allreduce(from, to, n, type, op, comm);
}

int MPI_Pcontrol(const int level, ...) {
  marks++;
  return PMPI_Pcontrol(level);
}

int MPI_Finalize(void) {
  printf("the tool saw %d calls and %d marks\n", calls, marks);
  fflush(stdout);
  return PMPI_Finalize();
}
