#!/bin/bash
# Study $study, allocation $allocation: $runs, one after another, on this machine.
# Edit this if you like. 'hindmost study submit' starts it when no other job of yours runs here; start it
# by hand with: bash THIS_FILE

# What this machine needs.
$setup

# The driver does the runs that are not done yet and ends with 75 if it must leave some. It takes
# this shell's place, so that signals reach it.
exec $python -P -m hindmost study drive $folder $allocation
