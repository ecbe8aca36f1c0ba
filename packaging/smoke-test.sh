#!/bin/sh
# Is an installed hindmost sound? Compile an MPI program whose rank 1 works twice as much, record it on two ranks, and
# read the finding:
#   sh smoke-test.sh [MPICC [MPIEXEC]]
set -eu
mpicc=${1:-mpicc}
mpiexec=${2:-mpiexec}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
cat > twice.c << 'END'
#include <mpi.h>
static double work(int steps) {
  volatile double sum = 0;
  for (int i = 0; i < steps; i++) sum += 0.5 * i;
  return sum;
}
int main(int count, char **words) {
  int rank;
  double own, all;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = 0; step < 400; step++) {
    own = work(100000 * (1 + rank));
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  return MPI_Finalize();
}
END
"$mpicc" -g -O1 -o twice twice.c
hindmost --version
"$mpiexec" -n 2 hindmost attach --out runs -- ./twice
hindmost show runs | tee finding.txt
if grep -q "twice.c" finding.txt && grep -q "400 iterations" finding.txt; then
  echo "hindmost works: it recorded 400 iterations of the loop in twice.c."
else
  echo "hindmost did not find the loop of 400 iterations in twice.c." >&2
  exit 1
fi
