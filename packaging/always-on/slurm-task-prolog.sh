#!/bin/sh
# TaskProlog of Slurm: records the MPI programs of jobs that ask for it (HINDMOST=1 sbatch job.sh), and leaves all others
# as they are. Slurm adds what this prints to a task's environment. Whatever fails, the task starts without a recorder.
# In slurm.conf:
#   TaskProlog=/opt/hindmost/always-on/slurm-task-prolog.sh
#   Epilog=/opt/hindmost/always-on/slurm-epilog.sh
# One user tries it with: HINDMOST=1 srun --task-prolog=... ./app
[ "${HINDMOST:-}" = 1 ] || exit 0
here=${HINDMOST_ALWAYS_ON:-/opt/hindmost/always-on} # adapt
out=$SLURM_SUBMIT_DIR/hindmost-$SLURM_JOB_ID
"$here/attach-environment.sh" "$out" "$SLURM_JOB_ID.$SLURM_STEP_ID" 2> /dev/null
exit 0
