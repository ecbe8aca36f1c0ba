/* A loop without marks: set-up, STEPS steps of an exchange and three reductions, output in every 50th, and
 * an end. With "wild" the calls of a step follow no order. steps STEPS [wild] */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  int rank, size, steps = argc > 1 ? atoi(argv[1]) : 100, wild = argc > 2;
  double mine = 1.0, theirs = 0.0, sum = 0.0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 7; i++) MPI_Bcast(&mine, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  unsigned state = 1;
  for (int step = 0; step < steps; step++) {
    MPI_Request request;
    int done = 0;
    MPI_Irecv(&theirs, 1, MPI_DOUBLE, (rank + 1) % size, 0, MPI_COMM_WORLD, &request);
    MPI_Send(&mine, 1, MPI_DOUBLE, (rank + size - 1) % size, 0, MPI_COMM_WORLD);
    while (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    for (int i = 0; i < 200; i++) mine += 1e-3 * theirs;
    for (int i = 0; i < (wild ? (int)((state = state * 1664525u + 1013904223u) >> 28) : 3); i++)
      MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; wild && i < (int)((state = state * 1664525u + 1013904223u) >> 29); i++) MPI_Barrier(MPI_COMM_WORLD);
    if (step % 50 == 49) MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  }
  for (int i = 0; i < 3; i++) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
