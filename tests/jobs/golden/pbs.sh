#!/bin/bash
# Study gmres-noise, allocation ranks-256: 40 runs on 2 nodes.
# Edit this if you like. Queue it with 'hindmost study submit', or by hand: qsub THIS_FILE
#PBS -N gmres-noise-ranks-256
#PBS -S /bin/bash
#PBS -o /home/ada/studies/gmres-noise/output/
#PBS -j oe
#PBS -q workq
#PBS -A d411
#PBS -l select=2:ncpus=36:mpiprocs=36
#PBS -l place=scatter:excl
#PBS -l walltime=02:00:00
#PBS -r n
#PBS -m n
# -r n, because a second start on other nodes would mix them in what is compared.

# What this machine needs.
module load mpt
export OMP_NUM_THREADS=1

# The driver does the runs that are not done yet and ends with 75 if it must leave some. It takes
# this shell's place, so that the scheduler's signals reach it.
exec /lustre/env/bin/python -P -m hindmost study drive /home/ada/studies/gmres-noise ranks-256
