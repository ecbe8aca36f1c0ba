/* Programs whose ranks do different things: a pool, one call, one-sided calls, two coupled programs, many messages one way. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TASKS = 12, MANY = 40000, RESULT = 1, END = 2, PAUSE_US = 20000 };

static void master(void) {
  MPI_Status status;
  int result, sent = 0;
  for (int done = 0; done <= TASKS; done++) {
    if (done) MPI_Recv(&result, 1, MPI_INT, MPI_ANY_SOURCE, RESULT, MPI_COMM_WORLD, &status);
    MPI_Send(&sent, 1, MPI_INT, 1, sent == TASKS ? END : 0, MPI_COMM_WORLD);
    sent++;
  }
}

static void worker(void) {
  MPI_Status status;
  int task;
  while (!MPI_Recv(&task, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status) && status.MPI_TAG != END) {
    usleep(PAUSE_US);
    MPI_Send(&task, 1, MPI_INT, 0, RESULT, MPI_COMM_WORLD);
  }
}

static void one_sided(int rank) {
  double window[2] = {0, 0}, own = 1;
  MPI_Win win;
  MPI_Win_create(window, sizeof window, sizeof own, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  if (rank) usleep(PAUSE_US);
  MPI_Put(&own, 1, MPI_DOUBLE, !rank, 0, 1, MPI_DOUBLE, win);
  MPI_Win_fence(0, win);
  MPI_Get(&own, 1, MPI_DOUBLE, !rank, 1, 1, MPI_DOUBLE, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

static void produce(void) {
  double field = 1;
  for (int i = 0; i < MANY; i++) MPI_Send(&field, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
}

static void consume(void) {
  double field;
  for (int i = 0; i < MANY; i++) MPI_Recv(&field, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void ocean(void) {
  double field = 1;
  for (int step = 0; step < TASKS; step++) {
    MPI_Send(&field, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
    if (step % 4 == 3) MPI_Recv(&field, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void atmosphere(void) {
  double field;
  for (int day = 0; day < TASKS / 4; day++) {
    for (int step = 0; step < 4; step++) MPI_Recv(&field, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    usleep(PAUSE_US);
    MPI_Send(&field, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
  }
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  double own = 1, sum = 0;
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (!strcmp(what, "pool")) rank ? worker() : master();
  if (!strcmp(what, "one-sided")) one_sided(rank);
  if (!strcmp(what, "coupled")) rank ? atmosphere() : ocean();
  if (!strcmp(what, "many")) rank ? consume() : produce();
  if (!strcmp(what, "once")) {
    if (rank) usleep(PAUSE_US);
    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
