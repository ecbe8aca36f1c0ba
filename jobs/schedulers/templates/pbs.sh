#!/bin/bash
# Study $study, allocation $allocation: $runs on $nodes.
# Edit this if you like. Queue it with 'hindmost study submit', or by hand: qsub THIS_FILE
$directives
# -r n, because a second start on other nodes would mix them in what is compared.

# What this machine needs.
$setup

# The driver does the runs that are not done yet and ends with 75 if it must leave some. It takes
# this shell's place, so that the scheduler's signals reach it.
exec $python -P -m hindmost study drive $folder $allocation
