"""Pages on runs: the comparison of solvers, each configuration, its ranks, adaptive runs."""
