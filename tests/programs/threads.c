/* An MPI program whose second thread calls MPI and makes marks, too, while the first one loops. */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int stop, calls;

static void *disturb(void *unused) {
  int mine = 0, theirs, found;
  MPI_Request request;
  while (!stop) {
    MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    MPI_Isend(&mine, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &request);
    MPI_Recv(&theirs, 1, MPI_INT, 0, 9, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Pcontrol(1);
    calls++;
  }
  return unused;
}

int main(int argc, char **argv) {
  int provided;
  double mine = 1.0, sum;
  pthread_t other;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided < MPI_THREAD_MULTIPLE) return 77;
  MPI_Pcontrol(1);
  pthread_create(&other, NULL, disturb, NULL);
  while (calls < 3) MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
  for (int step = 0; step < 30; step++) {
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Pcontrol(1);
  }
  stop = 1;
  pthread_join(other, NULL);
  MPI_Finalize();
  return 0;
}
