"""Models: arrays in, fitted results out; no file, no MPI, no plot."""
