"""Heat in a rod of two materials: the program of the tutorial. It knows nothing of hindmost.

mpiexec -n 2 hindmost attach --out runs -- python heat.py
"""

import sys

import numpy as np
from mpi4py import MPI

CELLS, STEPS = 200_000, 2000
COST = (1, 3)  # updates per step and cell: the right half of the rod conducts better

comm = MPI.COMM_WORLD
cells = np.arange(CELLS)
inner = np.where(cells < CELLS // 2, *COST)  # (cell,)

# Each rank owns a stretch of the rod: of equally many cells, or of equally much work.
share = np.cumsum(inner) if "--by-work" in sys.argv else cells + 1
first, last = (np.searchsorted(share, share[-1] * (comm.rank + k) / comm.size) for k in (0, 1))
mine = inner[first:last]

heat = np.zeros(mine.size + 2)  # with a ghost cell at each end
if comm.rank == 0:
    heat[0] = 1.0  # the hot end
left = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
right = comm.rank + 1 if comm.rank + 1 < comm.size else MPI.PROC_NULL

for _ in range(STEPS):
    ends = [comm.Isend(heat[1:2], left), comm.Isend(heat[-2:-1], right)]
    ghosts = [comm.Irecv(heat[:1], left), comm.Irecv(heat[-1:], right)]
    MPI.Request.Waitall([*ends, *ghosts])
    change = np.zeros(1)
    for update in range(max(COST)):
        # Cells of one material are one stretch of the array.
        begin = np.searchsorted(mine, update, side="right")
        flow = 0.1 * np.diff(heat[begin:], 2)
        heat[begin + 1 : -1] += flow
        change = np.maximum(change, np.abs(flow).max(initial=0.0))
    comm.Allreduce(MPI.IN_PLACE, change, MPI.MAX)

if comm.rank == 0:
    sys.stdout.write(f"largest change in the last step: {change[0]:.3e}\n")
