#!/bin/sh
# Epilog of Slurm, with slurm-task-prolog.sh: on the first node of a job that was recorded, writes its run files, and what
# they show into finding.txt, as the job's user. Whatever fails, the job has ended as it would. (A job that has ended
# takes no comment any more.)
job=$SLURM_JOB_ID
command=${HINDMOST_COMMAND:-/opt/hindmost/bin/hindmost} # adapt
{
  shown=$(scontrol show job --oneliner "$job") || exit 0
  out=$(echo "$shown" | sed -n 's/.* WorkDir=\([^ ]*\).*/\1/p')/hindmost-$job
  first=$(echo "$shown" | sed -n 's/.* BatchHost=\([^ ]*\).*/\1/p')
  [ -d "$out" ] && [ "${SLURMD_NODENAME:-$first}" = "$first" ] || exit 0
  su "$SLURM_JOB_USER" -s /bin/sh -c '
    rm -f "$0"/.environment-*
    timeout 600 "$1" attach --convert "$0"
    timeout 60 "$1" show "$0" > "$0/finding.txt"' "$out" "$command" < /dev/null
} > /dev/null 2>&1
exit 0
