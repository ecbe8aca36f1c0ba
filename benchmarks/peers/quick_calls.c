/* A million MPI calls a second on each rank, until it is ended; with OpenMP a second thread works beside.
 *
 *   quick_calls FOLDER
 *
 * FOLDER/RANK is written: two numbers, of the process and of the iterations that are done. */
#include <fcntl.h>
#include <mpi.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static void iterate(int64_t *shared) {
  double a = 1.0, b;
  for (;;) {
    for (int j = 0; j < 50; j++)
      MPI_Sendrecv(&a, 1, MPI_DOUBLE, 0, 0, &b, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Pcontrol(1);
    if (!(++shared[1] % 1000)) MPI_Allreduce(&a, &b, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

int main(int argc, char **argv) {
  char name[4096];
  int rank, provided;
  if (argc < 2) return 2;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(name, sizeof name, "%s/%d", argv[1], rank);
  int file = open(name, O_RDWR | O_CREAT, 0666);
  if (ftruncate(file, 2 * sizeof(int64_t))) return 2;
  int64_t *shared = mmap(NULL, 2 * sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  shared[0] = getpid();
#ifdef _OPENMP
#pragma omp parallel num_threads(2)
#endif
  {
#ifdef _OPENMP
    while (omp_get_thread_num()) nanosleep(&(struct timespec){0, 200000}, NULL);
#endif
    iterate(shared);
  }
}
