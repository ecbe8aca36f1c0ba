/* An MPI program for benchmarks/attach.py: loops of the cheapest calls that there are, timed by itself.
 *
 *   attach_loop ITERATIONS CALLS ROUNDS [DEPTH]
 *
 * The loops lie in so many functions that call each other. An iteration is CALLS exchanges with nobody and a call of MPI_Pcontrol. In even rounds this is a mark
 * (level 1), in odd ones not (level 2). Rank 0 prints the seconds of each round, the most of all ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static volatile int returned;

__attribute__((noinline)) static void loop(int depth, int iterations, int calls, int level) {
  double mine = 1.0, theirs = 0.0;
  if (depth > 0) {
    loop(depth - 1, iterations, calls, level);
    returned++; /* so that the call is no jump */
    return;
  }
  for (int i = 0; i < iterations; i++) {
    for (int call = 0; call < calls; call++)
      MPI_Sendrecv(&mine, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, &theirs, 1, MPI_DOUBLE, MPI_PROC_NULL, 0,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Pcontrol(level);
  }
}

int main(int argc, char **argv) {
  int rank;
  if (argc < 4) return 2;
  int iterations = atoi(argv[1]), calls = atoi(argv[2]), rounds = atoi(argv[3]), depth = argc > 4 ? atoi(argv[4]) : 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int round = 0; round < rounds; round++) {
    int level = round % 2 ? 2 : 1;
    double seconds, slowest;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(level);
    seconds = MPI_Wtime();
    loop(depth, iterations, calls, level);
    seconds = MPI_Wtime() - seconds;
    MPI_Pcontrol(0);
    MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%.9f\n", slowest);
  }
  MPI_Finalize();
  return 0;
}
