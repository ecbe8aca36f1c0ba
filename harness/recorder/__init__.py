"""The recorder: from a rank's clock to the bodies of a solve.

``recorder.c`` notes instants and intervals; ``build`` compiles it, ``library`` loads it before MPI,
``attach`` connects it to PETSc, ``pattern`` finds the bodies in what it noted, and ``bodies`` puts
times and phases to them.
"""
