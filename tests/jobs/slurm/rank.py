"""What a launch starts on every rank: rank 0 prints where all of them are."""

import json
import os
import sys

from mpi4py import MPI

from hindmost.errors import MissingError
from hindmost.harness.launch import assigned_rank, check_size

world = MPI.COMM_WORLD
try:
    check_size(world.size, MPI.Get_library_version().split("\n")[0], assigned_rank())
except MissingError as error:
    sys.stdout.write(json.dumps({"refused": str(error)}) + "\n")
else:
    node = os.environ.get("SLURMD_NODENAME", "")
    places = world.gather((world.rank, node, sorted(os.sched_getaffinity(0))))
    if world.rank == 0:
        sys.stdout.write(json.dumps({"places": places}) + "\n")
