/* Iterations with two phases, one with a message in it, and work that is counted: 0 to 6, again and again.
 * phases_and_work ITERATIONS */
#include "hindmost.h"
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static void work(double us) {
  struct timespec from, now;
  clock_gettime(CLOCK_MONOTONIC, &from);
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while ((double)(now.tv_sec - from.tv_sec) * 1e6 + (double)(now.tv_nsec - from.tv_nsec) * 1e-3 < us);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  const long iterations = argc > 1 ? atol(argv[1]) : 100;
  double mine = 1.0, theirs;
  for (long i = 0; i < iterations; i++) {
    HINDMOST_PHASE("stencil") {
      work(4.0);
      MPI_Sendrecv(&mine, 1, MPI_DOUBLE, 0, 0, &theirs, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    }
    HINDMOST_PHASE("halo") { work(2.0); }
    MPI_Allreduce(&mine, &theirs, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    HINDMOST_WORK(i % 7);
    HINDMOST_ITERATION();
  }
  MPI_Finalize();
  return 0;
}
