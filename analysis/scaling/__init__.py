"""Scaling studies: the kernels of an experiment, modelled and ranked by how they grow."""
