"""Cells, faces and ghosts of an adaptive mesh on ranks."""
