/* Ranks that start two more by MPI_Comm_spawn; each of the two programs then iterates among its own ranks. */
#include <mpi.h>
#include <unistd.h>

int main(int argc, char **argv) {
  MPI_Comm others;
  double mine = 1.0, sum;
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_parent(&others);
  int steps = others == MPI_COMM_NULL ? 60 : 90;
  if (others == MPI_COMM_NULL)
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others, MPI_ERRCODES_IGNORE);
  for (int i = 0; i < steps; i++) {
    usleep(rank ? 4000 : 2000);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Comm_disconnect(&others);
  MPI_Finalize();
  return 0;
}
