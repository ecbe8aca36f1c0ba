/* Heat in a rod, by explicit steps, with names for hindmost. The same binary runs without it.
 *
 *   mpicc -O2 -I$(hindmost attach --print include) -o heat heat.c
 *   mpiexec -n 2 hindmost attach --out runs -- ./heat 500
 *   hindmost show runs
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "hindmost.h"

enum { CELLS = 20000 };

int main(int argc, char **argv) {
  static double now[CELLS + 2], next[CELLS + 2];
  int rank, ranks, steps = argc > 1 ? atoi(argv[1]) : 500;
  double change, largest = 0.0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  if (rank == 0) now[0] = next[0] = 1.0; /* the hot end */
  HINDMOST_ITERATION();
  for (int step = 0; step < steps; step++) {
    HINDMOST_PHASE("halo") {
      MPI_Sendrecv(&now[CELLS], 1, MPI_DOUBLE, right, 0, &now[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Sendrecv(&now[1], 1, MPI_DOUBLE, left, 1, &now[CELLS + 1], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    HINDMOST_PHASE("stencil") {
      change = 0.0;
      for (int i = 1; i <= CELLS; i++) {
        next[i] = now[i] + 0.25 * (now[i - 1] - 2.0 * now[i] + now[i + 1]);
        change = fmax(change, fabs(next[i] - now[i]));
      }
      for (int i = 1; i <= CELLS; i++) now[i] = next[i];
    }
    HINDMOST_WORK(CELLS);
    MPI_Allreduce(&change, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    HINDMOST_ITERATION();
  }
  if (rank == 0) printf("largest change in the last step: %.3e\n", largest);
  MPI_Finalize();
  return 0;
}
