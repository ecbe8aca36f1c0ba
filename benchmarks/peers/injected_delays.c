/* An MPI program for benchmarks/injected_delays.py: steps of four stretches of work, each up to another call,
 * and a delay in one of them.
 *
 *   injected_delays STEPS KIND STRETCH RANK SECONDS
 *
 * KIND is none; constant: SECONDS more in each step; every: SECONDS more in each 50th; growing: from nothing
 * to twice SECONDS more in the last step. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define APART __attribute__((noinline, noclone))

enum { STRETCHES = 4, EVERY = 50, CELLS = 512 };

static const double WORK_S[STRETCHES] = {3.5e-3, 2e-3, 3e-3, 1.5e-3};

static int rank, size;
static double here[CELLS], there[CELLS];

/* Rests: a stretch then lasts as long as it should also where others use the cores. */
APART void work(double seconds) {
  struct timespec rest = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
  nanosleep(&rest, NULL);
  for (int i = 0; i < CELLS; i++) here[i] = 0.5 * (here[i] + there[i]);
}

APART void pass_left(void) {
  MPI_Sendrecv(here, CELLS, MPI_DOUBLE, (rank + size - 1) % size, 1, there, CELLS, MPI_DOUBLE, (rank + 1) % size, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  there[0] *= 0.5;
}

APART void pass_right(void) {
  MPI_Request requests[2];
  MPI_Irecv(there, CELLS, MPI_DOUBLE, (rank + size - 1) % size, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(here, CELLS, MPI_DOUBLE, (rank + 1) % size, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  there[0] *= 0.5;
}

/* What follows a call keeps it from being the last thing of its function, which then has no frame in it. */
APART void add_up(void) {
  MPI_Allreduce(MPI_IN_PLACE, here, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  here[0] *= 0.5;
}

APART void largest(void) {
  MPI_Allreduce(MPI_IN_PLACE, there, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  there[0] *= 0.5;
}

int main(int argc, char **argv) {
  if (argc < 6) return 2;
  int steps = atoi(argv[1]), stretch = atoi(argv[3]), delayed = atoi(argv[4]);
  const char *kind = argv[2];
  double seconds = atof(argv[5]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int step = 0; step < steps; step++) {
    double part = 0.0;
    if (!strcmp(kind, "constant")) part = 1.0;
    if (!strcmp(kind, "every")) part = step % EVERY == EVERY - 1;
    if (!strcmp(kind, "growing")) part = 2.0 * step / steps;
    double more[STRETCHES] = {0.0};
    if (rank == delayed) more[stretch] = part * seconds;
    work(WORK_S[0] + more[0]);
    pass_left();
    work(WORK_S[1] + more[1]);
    pass_right();
    work(WORK_S[2] + more[2]);
    add_up();
    work(WORK_S[3] + more[3]);
    largest();
  }
  MPI_Finalize();
  return 0;
}
