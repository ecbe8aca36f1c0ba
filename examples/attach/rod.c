/* Heat in a rod of so many cells, which the ranks divide: a program without any trace of hindmost.
 *
 *   mpicc -O2 -g -o rod rod.c -lm
 *   for p in 1 2 4; do mpiexec -n $p hindmost attach --out runs -- ./rod 400000 200; done
 *   hindmost report runs
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  long cells = (argc > 1 ? atol(argv[1]) : 400000) / ranks, steps = argc > 2 ? atol(argv[2]) : 200;
  double *now = calloc(cells + 2, sizeof *now), *next = calloc(cells + 2, sizeof *next), change, largest = 0.0;
  int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  if (rank == 0) now[0] = next[0] = 1.0; /* the hot end */
  for (long step = 0; step < steps; step++) {
    MPI_Sendrecv(&now[cells], 1, MPI_DOUBLE, right, 0, &now[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&now[1], 1, MPI_DOUBLE, left, 1, &now[cells + 1], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    change = 0.0;
    for (long i = 1; i <= cells; i++) {
      next[i] = now[i] + 0.25 * (now[i - 1] - 2.0 * now[i] + now[i + 1]);
      change = fmax(change, fabs(next[i] - now[i]));
    }
    double *last = now;
    now = next, next = last;
    if (rank == 0) now[0] = 1.0;
    MPI_Allreduce(&change, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("largest change in the last step: %.3e\n", largest);
  free(now), free(next);
  MPI_Finalize();
  return 0;
}
