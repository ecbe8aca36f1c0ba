#!/bin/bash
# Study gmres-noise, allocation ranks-256: 40 runs on 2 nodes.
# Edit this if you like. Queue it with 'hindmost study submit', or by hand: sbatch THIS_FILE
#SBATCH --job-name=gmres-noise-ranks-256
#SBATCH --output=/home/ada/studies/gmres-noise/output/ranks-256-%j.out
#SBATCH --partition=standard
#SBATCH --account=e00
#SBATCH --qos=short
#SBATCH --constraint='rome&ib'
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=128
#SBATCH --exclusive
#SBATCH --time=02:00:00
#SBATCH --signal=B:USR1@600
#SBATCH --no-requeue
#SBATCH --mem=0
#SBATCH --mail-type=END
# --signal tells the driver in time, and only it; --no-requeue, because a second start on other nodes
# would mix them in what is compared.

# A warning that comes before the driver listens must not end the job.
trap '' USR1

# What this machine needs.
module load cray-python
source "$HOME/env/bin/activate"
export OMP_NUM_THREADS=1
export FI_OFI_RXM_SAR_LIMIT=64K
export NOTE='it'"'"'s 100 % & more'

# The driver does the runs that are not done yet and ends with 75 if it must leave some. It takes
# this shell's place, so that the scheduler's signals reach it.
exec /opt/e00/env/bin/python -P -m hindmost study drive /home/ada/studies/gmres-noise ranks-256
