/* Calls of MPI by known chains of functions: tests/mpi/test_contexts.py knows them, too. */
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <string.h>

#define PLAIN __attribute__((noinline, noclone, noipa))
#define HERE __asm__ volatile("" ::: "memory") /* no call before it becomes a jump */

static volatile double sink;
static int partner; /* the other of two ranks */

PLAIN void exchange(int other) {
  int sent = other, received;
  MPI_Sendrecv(&sent, 1, MPI_INT, other, 0, &received, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  HERE;
}

/* Its frame is moved to a multiple of 64 bytes. */
PLAIN void aligned(int count) {
  double room[8 * count] __attribute__((aligned(64)));
  double first[8] __attribute__((aligned(64)));
  memset(room, 0, sizeof room);
  memset(first, 0, sizeof first);
  MPI_Allreduce(room, first, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  sink = first[count];
  HERE;
}

PLAIN void step(int number) {
  for (int i = 0; i < 3; i++) exchange(partner);
  aligned(1 + number % 2);
  HERE;
}

PLAIN void deep(int levels) {
  if (levels) deep(levels - 1);
  else MPI_Barrier(MPI_COMM_SELF);
  HERE;
}

PLAIN void at_signal(int number) {
  (void)number;
  MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_SELF);
  HERE;
}

PLAIN void interrupted(void) {
  raise(SIGUSR1);
  HERE;
}

PLAIN void from_libraries(char *const path[], int count) {
  for (int i = 0; i < count; i++) {
    void *library = dlopen(path[i], RTLD_NOW);
    void (*call)(void) = (void (*)(void))dlsym(library, "from_library");
    call();
    dlclose(library);
  }
  HERE;
}

static int nothing_of(void *extra, MPI_Status *status) { return MPI_SUCCESS; }
static int free_nothing(void *extra) { return MPI_SUCCESS; }
static int cancel_nothing(void *extra, int done) { return MPI_SUCCESS; }

/* A millisecond in all lies between the calls, which ask for a message and for what is no message in turn. */
PLAIN void poll_often(void) {
  MPI_Request request, other;
  int done, value;
  MPI_Grequest_start(nothing_of, free_nothing, cancel_nothing, NULL, &other);
  MPI_Irecv(&value, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &request);
  for (int i = 0; i < 500; i++) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    for (double begin = MPI_Wtime(); MPI_Wtime() - begin < 1e-6;) continue;
    MPI_Iprobe(0, 8, MPI_COMM_SELF, &done, MPI_STATUS_IGNORE);
    MPI_Test(&other, &done, MPI_STATUS_IGNORE);
    for (double begin = MPI_Wtime(); MPI_Wtime() - begin < 1e-6;) continue;
  }
  MPI_Grequest_complete(other);
  MPI_Wait(&other, MPI_STATUS_IGNORE);
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  HERE;
}

int main(int count, char **words) {
  int size;
  MPI_Init(&count, &words);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &partner);
  if (size == 2) partner = 1 - partner;
  signal(SIGUSR1, at_signal);
  for (int number = 0; number < 4; number++) step(number);
  deep(40);
  interrupted();
  from_libraries(words + 1, count - 1);
  poll_often();
  MPI_Finalize();
  return 0;
}
