/* Steps around a ring: work, a message to the next rank, work, a sum. Arguments: steps, work. */
#include <mpi.h>
#include <stdlib.h>

static volatile double sink;

static void work(long amount) {
  for (long i = 0; i < amount; i++) sink += 1e-9 * (double)i;
}

int main(int argc, char **argv) {
  int rank, size, steps = argc > 1 ? atoi(argv[1]) : 100;
  long amount = argc > 2 ? atol(argv[2]) : 100000;
  double mine = 1.0, theirs = 0.0, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int step = 0; step < steps; step++) {
    work(amount);
    MPI_Sendrecv(&mine, 1, MPI_DOUBLE, (rank + 1) % size, 0, &theirs, 1, MPI_DOUBLE, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    work(amount);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
