/* A loop of which one rank, the last by default, does what its argument says in a step: "segv", "kill",
 * "abort", "exit", "sleep", "wrong" or nothing; with "uneven" it makes one call more in each, and with "late" it
 * sleeps before the loop. There are marks, but for "uneven" and "unmarked". ends HOW [STEP [RANK [MICROSECONDS]]] */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Calls that MPI refuses, which the program's error handler takes. */
static void call_wrongly(void) {
  MPI_Comm own;
  int error = 0, nowhere = 1 << 28;
  MPI_Comm_dup(MPI_COMM_SELF, &own);
  MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  if (!MPI_Send(&error, 1, MPI_INT, nowhere, 0, own)) exit(1);
  if (!MPI_Send(&error, 1, MPI_DATATYPE_NULL, 0, 0, own)) exit(2);
  if (!MPI_Bcast(&error, 1, MPI_INT, nowhere, own)) exit(3);
  MPI_Comm_free(&own);
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "well";
  int rank, size, last = argc > 2 ? atoi(argv[2]) : 50;
  double mine = 1.0, sum = 0.0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int which = argc > 3 ? atoi(argv[3]) : size - 1, pause_us = argc > 4 ? atoi(argv[4]) : 0;
  if (!strcmp(how, "late") && rank == which) sleep(10);
  for (int step = 0; step < 2 * last; step++) {
    if (how[0] != 'u') MPI_Pcontrol(1);
    for (int i = 0; i < 1 + (!strcmp(how, "uneven") && rank == which); i++)
      MPI_Sendrecv(&mine, 1, MPI_DOUBLE, rank, 0, &sum, 1, MPI_DOUBLE, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (pause_us) usleep((useconds_t)pause_us);
    if (step != last || rank != which) continue;
    if (!strcmp(how, "segv")) *(volatile int *)8 = 1;
    if (!strcmp(how, "kill")) kill(getpid(), SIGKILL);
    if (!strcmp(how, "abort")) MPI_Abort(MPI_COMM_WORLD, 3);
    if (!strcmp(how, "exit")) exit(5);
    if (!strcmp(how, "sleep")) sleep(100);
    if (!strcmp(how, "wrong")) call_wrongly();
  }
  MPI_Finalize();
  return 0;
}
