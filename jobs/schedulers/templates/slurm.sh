#!/bin/bash
# Study $study, allocation $allocation: $runs on $nodes.
# Edit this if you like. Queue it with 'hindmost study submit', or by hand: sbatch THIS_FILE
$directives
# --signal tells the driver in time, and only it; --no-requeue, because a second start on other nodes
# would mix them in what is compared.

# A warning that comes before the driver listens must not end the job.
trap '' USR1

# What this machine needs.
$setup

# The driver does the runs that are not done yet and ends with 75 if it must leave some. It takes
# this shell's place, so that the scheduler's signals reach it.
exec $python -P -m hindmost study drive $folder $allocation
