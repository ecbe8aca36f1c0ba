/* Steps for ever, with a set-up loop before and an inner loop in each, until the step after the one in which it is told
 * to stop: by SIGUSR1 (1), by the file STOP in its folder (2), or as it asks (4). Every 10th step writes 2 MB.
 * stops [MILLISECONDS [WAYS, added]] */
#include "hindmost.h"
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t signalled;

static void take(int number) {
  (void)number;
  signalled = 1;
}

static void rest(double ms) { nanosleep(&(struct timespec){0, (long)(ms * 1e6)}, NULL); }

static __attribute__((noinline)) void solve(int rounds, double ms) {
  double mine = 1.0, sum;
  for (int i = 0; i < rounds; i++) {
    rest(ms / rounds);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

static void write_output(int rank) {
  static char block[2 << 20];
  char name[32];
  snprintf(name, sizeof name, "output-%d", rank);
  int file = open(name, O_CREAT | O_TRUNC | O_WRONLY, 0666);
  if (write(file, block, sizeof block) < 0) perror(name);
  fsync(file);
  close(file);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
  double ms = argc > 1 ? atof(argv[1]) : 20.0;
  int rank, step = 0, ways = 0, more = 2, heeded = argc > 2 ? atoi(argv[2]) : 7;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  sigaction(SIGUSR1, &(struct sigaction){.sa_handler = take, .sa_flags = SA_RESTART}, NULL);
  for (int i = 0; i < 30; i++) solve(1, 1.0);
  while (more) { /* the time steps */
    step++;
    solve(3, ms);
    if (step % 10 == 0) write_output(rank);
    int any, mine = (signalled | 2 * !access("STOP", F_OK) | 4 * HINDMOST_SHOULD_STOP()) & heeded;
    MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_BOR, MPI_COMM_WORLD);
    ways |= any;
    more -= ways != 0;
  }
  if (!rank) printf("%d steps, told by %s%s%s\n", step, ways & 1 ? "signal " : "", ways & 2 ? "file " : "", ways & 4 ? "asked" : "");
  MPI_Finalize();
  if (HINDMOST_TIME_LEFT() < -100.0) return 1; /* no error of MPI, though it has ended */
  return 0;
}
