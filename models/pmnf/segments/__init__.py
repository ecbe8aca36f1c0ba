"""Where the behaviour of a kernel changes, from few points: the paper's rule and likelihood."""
