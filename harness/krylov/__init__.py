"""Krylov solvers of PETSc, run for a forced number of iterations and recorded."""
