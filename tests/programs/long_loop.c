/* Steps of exchanges and a reduction; every 50th has an output, one rank works longer in each. The program waits twice for
 * a file, so that its loop may be found meanwhile.
 * long_loop STEPS MICROSECONDS SLOW-RANK FIRST-WAIT SECOND-WAIT */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int rank, size;

static void work(double us) {
  struct timespec from, now;
  clock_gettime(CLOCK_MONOTONIC, &from);
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while ((double)(now.tv_sec - from.tv_sec) * 1e6 + (double)(now.tv_nsec - from.tv_nsec) * 1e-3 < us);
}

static __attribute__((noinline)) void exchange(void) {
  double mine[16] = {0}, theirs[16];
  MPI_Request requests[2];
  MPI_Irecv(theirs, 16, MPI_DOUBLE, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(mine, 16, MPI_DOUBLE, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void wait_for(const char *name) {
  while (access(name, F_OK)) usleep(20000);
}

int main(int argc, char **argv) {
  if (argc < 6) return 2;
  const long steps = atol(argv[1]), first = atol(argv[4]), second = atol(argv[5]);
  double us = atof(argv[2]), mine = 1.0, sum;
  const int slow = atoi(argv[3]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (long i = 0; i < steps; i++) { /* the steps */
    if (i == first) wait_for("first");
    if (i == second) wait_for("second");
    work(rank == slow ? 2.0 * us : us);
    for (int field = 0; field < 3; field++) exchange();
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (i % 50 == 49) {
      if (!rank) printf("%ld\n", i);
      MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    }
  }
  MPI_Finalize();
  return 0;
}
