#!/bin/bash
# Study gmres-noise, allocation ranks-256: 40 runs, one after another, on this machine.
# Edit this if you like. 'hindmost study submit' starts it when no other job of yours runs here; start it
# by hand with: bash THIS_FILE

# What this machine needs.
export OMP_NUM_THREADS=1

# The driver does the runs that are not done yet and ends with 75 if it must leave some. It takes
# this shell's place, so that signals reach it.
exec /opt/hindmost/bin/python -P -m hindmost study drive /home/ada/studies/gmres-noise ranks-256
