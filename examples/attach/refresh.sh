#!/bin/sh
# Compile and record the three programs again, and write what they and hindmost print to output.txt:
#   sh examples/attach/refresh.sh          # on an idle machine, after 'make demo'
set -e
here=$(cd "$(dirname "$0")" && pwd)
PATH=$(cd "$here/../../.venv/bin" && pwd):$PATH
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp "$here"/heat.c "$here"/heat.f90 "$here"/poisson.py "$scratch"
cd "$scratch"
run() {
  printf '$ %s\n' "$1"
  sh -c "$1" 2>&1
}
{
  run 'mpicc -O2 -I$(hindmost attach --print include) -o heat heat.c -lm'
  run 'mpiexec -n 2 hindmost attach --out runs -- ./heat 500'
  run 'mpifort -O2 -o heat_fortran $(hindmost attach --print include)/hindmost.f90 heat.f90'
  run 'mpiexec -n 2 hindmost attach --out runs -- ./heat_fortran'
  run 'mpiexec -n 2 hindmost attach --out runs -- python poisson.py -rod_ksp_type pgmres -rod_pc_type jacobi'
  run 'hindmost show runs' | sed '/^runs/,$d' # without the details of each run
} > output.txt
mv output.txt "$here/output.txt"
