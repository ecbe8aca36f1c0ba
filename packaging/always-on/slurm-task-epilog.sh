#!/bin/sh
# TaskEpilog of Slurm, with slurm-task-prolog.sh: the first task of a step writes its run files, and puts the finding into
# the job's comment. Whatever fails, the job goes on.
[ "${HINDMOST:-}" = 1 ] && [ "${SLURM_PROCID:-1}" = 0 ] || exit 0
hindmost=${HINDMOST_COMMAND:-hindmost}
out=${HINDMOST_OUT:-$SLURM_SUBMIT_DIR/hindmost-$SLURM_JOB_ID}
unset LD_PRELOAD HINDMOST_ATTACH
{
  cd "$out" || exit 0
  rm -f ".environment-$SLURM_JOB_ID.$SLURM_STEP_ID"
  timeout 300 "$hindmost" attach --convert "$out" < /dev/null
  timeout 60 "$hindmost" show "$out" > finding.txt < /dev/null
  finding=$(sed -n '2,4p' finding.txt | tr -s ' \n' ' ')
  [ -n "$finding" ] && timeout 10 scontrol update JobId="$SLURM_JOB_ID" Comment="$finding"
} > /dev/null 2>&1
exit 0
