#!/bin/sh
# Measure all data of the case studies anew, on a quiet machine, and fill the tables of the page:
#
#     sh examples/scaling/refresh.sh
#
# PYTHON and MPIEXEC say which ones; with PYTHON_MPICH and MPIEXEC_MPICH, of an environment whose
# mpi4py runs on MPICH, its data as well. It needs hindmost in both (or PYTHONPATH=src). About 8 minutes.

set -eu

cd "$(dirname "$0")/../.."
PYTHON="${PYTHON:-.venv/bin/python}"
MPIEXEC="${MPIEXEC:-.venv/bin/mpiexec}"
CASES=examples/scaling
DATA=$CASES/data

"$PYTHON" $CASES/homme.py $DATA/homme.txt
"$PYTHON" $CASES/matrix_product.py $DATA/matrix-product.txt
"$PYTHON" $CASES/matrix_product.py $DATA/matrix-product-l2.txt --largest 8000000 --sizes 16

collectives() {
    out="$1"
    shift
    "$MPIEXEC" -n 2 "$PYTHON" $CASES/collectives.py "$DATA/$out" "$@"
}

collectives collectives.txt
collectives collectives-eager-32768.txt --eager-limit 32768
for first in 8192 32768; do
    collectives "collectives-pieces-$first.txt" --operations bcast \
        --eager-limit 262144 --pipeline-from "$first"
done
if [ -n "${PYTHON_MPICH:-}" ]; then
    system="$PYTHON"
    PYTHON="$PYTHON_MPICH"
    MPIEXEC="$MPIEXEC_MPICH"
    collectives collectives-mpich.txt
    collectives collectives-mpich-eager-32768.txt --eager-limit 32768
    PYTHON="$system"
fi
"$PYTHON" $CASES/findings.py --page docs/records/2026-11-scaling-cases.md
