/* Prints by how far the offset of each rank's clock is off that was put in, and its uncertainty, in nanoseconds. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

enum { TRIPS = 10 };
static const int64_t STEP_NS = 3000000007;

int main(int argc, char **argv) {
  int rank, size;
  int64_t found[3];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  void *recorder = dlopen(argv[1], RTLD_NOW);
  void (*shift)(int64_t) = (void (*)(int64_t))dlsym(recorder, "hindmost_shift_clock");
  int (*compare)(MPI_Fint, int, int64_t *, int64_t *, int64_t *) =
      (int (*)(MPI_Fint, int, int64_t *, int64_t *, int64_t *))dlsym(recorder, "hindmost_clock_offset");
  const int64_t put_in = rank * STEP_NS * (rank % 2 ? 1 : -1);
  shift(put_in);
  int error = compare(MPI_Comm_c2f(MPI_COMM_WORLD), TRIPS, &found[0], &found[1], &found[2]);
  found[0] += put_in;
  for (int other = 0; other < size; other++) {
    if (other == rank) printf("%d %lld %lld\n", error, (long long)found[0], (long long)found[1]);
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
