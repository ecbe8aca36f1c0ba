"""The walk over the events of a run, shared by all models of ranks that wait for each other."""
