/* An MPI program without PETSc: its loop has marks, as its argument says: "pcontrol", "header", "none". */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "hindmost.h"

int main(int argc, char **argv) {
  const char *marks = argc > 1 ? argv[1] : "none";
  int rank, size;
  double mine = 1.0, theirs = 0.0, sum = 0.0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int step = 0; step < 20; step++) {
    if (!strcmp(marks, "pcontrol")) MPI_Pcontrol(1);
    if (!strcmp(marks, "header")) HINDMOST_ITERATION();
    HINDMOST_PHASE("halo") {
      MPI_Sendrecv(&mine, 1, MPI_DOUBLE, (rank + 1) % size, 0, &theirs, 1, MPI_DOUBLE, (rank + size - 1) % size, 0,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    HINDMOST_PHASE("stencil") {
      for (int i = 0; i < 1000000; i++) mine += 1e-6 * theirs;  // long, next to a lost core
    }
    HINDMOST_WORK(1000 + step);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("%g\n", sum);
  MPI_Finalize();
  return 0;
}
