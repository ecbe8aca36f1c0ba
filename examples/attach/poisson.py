"""A petsc4py program that knows nothing of hindmost.

mpiexec -n 2 hindmost attach --out runs -- python poisson.py -rod_ksp_type pgmres
hindmost show runs
"""

import sys

import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc  # noqa: E402  # its options are read before

UNKNOWNS = 2000
matrix = PETSc.Mat().createAIJ([UNKNOWNS, UNKNOWNS], nnz=3)
for row in range(*matrix.getOwnershipRange()):
    for column in range(max(row - 1, 0), min(row + 2, UNKNOWNS)):
        matrix[row, column] = 2.0 if row == column else -1.0
matrix.assemble()
solution, right_side = matrix.createVecs()
ksp = PETSc.KSP().create()
ksp.setOptionsPrefix("rod_")
ksp.setOperators(matrix)
ksp.setTolerances(rtol=1e-8, max_it=300)
ksp.setFromOptions()
for source in (1.0, 2.0):
    right_side.set(source)
    solution.set(0.0)
    ksp.solve(right_side, solution)
    PETSc.Sys.Print(f"{ksp.getIterationNumber()} iterations")
