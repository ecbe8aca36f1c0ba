"""Flow and heat on the cells and faces of a patch."""
